// SPDX-License-Identifier: Apache-2.0
// What a kernel may do to its inputs before the rule, and the derivatives of that: the L2 norm of q
// and k, the two gate forms, doubled b (docs/MATH.md 5). One token's row at a time, elementwise in
// the arithmetic's Wide type.
#pragma once

#include <cmath>

#include "reference/arithmetic.hpp"
#include "reference/problem.hpp"

namespace gdr2::options {

template <class Arithmetic>
using Row = RowVector<typename Arithmetic::Real>;

/// 1 / sqrt(sum x^2 + 1e-6) of a row [K]. The epsilon is added to the sum, not to the mean.
template <class Arithmetic>
auto inverse_norm(const Arithmetic& ar, const Row<Arithmetic>& x) {
  using Wide = typename Arithmetic::Wide;
  using std::sqrt;
  const Matrix<typename Arithmetic::Real> row = x;
  const Wide sum = ar.product(ar.contract().accumulator, row, row.transpose())(0, 0);
  return ar.store(Wide(1) / sqrt(sum + Wide(1) / Wide(1000000)));
}

template <class Arithmetic>
Row<Arithmetic> normalize(const Arithmetic& ar, const Row<Arithmetic>& x) {
  using Wide = typename Arithmetic::Wide;
  const Wide r = inverse_norm(ar, x);
  Matrix<typename Arithmetic::Real> y = ar.store(Matrix<Wide>(x.template cast<Wide>() * r));
  ar.round(ar.contract().normalized, y);
  return y;
}

/// y = r x, r = (x.x + eps)^(-1/2):  dx = r dy - r^3 (x.dy) x
template <class Arithmetic>
Row<Arithmetic> normalize_backward(const Arithmetic& ar, const Row<Arithmetic>& x,
                                   const Row<Arithmetic>& dy) {
  using Wide = typename Arithmetic::Wide;
  const Wide r = inverse_norm(ar, x);
  const Matrix<typename Arithmetic::Real> row = x, cotangent = dy;
  const Wide x_dy = ar.product(ar.contract().accumulator, row, cotangent.transpose())(0, 0);
  const Wide c = ar.store(r * r * ar.store(r * x_dy));
  return ar.store(Matrix<Wide>(dy.template cast<Wide>() * r - x.template cast<Wide>() * c));
}

template <class Wide>
Wide sigmoid(const Wide& x) {
  using std::exp;
  if (x >= 0) return Wide(1) / (Wide(1) + exp(-x));
  const Wide e = exp(x);
  return e / (Wide(1) + e);
}

/// exp(a) softplus(x) and exp(a) sigmoid(x), finite wherever their true value is: far to the left
/// softplus(x) = sigmoid(x) = exp(x) to the last bit, and exp(a) may overflow where exp(a + x) does
/// not.
template <class Wide>
struct ScaledSoftplus {
  Wide value, slope;
};

template <class Wide>
ScaledSoftplus<Wide> scaled_softplus(const Wide& a, const Wide& x) {
  using std::exp, std::log1p;
  if (x < log_epsilon<Wide>()) {
    const Wide e = exp(a + x);
    return {e, e};
  }
  const Wide softplus = x > 0 ? Wide(x + log1p(exp(-x))) : Wide(log1p(exp(x)));
  return {exp(a) * softplus, exp(a) * sigmoid(x)};
}

/// g and its partial derivatives by the raw gate x (as by dt_bias) and by A_log.
template <class Wide>
struct GateValue {
  Wide g, by_x, by_A_log;
};

template <class Wide>
GateValue<Wide> gate(const Problem& problem, const Wide& x, const Wide& A_log,
                     const Wide& dt_bias) {
  using std::exp;
  const Wide y = x + dt_bias;
  if (problem.gate == Gate::kSoftplus) {
    // g = -exp(A_log) softplus(x + dt_bias)
    const auto s = scaled_softplus(A_log, y);
    return {-s.value, -s.slope, -s.value};
  }
  // g = lb sigmoid(a y), a = exp(A_log);  dg/dy = lb sigma (1 - sigma) a,  dg/dA_log = dg/dy y
  const Wide a = exp(A_log), lb = Wide(problem.lower_bound);
  const Wide u = y == 0 ? y : Wide(a * y);
  const Wide sigma = sigmoid(u), rest = sigmoid(Wide(-u));
  const Wide slope = lb * sigma * rest;
  return {lb * sigma, slope == 0 ? slope : Wide(slope * a), slope == 0 ? slope : Wide(slope * u)};
}

/// a b, where b == 0 wins over an infinite a: no gradient flows through a dead branch.
template <class Wide>
Wide times(const Wide& a, const Wide& b) {
  return b == 0 ? Wide(0) : Wide(a * b);
}

}  // namespace gdr2::options
