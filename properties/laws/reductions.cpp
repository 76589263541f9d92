// SPDX-License-Identifier: Apache-2.0
// With tied gates the rule is an older one (docs/MATH.md 5.2). The kernel gets the tied inputs; what
// it must give comes, in double, from reference/independent, where each older rule stands as its
// authors define it. A tied gate's gradient is the sum over the entries that were tied.
#include <cmath>

#include "properties/laws/family.hpp"
#include "properties/laws/margin.hpp"
#include "reference/independent/deltanet.hpp"
#include "reference/independent/gated_deltanet.hpp"
#include "reference/independent/gated_linear_attention.hpp"
#include "reference/independent/kda.hpp"

namespace gdr2::laws {
namespace {

using Real = double;
using M = Matrix<double>;
using Vector = Eigen::VectorXd;

/// What a rule gives for one value head. Of tied gates one column a tie: beta and g are [T, 1], or g
/// is [T, K]; empty where the rule has no such gate.
struct Older {
  M o, ST, dq, dk, dv, dg, dbeta, dw, dS0;
};

/// One value head of the tied problem.
struct TiedHead {
  M q, k, g, b, v, w, S0, d_o, d_ST;
  double scale;
};

Older by_kda(const TiedHead& x) {
  const kda::Inputs<Real> in{x.q, x.k, x.v, x.g, x.b.col(0), x.S0, x.scale};
  const auto y = kda::forward(in);
  const auto d = kda::backward(in, x.d_o, x.d_ST);
  return {y.o, y.S.back(), d.q, d.k, d.v, d.g, d.beta, {}, d.S0};
}

Older by_gated_deltanet(const TiedHead& x) {
  const gated_deltanet::Inputs<Real> in{x.q,    x.k, x.v, x.g.col(0), x.b.col(0), x.S0.transpose(),
                                        x.scale};
  const auto y = gated_deltanet::forward(in);
  const auto d = gated_deltanet::backward<Real>(in, x.d_o, x.d_ST.transpose());
  return {y.o, y.S.back().transpose(), d.q, d.k, d.v, d.g, d.beta, {}, d.S0.transpose()};
}

Older by_deltanet(const TiedHead& x) {
  const deltanet::Inputs<Real> in{x.q, x.k, x.v, x.b.col(0), x.S0.transpose(), x.scale};
  const auto y = deltanet::forward(in);
  const auto d = deltanet::backward<Real>(in, x.d_o, x.d_ST.transpose());
  return {y.o, y.S.back().transpose(), d.q, d.k, d.v, {}, d.beta, {}, d.S0.transpose()};
}

Older by_linear_attention(const TiedHead& x) {
  const gated_linear_attention::Inputs<Real> in{x.q,  x.k,    x.g, x.w.cwiseProduct(x.v),
                                                x.S0, x.scale};
  const auto y = gated_linear_attention::recurrent(in);
  const auto d = gated_linear_attention::backward(in, x.d_o, x.d_ST);
  return {y.o, y.ST, d.q, d.k, x.w.cwiseProduct(d.v), d.g, {}, x.v.cwiseProduct(d.v), d.S0};
}

struct Rule {
  bool beta;      ///< b = w = beta
  bool scalar_g;  ///< one g a token
  double g;       ///< multiplies g: 0 for none
  Older (*older)(const TiedHead&);
};

/// Gates tied as the rule ties them: to the first channel of the key head.
Call tied(const Call& call, const Rule& rule) {
  const auto& p = call.problem;
  auto out = call;
  const auto first = [&](const Tensor& from, std::int64_t t, std::int64_t head) {
    return from.get((t * p.H + head) * p.K);
  };
  const auto b = call.inputs.at(Name::b), g = call.inputs.at(Name::g);
  out.inputs[Name::b] = changed(
      b, [&](const Index& i, double) { return rule.beta ? first(b, i[0] * p.T + i[1], i[2]) : 0; });
  if (rule.beta)
    out.inputs[Name::w] = changed(call.inputs.at(Name::w), [&](const Index& i, double) {
      return first(b, i[0] * p.T + i[1], i[2] / p.group());
    });
  out.inputs[Name::g] = changed(g, [&](const Index& i, double x) {
    if (rule.g == 0) return 0.0;
    return rule.scalar_g ? first(g, i[0] * p.T + i[1], i[2]) : x;
  });
  return out;
}

/// Rows of one head of a [tokens, heads, channels] tensor.
M rows(const Tensor& tensor, Sequence s, std::int64_t head) {
  const auto heads = tensor.shape()[2], channels = tensor.shape()[3];
  M m(s.length(), channels);
  for (auto t = s.begin; t < s.end; ++t)
    for (std::int64_t c = 0; c < channels; ++c)
      m(t - s.begin, c) = tensor.get((t * heads + head) * channels + c);
  return m;
}

/// The older rule's results for a whole problem, added up as gradients of shared heads are.
class OlderResults {
 public:
  OlderResults(const Call& call, const Rule& rule) : call_(call) {
    const auto& p = call.problem;
    for (auto name : output_names(p)) allocate(name);
    for (auto name : gradient_names(p)) allocate(name);
    dbeta_.assign(p.B * p.T * p.H, 0);
    dg_sum_ = dbeta_;
    const auto sequences = p.sequences();
    for (std::int64_t n = 0; n < p.N(); ++n)
      for (std::int64_t hv = 0; hv < p.HV; ++hv)
        add(n, sequences[n], hv, rule.older(head(n, sequences[n], hv)));
  }

