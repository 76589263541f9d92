// SPDX-License-Identifier: Apache-2.0
#include "properties/timing/work.hpp"

namespace gdr2 {
namespace {

constexpr double kForward = 7, kBackward = 20;

double bytes_of(const Problem& problem, const std::vector<Name>& names) {
  double bytes = 0;
  for (auto name : names)
    bytes += double(element_count(shape_of(problem, name))) * double(size_of(dtype_of(problem, name)));
  return bytes;
}

}  // namespace

double floor_bytes(const Problem& problem, Pass pass) {
  auto forward_only = problem;
  forward_only.backward = false;
  const auto forward = bytes_of(problem, input_names(forward_only)) + bytes_of(problem, output_names(problem));
  if (pass == Pass::kForward) return forward;
  return forward + bytes_of(problem, input_names(problem)) + bytes_of(problem, gradient_names(problem));
}

double operations(const Problem& problem, Pass pass) {
  const double each = pass == Pass::kForward ? kForward : kForward + kBackward;
  return each * double(problem.B * problem.T) * double(problem.HV) * double(problem.K * problem.V);
}

}  // namespace gdr2
