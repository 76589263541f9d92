// SPDX-License-Identifier: Apache-2.0
// Three roads to the derivative of a problem's outputs (o, ht) by its inputs: the hand-derived
// adjoint of reference/delta_rule.hpp, dual numbers through the forward, and difference quotients of
// the forward. They share the forward and nothing else; where they agree in 80 digits, the adjoint is
// right. Every in-kernel option is inside.
#pragma once

#include "gradcheck/dual.hpp"
#include "reference/run.hpp"

namespace gdr2 {

/// J d: outputs' derivative along `direction`, by dual numbers. A tensor that `direction` lacks does
/// not move. Cotangents do and dht are no inputs here and never move.
template <class Real>
Values<Real> jvp(const Problem& problem, const Values<Real>& inputs, const Values<Real>& direction);

/// J^T dout: the gradients by the hand-derived adjoint; the cotangents are in `inputs`.
template <class Real>
Values<Real> adjoint(const Problem& problem, const Values<Real>& inputs);

/// The outputs' derivative along `direction` by central differences of step 2^-30, 2^-31, ...,
/// extrapolated to step 0 (Richardson): `levels` of them leave an error of order step^(2 levels).
Values<Mpfr> difference_quotient(const Problem& problem, const Values<Mpfr>& inputs,
                                 const Values<Mpfr>& direction, int levels);

/// sum over the tensors that both hold of the products of their elements.
template <class Real>
Real inner(const Values<Real>& x, const Values<Real>& y) {
  Real sum{0};
  for (const auto& [name, a] : x) {
    const auto b = y.find(name);
    if (b == y.end()) continue;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b->second[i];
  }
  return sum;
}

/// The gradients in the place of what they differentiate by (dq as q, dh0 as h0), and the cotangents
/// in the place of their outputs (do as o): what `inner` pairs a direction and J d with.
template <class Real>
Values<Real> as_inputs(const Values<Real>& gradients);
template <class Real>
Values<Real> as_outputs(const Values<Real>& inputs);

/// The input that a gradient belongs to.
Name input_of(Name gradient);

extern template Values<double> jvp(const Problem&, const Values<double>&, const Values<double>&);
extern template Values<Mpfr> jvp(const Problem&, const Values<Mpfr>&, const Values<Mpfr>&);
extern template Values<Mpfr> adjoint(const Problem&, const Values<Mpfr>&);
extern template Values<Mpfr> as_inputs(const Values<Mpfr>&);
extern template Values<Mpfr> as_outputs(const Values<Mpfr>&);
extern template Values<double> as_outputs(const Values<double>&);

}  // namespace gdr2
