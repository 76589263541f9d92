// SPDX-License-Identifier: Apache-2.0
// Judges the arguments of the C interface before anything is enqueued. Every refusal names the
// argument and what is wrong with it. Only host memory is read: cu_seqlens is judged through
// cu_seqlens_host when that is given.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/abi/gdr2_kernel.h"

namespace gdr2::cuda {

// Why a call is not carried out.
class Refusal : public std::runtime_error {
 public:
  Refusal(gdr2_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  gdr2_status status() const { return status_; }

 private:
  gdr2_status status_;  // GDR2_UNSUPPORTED or GDR2_BAD_ARGUMENT
};

// All of these throw Refusal.
void validate(const gdr2_problem* problem);
void validate_decode(const gdr2_problem* problem);  // the problem of a decode call: never packed
void validate(const gdr2_problem& problem, const gdr2_inputs* inputs);
void validate(const gdr2_problem& problem, const gdr2_outputs* outputs, uint32_t stages);
void validate(const gdr2_problem& problem, const gdr2_cotangents* cotangents);
void validate(const gdr2_problem& problem, const gdr2_gradients* gradients, uint32_t stages);
void validate(const gdr2_problem& problem, const gdr2_decode* decode);

// `needed` and `saved` are what the pass asks for; saved memory is optional, but whole when given.
void validate(const gdr2_workspace& workspace, uint64_t needed, uint64_t saved);

}  // namespace gdr2::cuda
