// SPDX-License-Identifier: Apache-2.0
// A rule (token recurrence or chunk form) applied to a whole problem: every sequence, every value
// head, with the in-kernel options before and their gradients after, and the gradients of shared
// query/key heads summed over their group. `reference<Real>` is the truth of a case.
#pragma once

#include <map>
#include <vector>

#include "reference/arithmetic.hpp"
#include "reference/delta_rule.hpp"
#include "reference/error.hpp"
#include "reference/options.hpp"
#include "reference/problem.hpp"

namespace gdr2 {

/// Values by name, row-major in shape_of(problem, name).
template <class Real>
using Values = std::map<Name, std::vector<Real>>;

template <class Real>
Values<Real> to_values(const Tensors& tensors) {
  Values<Real> values;
  for (const auto& [name, tensor] : tensors) {
    const auto doubles = tensor.to_doubles();
    values[name] = std::vector<Real>(doubles.begin(), doubles.end());
  }
  return values;
}

template <class To, class From>
Values<To> convert(const Values<From>& from) {
  Values<To> to;
  for (const auto& [name, x] : from)
    std::transform(x.begin(), x.end(), std::back_inserter(to[name]),
                   [](const From& value) { return static_cast<To>(value); });
  return to;
}

namespace run_detail {

template <class Real>
using Rows = Eigen::Map<const Matrix<Real>, 0, Eigen::OuterStride<>>;
template <class Real>
using MutableRows = Eigen::Map<Matrix<Real>, 0, Eigen::OuterStride<>>;

/// One head's rows of a [tokens, heads, channels] tensor over a sequence.
template <class Real>
Rows<Real> rows(const std::vector<Real>& x, Sequence s, std::int64_t heads, std::int64_t head,
                std::int64_t channels) {
  return {x.data() + (s.begin * heads + head) * channels, s.length(), channels,
          Eigen::OuterStride<>(heads * channels)};
}
template <class Real>
MutableRows<Real> rows(std::vector<Real>& x, Sequence s, std::int64_t heads, std::int64_t head,
                       std::int64_t channels) {
  return {x.data() + (s.begin * heads + head) * channels, s.length(), channels,
          Eigen::OuterStride<>(heads * channels)};
}

template <class Arithmetic, class Rule>
class Run {
  using Real = typename Arithmetic::Real;
  using Wide = typename Arithmetic::Wide;

 public:
  Run(const Problem& p, const Values<Wide>& in, const Arithmetic& ar, const Rule& rule,
      const std::vector<Name>& stages)
      : p_(p), in_(in), ar_(ar), rule_(rule) {
    for (auto name : stages) (is_backward_stage(name) ? adjoint_stages_ : stages_).push_back(name);
    using std::sqrt;
    scale_ = ar_.store(p.scale ? Wide(*p.scale) : Wide(Wide(1) / sqrt(Wide(p.K))));
  }

  Values<Real> forward() {
    allocate(output_names(p_));
    allocate(stages_);
    each_head([&](std::int64_t n, Sequence s, std::int64_t hv) {
      auto x = head(n, s, hv);
      x.keep = stages_;
      put_outputs(n, s, hv, rule_.forward(ar_, x));
    });
    return std::move(out_);
  }

  Values<Real> backward() {
    allocate(gradient_names(p_));
    allocate(adjoint_stages_);
    each_head([&](std::int64_t n, Sequence s, std::int64_t hv) {
      auto x = head(n, s, hv);
      x.keep = adjoint_stages_;
      put_gradients(n, s, hv, rule_.backward(ar_, x, cotangents(n, s, hv)));
    });
    return std::move(out_);
  }

  /// Outputs and gradients in one pass, of a rule whose backward forms the outputs on its way.
  Values<Real> both() {
    for (const auto& names : {output_names(p_), gradient_names(p_), stages_, adjoint_stages_})
      allocate(names);
    each_head([&](std::int64_t n, Sequence s, std::int64_t hv) {
      auto x = head(n, s, hv);
      x.keep = stages_;
      x.keep.insert(x.keep.end(), adjoint_stages_.begin(), adjoint_stages_.end());
      HeadOutputs<Real> y;
      auto d = rule_.backward(ar_, x, cotangents(n, s, hv), &y);
      put_outputs(n, s, hv, y);
      put_gradients(n, s, hv, std::move(d));
    });
    return std::move(out_);
  }

 private:
  HeadCotangents<Real> cotangents(std::int64_t n, Sequence s, std::int64_t hv) const {
    HeadCotangents<Real> dy{Matrix<Real>::Zero(s.length(), p_.V), Matrix<Real>::Zero(p_.K, p_.V)};
    if (p_.has_do()) dy.o = gather(Name::do_, s, p_.HV, hv, p_.V);
    if (p_.has_dht()) dy.ST = state(Name::dht, n, hv);
    return dy;
  }

