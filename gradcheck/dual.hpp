// SPDX-License-Identifier: Apache-2.0
// Dual numbers a + b e with e^2 = 0: arithmetic on them carries a derivative along, by the rule of
// each operation and nothing else, so that the reference run on them differentiates itself forwards.
// This is the independent road to the gradients: no line of the hand-derived backward is on it.
// Order compares values; equality compares both parts, so that a special case for zero is no special
// case for a zero that is being moved.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <concepts>
#include <limits>

#include "reference/real.hpp"

namespace gdr2 {

template <class Real>
struct Dual {
  Real value{0};
  Real tangent{0};

  Dual() = default;
  Dual(Real v, Real t) : value(std::move(v)), tangent(std::move(t)) {}
  Dual(const Real& v) : value(v) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> Dual(Number v) : value(v) {}

  Dual operator-() const { return {-value, -tangent}; }
  Dual& operator+=(const Dual& y) { return *this = *this + y; }
  Dual& operator-=(const Dual& y) { return *this = *this - y; }
  Dual& operator*=(const Dual& y) { return *this = *this * y; }
  Dual& operator/=(const Dual& y) { return *this = *this / y; }

  friend Dual operator+(const Dual& x, const Dual& y) {
    return {x.value + y.value, x.tangent + y.tangent};
  }
  friend Dual operator-(const Dual& x, const Dual& y) {
    return {x.value - y.value, x.tangent - y.tangent};
  }
  friend Dual operator*(const Dual& x, const Dual& y) {
    return {x.value * y.value, x.tangent * y.value + x.value * y.tangent};
  }
  friend Dual operator/(const Dual& x, const Dual& y) {
    const Real quotient = x.value / y.value;
    return {quotient, (x.tangent - quotient * y.tangent) / y.value};
  }
  friend bool operator==(const Dual& x, const Dual& y) {
    return x.value == y.value && x.tangent == y.tangent;
  }
  friend bool operator<(const Dual& x, const Dual& y) { return x.value < y.value; }
  friend bool operator>(const Dual& x, const Dual& y) { return x.value > y.value; }
  friend bool operator<=(const Dual& x, const Dual& y) { return x.value <= y.value; }
  friend bool operator>=(const Dual& x, const Dual& y) { return x.value >= y.value; }

  friend Dual exp(const Dual& x) {
    using std::exp;
    const Real e = exp(x.value);
    return {e, e * x.tangent};
  }
  friend Dual log1p(const Dual& x) {
    using std::log1p;
    return {log1p(x.value), x.tangent / (Real(1) + x.value)};
  }
  friend Dual sqrt(const Dual& x) {
    using std::sqrt;
    const Real root = sqrt(x.value);
    return {root, x.tangent / (Real(2) * root)};
  }
};

template <>
inline Dual<double> log_epsilon<Dual<double>>() {
  return log_epsilon<double>();
}
template <>
inline Dual<Mpfr> log_epsilon<Dual<Mpfr>>() {
  return log_epsilon<Mpfr>();
}

}  // namespace gdr2

template <class Scalar>
struct Eigen::NumTraits<gdr2::Dual<Scalar>> : Eigen::GenericNumTraits<gdr2::Dual<Scalar>> {
  using Real = gdr2::Dual<Scalar>;
  using NonInteger = Real;
  using Nested = Real;
  using Literal = Real;
  enum { RequireInitialization = 1, ReadCost = 4, AddCost = 4, MulCost = 8 };
  static int digits10() { return NumTraits<Scalar>::digits10(); }
  static Real epsilon() { return NumTraits<Scalar>::epsilon(); }
  static Real dummy_precision() { return NumTraits<Scalar>::dummy_precision(); }
};
