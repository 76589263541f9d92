// SPDX-License-Identifier: Apache-2.0
// Mamba-2 (Dao, Gu, arXiv:2405.21060), one head. The state space model
//
//   h_t = exp(A dt_t) h_{t-1} + dt_t B_t x_t^T,    y_t = h_t^T C_t
//
// as the matrix mixer of its duality: y = (L o C B^T) (dt x), with the 1-semiseparable mask
// L_ij = exp(A (dt_{j+1} + .. + dt_i)) for i >= j. Forward and backward are products of whole
// [T, T] matrices; there is no loop over states. An independent road to the gated delta rule-2 with
// b = 0 and one gate for all channels. It shares nothing with reference/delta_rule.hpp.
#pragma once

#include <Eigen/Core>

namespace gdr2::mamba2 {

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;

template <class Real>
struct Inputs {
  Matrix<Real> C, B;  // [T, N]
  Matrix<Real> x;     // [T, P]
  Vector<Real> dt;    // [T]
  Matrix<Real> h0;    // [N, P]
  Real A;             // negative
};

template <class Real>
struct Outputs {
  Matrix<Real> y;   // [T, P]
  Matrix<Real> hT;  // [N, P]
};

template <class Real>
struct Gradients {
  Matrix<Real> C, B;  // [T, N]
  Matrix<Real> x;     // [T, P]
  Vector<Real> dt;    // [T]
  Matrix<Real> h0;    // [N, P]
  Real A;
};

/// Column 0: decay from the initial state to token i; column j + 1: decay from token j to token i.
/// The mask L is all but column 0.
template <class Real>
Matrix<Real> decays(const Inputs<Real>& in) {
  using std::exp;
  const Eigen::Index T = in.dt.size();
  Matrix<Real> D = Matrix<Real>::Zero(T, T + 1);
  for (Eigen::Index i = 0; i < T; ++i) {
    Real sum(0);
    for (Eigen::Index j = i + 1; j-- > 0;) {
      D(i, j + 1) = exp(in.A * sum);
      sum += in.dt(j);
    }
    D(i, 0) = exp(in.A * sum);
  }
  return D;
}

template <class Real>
Outputs<Real> forward(const Inputs<Real>& in) {
  const Eigen::Index T = in.dt.size();
  const Matrix<Real> D = decays(in), L = D.rightCols(T);
  const Matrix<Real> X = in.dt.asDiagonal() * in.x;
  const Matrix<Real> CB = in.C * in.B.transpose();
  const Matrix<Real> M = L.cwiseProduct(CB);
  const Matrix<Real> weighted_B = L.row(T - 1).transpose().asDiagonal() * in.B;
  return {M * X + D.col(0).asDiagonal() * (in.C * in.h0),
          weighted_B.transpose() * X + D(T - 1, 0) * in.h0};
}

/// Gradients of sum(y * dy) + sum(h_T * dhT).
template <class Real>
Gradients<Real> backward(const Inputs<Real>& in, const Matrix<Real>& dy, const Matrix<Real>& dhT) {
  const Eigen::Index T = in.dt.size();
  const Matrix<Real> D = decays(in), L = D.rightCols(T);
  const Matrix<Real> X = in.dt.asDiagonal() * in.x;
  const Matrix<Real> CB = in.C * in.B.transpose();
  const Matrix<Real> M = L.cwiseProduct(CB), dM = dy * X.transpose(), LdM = L.cwiseProduct(dM);
  const Vector<Real> to_end = L.row(T - 1).transpose(), from_start = D.col(0);
  // y = M X + Diag(from_start) C h_0,   h_T = B^T Diag(to_end) X + from_start_T h_0
  const Matrix<Real> dX = M.transpose() * dy + to_end.asDiagonal() * (in.B * dhT);
  const Matrix<Real> dy_h0 = dy * in.h0.transpose(), X_dhT = X * dhT.transpose();
  Gradients<Real> d{LdM * in.B + from_start.asDiagonal() * dy_h0,
                    LdM.transpose() * in.C + to_end.asDiagonal() * X_dhT,
                    in.dt.asDiagonal() * dX,
                    dX.cwiseProduct(in.x).rowwise().sum(),
                    in.C.transpose() * (from_start.asDiagonal() * dy) + D(T - 1, 0) * dhT,
                    Real(0)};
  // D_i,j+1 = exp(a_{j+1} + .. + a_i) with a = A dt: a_l takes from every pair it stands between.
  Matrix<Real> E(T, T + 1);  // D * dD, laid out as D
  E.rightCols(T) = LdM.cwiseProduct(CB);
  E.col(0) = from_start.cwiseProduct(dy_h0.cwiseProduct(in.C).rowwise().sum());
  E.row(T - 1).tail(T) += to_end.cwiseProduct(X_dhT.cwiseProduct(in.B).rowwise().sum()).transpose();
  E(T - 1, 0) += D(T - 1, 0) * in.h0.cwiseProduct(dhT).sum();
  for (Eigen::Index l = 0; l < T; ++l) {
    const Real da = E.block(l, 0, T - l, l + 1).sum();
    d.dt(l) += in.A * da;
    d.A += in.dt(l) * da;
  }
  return d;
}

}  // namespace gdr2::mamba2