  void put_outputs(std::int64_t n, Sequence s, std::int64_t hv, const HeadOutputs<Real>& y) {
    put_stages(n, hv, y.stages);
    rows(out_[Name::o], s, p_.HV, hv, p_.V) = y.o;
    if (p_.ht) put_state(Name::ht, n, hv, y.ST);
  }

  void put_gradients(std::int64_t n, Sequence s, std::int64_t hv, HeadGradients<Real> d) {
    put_stages(n, hv, d.stages);
    rows(out_[Name::dv], s, p_.HV, hv, p_.V) = d.v;
    rows(out_[Name::dw], s, p_.HV, hv, p_.V) = d.w;
    if (p_.h0) put_state(Name::dh0, n, hv, d.S0);
    undo_options(s, hv / p_.group(), d);
  }

  template <class Body>
  void each_head(const Body& body) const {
    const auto sequences = p_.sequences();
    for (std::int64_t n = 0; n < p_.N(); ++n)
      for (std::int64_t hv = 0; hv < p_.HV; ++hv) body(n, sequences[n], hv);
  }

  void allocate(const std::vector<Name>& names) {
    for (auto name : names)
      out_[name] = std::vector<Real>(element_count(shape_of(p_, name)), Real(0));
  }

  const std::vector<Wide>& input(Name name) const {
    const auto found = in_.find(name);
    if (found == in_.end()) fail("inputs: {} is missing", to_string(name));
    return found->second;
  }

  Matrix<Real> gather(Name name, Sequence s, std::int64_t heads, std::int64_t h,
                      std::int64_t channels) const {
    return rows(input(name), s, heads, h, channels).template cast<Real>();
  }

  Matrix<Real> state(Name name, std::int64_t n, std::int64_t hv) const {
    const Wide* first = input(name).data() + (n * p_.HV + hv) * p_.K * p_.V;
    if (p_.layout == StateLayout::kKV)
      return Eigen::Map<const Matrix<Wide>>(first, p_.K, p_.V).template cast<Real>();
    return Eigen::Map<const Matrix<Wide>>(first, p_.V, p_.K).transpose().template cast<Real>();
  }

  void put_state(Name name, std::int64_t n, std::int64_t hv, const Matrix<Real>& S) {
    Real* first = out_[name].data() + (n * p_.HV + hv) * p_.K * p_.V;
    if (p_.layout == StateLayout::kKV)
      Eigen::Map<Matrix<Real>>(first, p_.K, p_.V) = S;
    else
      Eigen::Map<Matrix<Real>>(first, p_.V, p_.K) = S.transpose();
  }

  /// Stages of the chunks of sequence n; those of query/key heads come out alike in every value head.
  void put_stages(std::int64_t n, std::int64_t hv, const std::vector<ChunkStages<Real>>& chunks) {
    const auto sequences = p_.sequences();
    std::int64_t chunk = 0;
    for (std::int64_t m = 0; m < n; ++m) chunk += (sequences[m].length() + kChunk - 1) / kChunk;
    for (const auto& stages : chunks) {
      for (const auto& [name, x] : stages) {
        const auto heads = shape_of(p_, name)[1];
        const auto at = chunk * heads + (heads == p_.HV ? hv : hv / p_.group());
        Eigen::Map<Matrix<Real>>(out_[name].data() + at * x.size(), x.rows(), x.cols()) = x;
      }
      ++chunk;
    }
  }

  /// The gate of token row t in key head h, elementwise: body(c, GateValue).
  template <class Body>
  void each_gate(Sequence s, std::int64_t h, std::int64_t t, const Body& body) const {
    const auto x = rows(input(Name::g), s, p_.H, h, p_.K);
    for (std::int64_t c = 0; c < p_.K; ++c)
      body(c, options::gate<Wide>(p_, x(t, c), input(Name::A_log)[h],
                                  input(Name::dt_bias)[h * p_.K + c]));
  }

  Head<Real> head(std::int64_t n, Sequence s, std::int64_t hv) const {
    using std::exp;
    const auto h = hv / p_.group();
    Head<Real> x{.q = gather(Name::q, s, p_.H, h, p_.K),
                 .k = gather(Name::k, s, p_.H, h, p_.K),
                 .b = gather(Name::b, s, p_.H, h, p_.K),
                 .g = gather(Name::g, s, p_.H, h, p_.K),
                 .alpha = {},
                 .v = gather(Name::v, s, p_.HV, hv, p_.V),
                 .w = gather(Name::w, s, p_.HV, hv, p_.V),
                 .S0 = p_.h0 ? state(Name::h0, n, hv) : Matrix<Real>::Zero(p_.K, p_.V),
                 .scale = scale_};
    for (std::int64_t t = 0; t < s.length(); ++t) {
      if (p_.l2norm) {
        x.q.row(t) = options::normalize(ar_, x.q.row(t));
        x.k.row(t) = options::normalize(ar_, x.k.row(t));
      }
      if (p_.gate != Gate::kLog)
        each_gate(s, h, t, [&](auto c, const auto& gate) { x.g(t, c) = ar_.store(gate.g); });
    }
    if (p_.neg_eigval) x.b *= Real(2);
    x.alpha = ar_.store(
        Matrix<Wide>(x.g.template cast<Wide>().unaryExpr([](const Wide& g) -> Wide { return exp(g); })));
    return x;
  }

