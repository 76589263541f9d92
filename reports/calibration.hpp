// SPDX-License-Identifier: Apache-2.0
// What a calibration found, as plain data: the errors of right kernels, in sigmas, by kernel, dtype,
// contract, order of summation, recipe and tensor. Sums are kept, not means, so that a calibration can
// go on where it stopped and parts of it can be added.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/json_field.hpp"

namespace gdr2 {

/// A row of the table. `by` says what `value` names: "recipe" and "tensor" hold every element of GLOBAL once
/// each; "stage" (a stage of the whole problem) and "chunk" (LOCAL) those of the judged run, unsigned.
struct CalibrationKey {
  std::string kernel, dtype, contract;
  int order = 0;  ///< of summation: 0 as given, else a permutation of channels
  std::string by, value;

  auto operator<=>(const CalibrationKey&) const = default;
};

struct CalibrationSums {
  std::int64_t elements = 0, beyond = 0;
  double sum_z = 0, sum_z2 = 0, max_z = 0;
  std::string worst;  ///< the case of max_z, as a line
  std::int64_t explained = 0;  ///< beyond at first, and explained by a second look

  void add(const CalibrationSums& other);
  double rms() const;
  double bias() const;  ///< mean of signed z
};

/// Which cases of a kernel and dtype have been measured: the numbers below `next`, and their verdicts.
struct CalibrationProgress {
  std::int64_t first = 0, next = 0;
  double seconds = 0;
  std::map<std::string, std::int64_t> verdicts;  ///< by state

  void add(const CalibrationProgress& other);
};

struct Calibration {
  std::map<std::string, CalibrationProgress> progress;  ///< by "kernel dtype"
  std::map<CalibrationKey, CalibrationSums> rows;
  std::map<std::string, double> allowed;  ///< by "kernel dtype": the z that GLOBAL allows; of stages and
                                          ///< chunks by "kernel dtype stage R"
  std::map<std::string, std::string> alarms;  ///< the line of each right case that did not pass, and why

  void add(const Calibration& other);
};

nlohmann::ordered_json calibration_to_json(const Calibration& calibration);
Calibration calibration_from_json(const JsonField& field);

/// A table by kernel and dtype: cases, elements, largest and rms z, bias, margin; then alarms.
std::string calibration_text(const Calibration& calibration);

}  // namespace gdr2
