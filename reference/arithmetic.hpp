// SPDX-License-Identifier: Apache-2.0
// How a computation rounds. An Arithmetic has a storage type Real, a wider type Wide in which
// elementwise expressions are formed, and
//   store(x)                 Wide -> Real: the rounding of one elementwise result
//   round(format, M)         a site of the contract: M rounded to a format in place
//   product(format, A, B)    A B with operands rounded to `format`, summed at accumulator width: in
//                            Real, and after every 16 terms rounded to a narrower accumulator
//   add_product(format, C, A, B)  C + A B: a matrix instruction adds to what its accumulator holds, so C
//                            is one more term of the sums
// Exact<Real> rounds nothing beyond Real itself. Emulated<Real> follows a precision contract, to
// nearest (the CPU chunk kernel) or stochastically with the terms of every sum in random order (one
// member of the ensemble behind the GLOBAL leg, docs/NUMERICS.md). Emulated is deterministic in its
// seed and carries a counter: one object per run, not shared between threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "reference/contract.hpp"
#include "reference/real.hpp"
#include "reference/rounding.hpp"

namespace gdr2 {

template <class Real_>
class Exact {
 public:
  using Real = Real_;
  using Wide = Real_;

  const Contract& contract() const { return contract_; }
  Real store(const Wide& x) const { return x; }
  Matrix<Real> store(Matrix<Wide> x) const { return x; }
  void round(Format, Matrix<Real>&) const {}
  Matrix<Real> product(Format, const Matrix<Real>& A, const Matrix<Real>& B) const { return A * B; }
  Matrix<Real> add_product(Format, const Matrix<Real>& C, const Matrix<Real>& A,
                           const Matrix<Real>& B) const {
    return C + A * B;
  }

 private:
  Contract contract_{Format::kNone, Format::kNone, Format::kNone, Format::kNone,
                     Format::kNone, Format::kNone, Format::kNone};
};

/// The wider type for elementwise work.
template <class Real>
struct WideOf;
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<double> {
  using type = long double;
};

enum class RoundingMode { kNearest, kStochastic };

template <class Real_>
class Emulated {
 public:
  using Real = Real_;
  using Wide = typename WideOf<Real>::type;

  explicit Emulated(Contract contract, RoundingMode mode = RoundingMode::kNearest,
                    std::uint32_t seed = 0)
      : contract_(contract), mode_(mode), key_(mix(seed + 0x7F4A7C15u)) {}

  const Contract& contract() const { return contract_; }

  Real store(Wide x) const {
    return mode_ == RoundingMode::kNearest ? static_cast<Real>(x) : store_stochastic(x);
  }

  Matrix<Real> store(const Matrix<Wide>& x) const {
    Matrix<Real> y(x.rows(), x.cols());
    for (Eigen::Index i = 0; i < x.size(); ++i) y.data()[i] = store(x.data()[i]);
    return y;
  }

  void round(Format format, Matrix<Real>& x) const {
    with_format(format, [&]<Format to>() {
      if constexpr (to != Format::kF32 || sizeof(Real) > 4) round_all<to>(x);
    });
  }

  Matrix<Real> product(Format format, const Matrix<Real>& A, const Matrix<Real>& B) const {
    if (mode_ == RoundingMode::kNearest) {
      Matrix<Real> a = A, b = B;
      round(format, a);
      round(format, b);
      return sum(a, b);
    }
    const auto [a, b] = in_random_order(format, A, B);
    return sum(a, b);
  }

  Matrix<Real> add_product(Format format, const Matrix<Real>& C, const Matrix<Real>& A,
                           const Matrix<Real>& B) const {
    if (mode_ == RoundingMode::kNearest) return stored_sum(C, product(format, A, B));
    const auto [a, b] = in_random_order(format, A, B);
    const auto n = a.cols(), before = Eigen::Index(bits(double(n)) % std::uint32_t(n + 1));
    auto y = stored_sum(C, sum(a.leftCols(before), b.topRows(before)));
    for (auto k = before; k < n; ++k) {
      for (Eigen::Index i = 0; i < y.rows(); ++i)
        for (Eigen::Index j = 0; j < y.cols(); ++j) y(i, j) = std::fma(a(i, k), b(k, j), y(i, j));
      if ((k - before) % kTerms == kTerms - 1 || k + 1 == n) round(contract_.accumulator, y);
    }
    return y;
  }

