// SPDX-License-Identifier: Apache-2.0
// The error of each kernel, dtype and tensor over the cases of a run: the rows of the accuracy table,
// in the words that every sink uses for such figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/record.hpp"

namespace gdr2 {

struct Accuracy {
  std::string kernel, dtype;
  std::string tensor;  ///< tensor_label
  std::int64_t cases = 0, bad = 0, elements = 0;
  bool has_nan = false, all_finite = true;
  double max_z = 0, rms_z = 0, rel_norm = 0, max_ulp = 0;  ///< the largest of any case
  double pooled_z = 0;                                     ///< rms z over all elements of all cases
  std::vector<std::int64_t> histogram;  ///< of all cases (ErrorProfile::histogram)
  std::int64_t worst_case = -1;         ///< index of the case with the largest z
};

/// "dk", or "dk *" where it was judged from the kernel's own chunk states (leg LOCAL).
std::string tensor_label(const TensorVerdict& tensor);

/// By kernel and dtype in the order of the run, tensors in the order of the enum Name, local ones last.
std::vector<Accuracy> accuracy_of(const RunRecord& run);

/// How many standard deviations, or why there is no such number: "3.86", "1.2e+05", "NaN", "Inf".
std::string z_text(double max_z, bool has_nan, bool all_finite);

/// "12 PASSED, 1 FAILED (1 waived)": cases by state.
std::string state_counts(const RunRecord& run);

}  // namespace gdr2