  Values<double> values;
  std::vector<double> dbeta_, dg_sum_;  // [tokens, H]

 private:
  void allocate(Name name) { values[name].assign(element_count(shape_of(call_.problem, name)), 0); }

  M state(Name name, std::int64_t n, std::int64_t hv) const {
    const auto& p = call_.problem;
    M S = M::Zero(p.K, p.V);
    const auto found = call_.inputs.find(name);
    if (found == call_.inputs.end()) return S;
    for (std::int64_t k = 0; k < p.K; ++k)
      for (std::int64_t v = 0; v < p.V; ++v) S(k, v) = found->second.get(place(n, hv, k, v));
    return S;
  }

  std::int64_t place(std::int64_t n, std::int64_t hv, std::int64_t k, std::int64_t v) const {
    const auto& p = call_.problem;
    const auto in = p.layout == StateLayout::kKV ? k * p.V + v : v * p.K + k;
    return (n * p.HV + hv) * p.K * p.V + in;
  }

  TiedHead head(std::int64_t n, Sequence s, std::int64_t hv) const {
    const auto& p = call_.problem;
    const auto h = hv / p.group();
    const auto in = [&](Name name, std::int64_t i) { return rows(call_.inputs.at(name), s, i); };
    const bool has_do = call_.inputs.contains(Name::do_);
    return {in(Name::q, h),          in(Name::k, h),
            in(Name::g, h),          in(Name::b, h),
            in(Name::v, hv),         in(Name::w, hv),
            state(Name::h0, n, hv),  has_do ? in(Name::do_, hv) : M(M::Zero(s.length(), p.V)),
            state(Name::dht, n, hv), p.scale_value()};
  }

  void add_rows(Name name, Sequence s, std::int64_t head, const M& m) {
    const auto found = values.find(name);
    if (found == values.end() || m.size() == 0) return;
    const auto shape = shape_of(call_.problem, name);
    for (Eigen::Index t = 0; t < m.rows(); ++t)
      for (Eigen::Index c = 0; c < m.cols(); ++c)
        found->second[((s.begin + t) * shape[2] + head) * shape[3] + c] += m(t, c);
  }

  void add_state(Name name, std::int64_t n, std::int64_t hv, const M& S) {
    const auto found = values.find(name);
    if (found == values.end()) return;
    for (Eigen::Index k = 0; k < S.rows(); ++k)
      for (Eigen::Index v = 0; v < S.cols(); ++v) found->second[place(n, hv, k, v)] = S(k, v);
  }

  void add(std::int64_t n, Sequence s, std::int64_t hv, const Older& y) {
    const auto h = hv / call_.problem.group();
    add_rows(Name::o, s, hv, y.o);
    add_state(Name::ht, n, hv, y.ST);
    add_rows(Name::dq, s, h, y.dq);
    add_rows(Name::dk, s, h, y.dk);
    add_rows(Name::dv, s, hv, y.dv);
    add_rows(Name::dw, s, hv, y.dw);
    add_state(Name::dh0, n, hv, y.dS0);
    if (y.dg.cols() == call_.problem.K) add_rows(Name::dg, s, h, y.dg);
    for (Eigen::Index t = 0; t < s.length(); ++t) {
      const auto at = (s.begin + t) * call_.problem.H + h;
      if (y.dg.size()) dg_sum_[at] += y.dg.row(t).sum();
      if (y.dbeta.size()) dbeta_[at] += y.dbeta(t, 0);
    }
  }

