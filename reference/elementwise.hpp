// SPDX-License-Identifier: Apache-2.0
// Elementwise operations of an Arithmetic on whole matrices: formed in Wide, stored once.
#pragma once

#include "reference/arithmetic.hpp"

namespace gdr2 {

template <class Arithmetic>
class Elementwise {
  using Real = typename Arithmetic::Real;
  using Wide = typename Arithmetic::Wide;

 public:
  explicit Elementwise(const Arithmetic& ar) : arithmetic_(ar) {}

  Matrix<Real> times(const Matrix<Real>& a, const Matrix<Real>& b) const {
    return arithmetic_.store(
        Matrix<Wide>(a.template cast<Wide>().cwiseProduct(b.template cast<Wide>())));
  }
  Matrix<Real> plus(const Matrix<Real>& a, const Matrix<Real>& b) const {
    return arithmetic_.store(Matrix<Wide>(a.template cast<Wide>() + b.template cast<Wide>()));
  }
  Matrix<Real> scaled(Real s, const Matrix<Real>& a) const {
    return arithmetic_.store(Matrix<Wide>(Wide(s) * a.template cast<Wide>()));
  }
  /// Diag(d) a
  Matrix<Real> row_scaled(const RowVector<Real>& d, const Matrix<Real>& a) const {
    return arithmetic_.store(
        Matrix<Wide>(d.template cast<Wide>().asDiagonal() * a.template cast<Wide>()));
  }

 private:
  const Arithmetic& arithmetic_;
};

}  // namespace gdr2
