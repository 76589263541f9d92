// SPDX-License-Identifier: Apache-2.0
// From what the command line asks for to the jobs to run: which cases, with which recipes and seeds,
// on which kernels. Decides nothing about verdicts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"

namespace gdr2 {

/// A case and the kernel that its line names with kernel=NAME; "" when it names none.
struct KernelCase {
  std::string kernel;
  Case c;

  bool operator==(const KernelCase&) const = default;
};

/// A line of parse_case that may also hold kernel=NAME. Throws Error that quotes the line.
KernelCase parse_kernel_case(const std::string& line);

struct Selection {
  std::vector<std::string> lines;
  std::vector<std::string> sets;      ///< names or files
  std::vector<std::string> recipes;   ///< replace the recipe of each drawn case
  std::optional<std::uint64_t> seed;  ///< replaces the seed of each drawn case
  std::uint64_t seeds = 1;            ///< each drawn case runs with so many seeds, counting up
  bool forward_only = false;          ///< of each case only the forward pass
  std::vector<std::string> kernels;  ///< for lines that name none; empty: all that support the case
};

/// The cases of a selection, each once, in the order given. Throws Error naming the option.
std::vector<KernelCase> select_cases(const Selection& selection);

struct KernelOnCase {
  const Kernel* kernel;
  Case c;
};

/// Every case with the kernels it is for: the one it names, else those named, else all that support
/// it; when none does, all, so that each says why. Throws Error naming the option.
std::vector<KernelOnCase> pair_up(const std::vector<KernelCase>& cases,
                                  const std::vector<std::string>& kernel_names);

/// The record of a kernel on a case, before anything has run.
CaseRecord record_of(const KernelOnCase& pair);

/// One job for every case and kernel. Without a kernel named, kernels that do not support a case are
/// passed over, unless none does: then each says why.
std::vector<Job> make_jobs(const std::vector<KernelCase>& cases,
                           const std::vector<std::string>& kernel_names);

/// Seeds of the drawn cases, each once, ascending.
std::vector<std::uint64_t> seeds_of(const std::vector<KernelCase>& cases);

}  // namespace gdr2
