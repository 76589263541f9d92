// SPDX-License-Identifier: Apache-2.0
#include "cli/kernel_options.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/shell.hpp"
#include "fixtures/contract_file.hpp"
#include "kernels/settings.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

constexpr double kLongestTimeout = 1e6;
constexpr int kMostWorkers = 256;
constexpr std::uint64_t kMostMegabytes = 1u << 30;

std::string& words() {
  static std::string given;
  return given;
}

}  // namespace

bool KernelOptions::taken_by(const CLI::App& command) const {
  return command.get_option_no_throw("--kernel") || command.get_name() == "repro";
}

void KernelOptions::add_to(CLI::App& command) {
  if (!taken_by(command)) return;
  const char* group = "Running kernels";
  command
      .add_flag(
          "--isolate", isolate_,
          "Run built-in kernels in worker processes too, as libraries and commands always are")
      ->group(group);
  command
      .add_option("--timeout", timeout_s_,
                  "A call that takes longer is TIMED_OUT and its worker killed; compiling on the "
                  "first call included")
      ->check(CLI::Range(1e-3, kLongestTimeout))
      ->capture_default_str()
      ->type_name("SECONDS")
      ->group(group);
  command
      .add_option("--workers", workers_,
                  "Processes of each command (exec:); loading a framework takes time, more help "
                  "where compiling does")
      ->check(CLI::Range(1, kMostWorkers))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  command
      .add_option("--memory", memory_mb_,
                  "A worker that holds more of its own is killed, CRASHED; 0: any")
      ->check(CLI::Range(std::uint64_t{0}, kMostMegabytes))
      ->type_name("MB")
      ->group(group);
  command
      .add_option(
          "--contract", contract_,
          "Contract that kernels from elsewhere are held to instead of the one they declare: "
          "a name (`gdr2 list contracts`), a file, or bf16,auxiliary=bf16,...")
      ->type_name("CONTRACT")
      ->group(group);
}

void KernelOptions::apply() const {
  KernelSettings settings;
  settings.worker =
      shell_quoted(std::filesystem::read_symlink("/proc/self/exe").string()) + " worker";
  settings.isolate = isolate_;
  settings.timeout_s = timeout_s_;
  settings.workers = workers_;
  settings.memory = memory_mb_ << 20;
  if (!contract_.empty())
    settings.contract = [contract = find_contract(contract_, "--contract")](
                            const Problem& problem) { return contract.of(problem.dtype); };
  configure_kernels(std::move(settings));
  if (isolate_) words() += " --isolate";
  if (!contract_.empty()) words() += " --contract " + shell_quoted(contract_);
}

std::string kernel_option_words() { return words(); }

}  // namespace gdr2
