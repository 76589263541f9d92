// SPDX-License-Identifier: Apache-2.0
// The number types the reference computes in. Every algorithm of reference/ is a template on Real;
// these are the ones it is used with. Expression templates are off: Eigen needs values.
#pragma once

#include <Eigen/Core>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/eigen.hpp>
#include <boost/multiprecision/mpfr.hpp>
#include <limits>

namespace gdr2 {

/// 113-bit significand (IEEE binary128 range).
using Quad = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<113, boost::multiprecision::digit_base_2, void,
                                         std::int16_t, -16382, 16383>,
    boost::multiprecision::et_off>;

/// 100 decimal digits, binary radix.
using Digits100 = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<100>,
                                                boost::multiprecision::et_off>;

/// Precision chosen at run time: set Mpfr::default_precision(digits) before values are made.
using Mpfr = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>,
                                           boost::multiprecision::et_off>;

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using RowVector = Eigen::Matrix<Real, 1, Eigen::Dynamic>;

/// log of the relative spacing of Real: below it, 1 + exp(x) == 1.
template <class Real>
Real log_epsilon() {
  using std::log;
  return log(std::numeric_limits<Real>::epsilon());
}

template <>
inline Mpfr log_epsilon<Mpfr>() {
  return -Mpfr(Mpfr::default_precision()) * log(Mpfr(10));
}

}  // namespace gdr2
