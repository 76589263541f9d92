// SPDX-License-Identifier: Apache-2.0
// How far a tensor is from its reference, element by element: largest absolute error, error norm,
// ulps, z = |error| / sigma with its quantiles and profile, and the worst elements by name. NaN and infinity are
// counted first and never enter the figures of finite elements; no maximum is taken with `>` over a
// value that may be NaN.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/error_profile.hpp"
#include "reference/problem.hpp"

namespace gdr2 {

/// One element, for the worst list.
struct Element {
  std::int64_t index = 0;   ///< row-major
  std::string where;        ///< "b=0 t=17 h=1 c=3"
  double value = 0, reference = 0, sigma = 0, z = 0;
};

/// The worst element between its neighbours in its row, at most kNeighbours on each side.
struct Window {
  std::int64_t first = 0;  ///< row-major index of the first element
  std::vector<double> value, reference, sigma;

  bool empty() const { return value.empty(); }
};

inline constexpr std::int64_t kNeighbours = 5;

struct ErrorStats {
  Name name{};
  DType dtype{};
  Shape shape;
  std::int64_t count = 0;        ///< elements
  std::int64_t nan = 0;          ///< value is NaN where the reference is a number
  std::int64_t inf = 0;          ///< value is infinite where the rounded reference is finite
  std::int64_t missing = 0;      ///< reference is NaN or infinite, and the value is not the same
  double max_abs = 0;            ///< largest |value - reference|
  double rel_norm = 0;           ///< ||value - reference||_2 / ||reference||_2; 0/0 = 0
  double max_ulp = 0;            ///< largest error in ulps of dtype at the reference, its row's rms or
                                 ///< 2^-10 of the tensor's, whichever is largest: an ulp near zero
                                 ///< measures nothing
  double rms_z = 0, max_z = 0;   ///< 0 without sigma
  double z50 = 0, z90 = 0, z99 = 0, z999 = 0;  ///< quantiles of z
  double reference_rms = 0;
  std::vector<Element> worst;    ///< by z (by absolute error without sigma), worst first; at most 3
  Window window;                 ///< around worst.front()
  ErrorProfile profile;          ///< empty without sigma

  bool all_finite() const { return nan == 0 && inf == 0 && missing == 0; }
};

/// `value` and `reference` are row-major in shape_of(problem, name); `sigma` has one standard
/// deviation per element, or is empty. An infinite value counts as right where the reference,
/// rounded to `dtype`, is the same infinity.
ErrorStats measure(const Problem& problem, Name name, DType dtype, std::span<const double> value,
                   std::span<const double> reference, std::span<const double> sigma);

/// "b=0 t=17 h=1 c=3" or "n=0 h=1 k=5 v=9": an element's index by the names of its axes.
std::string element_name(const Problem& problem, Name name, std::int64_t index);

}  // namespace gdr2
