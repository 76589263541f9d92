// SPDX-License-Identifier: Apache-2.0
// What the conservation laws add up: products of an exact factor and a computed one, beside the error
// that the computed ones may bring in. No reference is involved. A computed number y of a head is
// wrong by up to about u (|y| + rms of the head): its own rounding, and that of the products behind
// it, which are as large as the head's numbers are.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/laws/law_run.hpp"

namespace gdr2::laws {

class Balance {
 public:
  /// sign * exact * computed; `size` is the rms of the computed one's head.
  void add(double sign, double exact, double computed, double size) {
    const double scale = std::fabs(sign * exact) * (std::fabs(computed) + size);
    rest_ += sign * exact * computed;
    sum_ += scale;
    squares_ += scale * scale;
  }
  double rest() const { return rest_; }
  /// Errors of terms partly add up and partly average out.
  double scale() const { return std::sqrt(squares_) + 0.02 * sum_; }

 private:
  double rest_ = 0, sum_ = 0, squares_ = 0;
};

/// Inputs and results of a call by index, with the rms of every (sequence, head). The tensors are read where
/// they are, by many threads, so a problem of a million tokens takes no memory beside its own.
class Figures {
 public:
  Figures(const Problem& problem, const Tensors& tensors, double unit);

  const Problem& problem() const { return problem_; }

  /// t: flattened token.
  double at(Name name, std::int64_t t, std::int64_t head, std::int64_t channel) const {
    const auto& v = values_.at(name);
    return v.get((t * v.heads + head) * v.channels + channel);
  }
  double state(Name name, std::int64_t n, std::int64_t hv, std::int64_t k, std::int64_t v) const;
  double size(Name name, std::int64_t n, std::int64_t head) const {
    const auto& v = values_.at(name);
    return v.rms[n * v.heads + head];
  }

  /// rms of the products of two tensors' elements over a (sequence, head).
  double size_of_product(Name x, Name y, std::int64_t n, std::int64_t head) const;

  /// body(n, t, h) for every token and key head; the violation of the first token that has one.
  template <class Body>
  std::optional<std::string> each_token(const Body& body) const {
    return first_in_parts(problem_.B * problem_.T, [&](std::int64_t begin, std::int64_t end) {
      std::optional<std::string> found;
      std::int64_t n = 0;
      for (const auto s : problem_.sequences()) {
        for (auto t = std::max(s.begin, begin); t < std::min(s.end, end); ++t)
          for (std::int64_t h = 0; h < problem_.H && !found; ++h) found = body(n, t, h);
        ++n;
      }
      return found;
    });
  }

  /// One sentence when the balance does not close. t and c of -1 are not mentioned.
  std::optional<std::string> violation(const Balance& balance, const char* law, std::int64_t n,
                                       std::int64_t t, std::int64_t h, std::int64_t c = -1) const;

 private:
  struct Values {
    Tensor tensor;
    bool dense;
    std::int64_t heads, channels;
    std::vector<double> rms;  // [N, heads]

    double get(std::int64_t i) const {
      const auto width = std::int64_t(size_of(tensor.dtype()));
      return dense ? load_element(tensor.data() + i * width, tensor.dtype()) : tensor.get(i);
    }
  };
  using Part = std::function<std::optional<std::string>(std::int64_t begin, std::int64_t end)>;

  /// `part` on consecutive ranges of 0 .. count, on all threads; what the first of them found.
  static std::optional<std::string> first_in_parts(std::int64_t count, const Part& part);
  std::vector<double> rms_of(const Values& v, bool state) const;

  Problem problem_;
  double unit_;
  std::map<Name, Values> values_;
};

/// A law of conservation on results at hand.
struct Balanced {
  std::string law;
  std::optional<std::string> violation;
};

/// Those that say something of the problem: E1 to E5. No kernel runs. `tensors`: inputs and results.
std::vector<Balanced> balances(const Problem& problem, const Contract& contract, const Tensors& tensors);

/// What a balance may leave over in units of its scale: the tolerance times u, half an ulp at 1 of the
/// coarsest of products' operands and stored results.
double unit_of(const Contract& contract, const Problem& problem);

}  // namespace gdr2::laws