  const Call& call_;
};

/// Sums over what a token and key head tied, got and allowed: [tokens, H]
struct Sums {
  std::vector<double> got, allowed;

  explicit Sums(const Problem& p) : got(p.B * p.T * p.H), allowed(got) {}

  void add(const Problem& p, Name name, const Tensor& tensor, const Margin& margin) {
    const auto heads = tensor.shape()[2], channels = tensor.shape()[3];
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const auto row = i / channels, at = row / heads * p.H + row % heads / (heads / p.H);
      got[at] += tensor.get(i);
      allowed[at] += margin.allowed(name, i);
    }
  }

  Violation beyond(const Problem& p, const char* what, const std::vector<double>& want) const {
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!(std::fabs(got[i] - want[i]) <= allowed[i]))
        return fmt::format("{} of token {} head {}: {:.9g}, expected {:.9g} within {:.3g}", what,
                           i / p.H, i % p.H, got[i], want[i], allowed[i]);
    return std::nullopt;
  }
};

Violation tied_sums_beyond(const Problem& p, const Rule& rule, const Tensors& got, const OlderResults& want,
                           const Margin& margin) {
  Sums beta(p), g(p);
  beta.add(p, Name::db, got.at(Name::db), margin);
  beta.add(p, Name::dw, got.at(Name::dw), margin);
  g.add(p, Name::dg, got.at(Name::dg), margin);
  if (rule.beta)
    if (auto found = beta.beyond(p, "dbeta", want.dbeta_)) return found;
  if (rule.scalar_g) return g.beyond(p, "dg", want.dg_sum_);
  return std::nullopt;
}

/// Independent references keep every state: so many numbers are enough.
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 26;

/// Of the older rules in double, whose gradients of decays cancel: relative to a tensor's rms.
constexpr double kReferenceError = 1e-12;

Verdict reduce(const Kernel& kernel, const Case& c, const Rule& rule) {
  const auto& p = c.problem;
  if (p.gate != Gate::kLog) return skipped("the gate is in the kernel");
  if (p.l2norm) return skipped("the L2 norm is in the kernel");
  if (p.neg_eigval) return skipped("b is doubled in the kernel, and w is not");
  if (!kernel.omitted(p).empty()) return skipped("the kernel ties gates of its own");
  if (p.T * p.K * p.V > kMostNumbers) return skipped("too large for the older rule's reference");
  return judge(c, [&](const Call& given) -> Violation {
    const auto call = tied(given, rule);
    const auto got = run(kernel, call);
    const auto margin = Margin(kernel, call).with_reference_error(kReferenceError);
    OlderResults want(call, rule);
    want.values.erase(Name::db);  // tied, or the rule does not know it
    if (rule.beta) want.values.erase(Name::dw);
    if (rule.scalar_g || rule.g == 0) want.values.erase(Name::dg);
    if (auto found = margin.beyond(got, want.values)) return found;
    if (!p.backward) return std::nullopt;
    if (!tied_sums_beyond(p, rule, got, want, margin)) return std::nullopt;
    return tied_sums_beyond(p, rule, got, want, margin.looked_at_again());
  });
}

Verdict kimi_delta_attention(const Kernel& kernel, const Case& c) {
  return reduce(kernel, c, {.beta = true, .scalar_g = false, .g = 1, .older = by_kda});
}
Verdict gated_delta_net(const Kernel& kernel, const Case& c) {
  return reduce(kernel, c, {.beta = true, .scalar_g = true, .g = 1, .older = by_gated_deltanet});
}
Verdict delta_net(const Kernel& kernel, const Case& c) {
  return reduce(kernel, c, {.beta = true, .scalar_g = false, .g = 0, .older = by_deltanet});
}
Verdict linear_attention(const Kernel& kernel, const Case& c) {
  return reduce(kernel, c,
                {.beta = false, .scalar_g = false, .g = 1, .older = by_linear_attention});
}

}  // namespace

std::vector<Law> reduction_laws() {
  constexpr auto kMargin = Law::Kind::kMargin;
  return {
      {"kimi_delta_attention", "b = w = one number a token: Kimi Delta Attention",
       kimi_delta_attention, kMargin},
      {"gated_deltanet", "and one decay a token: Gated DeltaNet", gated_delta_net, kMargin},
      {"deltanet", "and no decay: DeltaNet", delta_net, kMargin},
      {"linear_attention", "b = 0: gated linear attention of w v", linear_attention, kMargin},
  };
}

}  // namespace gdr2::laws