 private:
  static constexpr Eigen::Index kTerms = 16;  // of one matrix instruction

  Matrix<Real> stored_sum(const Matrix<Real>& x, const Matrix<Real>& y) const {
    return store(Matrix<Wide>(x.template cast<Wide>() + y.template cast<Wide>()));
  }

  /// The operands of a product, rounded, their terms in this member's order.
  std::pair<Matrix<Real>, Matrix<Real>> in_random_order(Format format, const Matrix<Real>& A,
                                                        const Matrix<Real>& B) const {
    const auto order = random_order(A.cols());
    Matrix<Real> a(A.rows(), A.cols()), b(B.rows(), B.cols());
    for (Eigen::Index i = 0; i < A.rows(); ++i)
      for (Eigen::Index j = 0; j < A.cols(); ++j) a(i, j) = A(i, order[j]);
    for (Eigen::Index j = 0; j < B.rows(); ++j) b.row(j) = B.row(order[j]);
    round(format, a);
    round(format, b);
    return {std::move(a), std::move(b)};
  }

  Matrix<Real> sum(const Matrix<Real>& a, const Matrix<Real>& b) const {
    const auto digits = contract_.accumulator == Format::kNone
                            ? std::numeric_limits<Real>::digits
                            : traits(contract_.accumulator).precision;
    if (digits >= std::numeric_limits<Real>::digits) return a * b;
    Matrix<Real> y = Matrix<Real>::Zero(a.rows(), b.cols());
    for (Eigen::Index k = 0; k < a.cols(); k += kTerms) {
      const auto n = std::min(kTerms, a.cols() - k);
      y += a.middleCols(k, n) * b.middleRows(k, n);
      round(contract_.accumulator, y);
    }
    return y;
  }

  /// Full avalanche of 32 bits (Wellons' lowbias32); ample for dithering, and called a billion times.
  static std::uint32_t mix(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
  }

  /// The draw that belongs to a value in this member.
  std::uint32_t bits(double x) const {
    const auto u = std::bit_cast<std::uint64_t>(x);
    return mix(std::uint32_t(u >> 32) * 0x9E3779B9u + std::uint32_t(u) * 0x85EBCA6Bu + key_);
  }

  template <Format format>
  void round_all(Matrix<Real>& x) const {
    if (mode_ == RoundingMode::kNearest)
      for (auto& value : std::span(x.data(), x.size())) value = Real(round_nearest_to<format>(value));
    else
      for (auto& value : std::span(x.data(), x.size())) value = Real(round_stochastic_to<format>(value, bits(value)));
  }

  Real store_stochastic(double x) const
    requires std::same_as<Real, float>
  {
    return static_cast<float>(round_stochastic_to<Format::kF32>(x, bits(x)));
  }

  Real store_stochastic(long double x) const
    requires std::same_as<Real, double>
  {
    const auto nearest = static_cast<double>(x);
    const long double rest = x - nearest;
    if (rest == 0 || !std::isfinite(nearest)) return nearest;
    const double other = std::nextafter(nearest, rest > 0 ? HUGE_VAL : -HUGE_VAL);
    const auto draw = mix(bits(nearest) ^ bits(double(rest)));
    return draw * 0x1p-32L < rest / (other - nearest) ? other : nearest;
  }

  std::vector<Eigen::Index> random_order(Eigen::Index n) const {
    std::vector<Eigen::Index> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (auto i = n; i-- > 1;) std::swap(order[i], order[bits(double(i)) % std::uint32_t(i + 1)]);
    return order;
  }

  Contract contract_;
  RoundingMode mode_;
  std::uint32_t key_;
};

}  // namespace gdr2
