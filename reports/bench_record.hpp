// SPDX-License-Identifier: Apache-2.0
// What a timing run found, as plain data, with its JSON form and what a person reads. Knows nothing of
// kernels or of how time is measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/json_field.hpp"
#include "reports/record.hpp"

namespace gdr2 {

/// One kernel, problem and pass.
struct BenchRow {
  std::string kernel, line, pass;  ///< pass: "forward" or "forward+backward"
  State gate = State::kPassed;     ///< of the correctness gate; without PASSED there are no times
  std::string reason;              ///< why not
  std::vector<double> ms;          ///< medians of the rounds
  double p10_ms = 0, p90_ms = 0;   ///< over all calls of all rounds
  double kernels_ms = 0;           ///< device time of the kernels alone; 0: unknown
  double memory_bytes = 0;         ///< held beyond the inputs; 0: unknown
  double floor_bytes = 0;          ///< that must move at least once
  double operations = 0;           ///< of the rule itself, token by token
  double copy_gb_per_s = 0,
         tensor_tflop_per_s = 0;  ///< measured ceilings of the device; 0: unknown
  std::string device;

  double median_ms() const;
};

/// A kernel against a peer, in pairs of rounds.
struct BenchRatio {
  std::string kernel, peer, line, pass;
  double ratio = 0;          ///< time of the peer over time of the kernel: median over the rounds
  double low = 0, high = 0;  ///< the smallest and the largest of the rounds
  double confidence = 0;     ///< that the median ratio lies between them: 1 - 2^(1 - rounds)
  double kernels_ratio = 0;  ///< sum of the peer's kernels over time of the kernel; 0: unknown
  double memory_ratio = 0;   ///< memory of the kernel over memory of the peer; 0: unknown
};

struct BenchRun {
  RunRecord run;  ///< environment, arguments; no cases
  int rounds = 0, repetitions = 0;
  std::string clocks;  ///< of the device, before and after; "" when unknown
  std::vector<BenchRow> rows;
  std::vector<BenchRatio> ratios;
};

/// Median of the middle two for an even count; 0 of none.
double median_of(std::vector<double> values);

/// The ratio of two rows that both have times in equally many rounds.
BenchRatio ratio_of(const BenchRow& kernel, const BenchRow& peer);

/// The whole run as JSON text, kind "bench".
std::string bench_json(const BenchRun& run);

/// Of a report that does not say whether it is complete, it is.
BenchRun bench_from_json(const JsonField& field);

/// A table of rows, then one of ratios.
std::string bench_text(const BenchRun& run);

/// 3 when nothing was timed, 1 when a gate did not pass (SKIPPED aside), else 0.
int exit_code(const BenchRun& run);

}  // namespace gdr2