  /// Adds a head's gradients, taken back through the options, to those of its query/key head.
  void undo_options(Sequence s, std::int64_t h, HeadGradients<Real>& d) {
    if (p_.neg_eigval) d.b *= Real(2);
    if (p_.l2norm) {
      const auto q = gather(Name::q, s, p_.H, h, p_.K), k = gather(Name::k, s, p_.H, h, p_.K);
      for (std::int64_t t = 0; t < s.length(); ++t) {
        d.q.row(t) = options::normalize_backward(ar_, q.row(t), d.q.row(t));
        d.k.row(t) = options::normalize_backward(ar_, k.row(t), d.k.row(t));
      }
    }
    if (p_.gate != Gate::kLog) undo_gate(s, h, d);
    add(Name::dq, s, h, d.q);
    add(Name::dk, s, h, d.k);
    add(Name::dg, s, h, d.g);
    add(Name::db, s, h, d.b);
  }

  void undo_gate(Sequence s, std::int64_t h, HeadGradients<Real>& d) {
    auto& dA_log = out_[Name::dA_log][h];
    for (std::int64_t t = 0; t < s.length(); ++t)
      each_gate(s, h, t, [&](auto c, const auto& gate) {
        const Wide dg = d.g(t, c);
        auto& ddt_bias = out_[Name::ddt_bias][h * p_.K + c];
        d.g(t, c) = ar_.store(options::times<Wide>(gate.by_x, dg));
        ddt_bias = ar_.store(Wide(ddt_bias) + Wide(d.g(t, c)));
        dA_log = ar_.store(Wide(dA_log) + options::times<Wide>(gate.by_A_log, dg));
      });
  }

  void add(Name name, Sequence s, std::int64_t h, const Matrix<Real>& d) {
    auto sum = rows(out_[name], s, p_.H, h, p_.K);
    sum = ar_.store(Matrix<Wide>(sum.template cast<Wide>() + d.template cast<Wide>()));
  }

  const Problem& p_;
  const Values<Wide>& in_;
  const Arithmetic& ar_;
  const Rule& rule_;
  Real scale_;
  std::vector<Name> stages_, adjoint_stages_;
  Values<Real> out_;
};

}  // namespace run_detail

/// o and, when wanted, ht, and the asked stages of the forward. `in` holds input_names(problem);
/// throws Error naming a missing one. A rule without chunks knows no stages but H and dH.
template <class Arithmetic, class Rule>
Values<typename Arithmetic::Real> run_forward(const Problem& problem,
                                              const Values<typename Arithmetic::Wide>& in,
                                              const Arithmetic& ar, const Rule& rule,
                                              const std::vector<Name>& stages = {}) {
  return run_detail::Run<Arithmetic, Rule>(problem, in, ar, rule, stages).forward();
}

/// The gradients of gradient_names(problem), and the asked stages of the backward.
template <class Arithmetic, class Rule>
Values<typename Arithmetic::Real> run_backward(const Problem& problem,
                                               const Values<typename Arithmetic::Wide>& in,
                                               const Arithmetic& ar, const Rule& rule,
                                               const std::vector<Name>& stages = {}) {
  return run_detail::Run<Arithmetic, Rule>(problem, in, ar, rule, stages).backward();
}

/// Outputs and gradients, and the asked stages of both.
template <class Arithmetic, class Rule>
Values<typename Arithmetic::Real> run_both(const Problem& problem,
                                           const Values<typename Arithmetic::Wide>& in,
                                           const Arithmetic& ar, const Rule& rule,
                                           const std::vector<Name>& stages = {}) {
  return run_detail::Run<Arithmetic, Rule>(problem, in, ar, rule, stages).both();
}

/// Outputs and gradients of the token recurrence in Real.
template <class Real>
Values<Real> reference(const Problem& problem, const Values<Real>& in) {
  auto values = run_forward(problem, in, Exact<Real>(), TokenRule());
  if (problem.backward) values.merge(run_backward(problem, in, Exact<Real>(), TokenRule()));
  return values;
}

// Compiled once, in reference/instances.cpp.
extern template Values<double> reference(const Problem&, const Values<double>&);
extern template Values<Quad> reference(const Problem&, const Values<Quad>&);

}  // namespace gdr2
