// SPDX-License-Identifier: Apache-2.0
// E1 to E5 (docs/MATH.md 6): sums of inputs times their gradients that cancel for every loss. Each is
// a balance: its terms are added up beside the size that their errors can have, and what is left over
// must be below a multiple of that (docs/NUMERICS.md, Laws of balance).
#include <cmath>
#include <utility>

#include "properties/laws/balance.hpp"
#include "properties/laws/family.hpp"

namespace gdr2::laws {
namespace {

const char* never(const Problem&) { return nullptr; }

const char* with_norm(const Problem& p) {
  return p.l2norm ? "with the L2 norm in the kernel q and k are not those of the law" : nullptr;
}

const char* without_norm(const Problem& p) { return p.l2norm ? nullptr : "no L2 norm in the kernel"; }

const char* unasked_state(const Problem& p) {
  return p.has_dht() && !p.ht ? "the loss sees a final state that is not asked for" : nullptr;
}

const char* other_decays(const Problem& p) {
  if (const auto* reason = with_norm(p)) return reason;
  if (p.gate != Gate::kLog) return "with a gate in the kernel dg is not that of the law";
  return unasked_state(p);
}

/// sum over the value heads of key head h of o do
void add_output(Balance& sum, double sign, const Figures& x, std::int64_t n, std::int64_t t,
                std::int64_t h) {
  if (!x.problem().has_do()) return;
  const auto group = x.problem().group();
  for (auto hv = h * group; hv < (h + 1) * group; ++hv)
    for (std::int64_t v = 0; v < x.problem().V; ++v)
      sum.add(sign, x.at(Name::do_, t, hv, v), x.at(Name::o, t, hv, v), x.size(Name::o, n, hv));
}

/// E1
Violation query_balance(const Figures& x) {
  return x.each_token([&](std::int64_t n, std::int64_t t, std::int64_t h) {
    Balance sum;
    for (std::int64_t k = 0; k < x.problem().K; ++k)
      sum.add(1, x.at(Name::q, t, h, k), x.at(Name::dq, t, h, k), x.size(Name::dq, n, h));
    add_output(sum, -1, x, n, t, h);
    return x.violation(sum, "q dq = o do", n, t, h);
  });
}

/// E2
Violation write_balance(const Figures& x) {
  return x.each_token([&](std::int64_t n, std::int64_t t, std::int64_t h) -> Violation {
    const auto group = x.problem().group();
    for (auto hv = h * group; hv < (h + 1) * group; ++hv)
      for (std::int64_t v = 0; v < x.problem().V; ++v) {
        Balance sum;
        sum.add(1, x.at(Name::w, t, hv, v), x.at(Name::dw, t, hv, v), x.size(Name::dw, n, hv));
        sum.add(-1, x.at(Name::v, t, hv, v), x.at(Name::dv, t, hv, v), x.size(Name::dv, n, hv));
        if (auto found = x.violation(sum, "w dw = v dv", n, t, hv, v)) return found;
      }
    return std::nullopt;
  });
}

/// sum over a state of S dS, of which the kernel gave one
void add_state(Balance& sum, double sign, const Figures& x, Name given, Name result, std::int64_t n,
               std::int64_t hv) {
  for (std::int64_t k = 0; k < x.problem().K; ++k)
    for (std::int64_t v = 0; v < x.problem().V; ++v)
      sum.add(sign, x.state(given, n, hv, k, v), x.state(result, n, hv, k, v),
              x.size(result, n, hv));
}

/// E3
Violation linearity_balance(const Figures& x) {
  const auto& p = x.problem();
  const auto sequences = p.sequences();
  for (std::int64_t n = 0; n < p.N(); ++n)
    for (std::int64_t hv = 0; hv < p.HV; ++hv) {
      Balance sum;
      for (auto t = sequences[n].begin; t < sequences[n].end; ++t)
        for (std::int64_t v = 0; v < p.V; ++v) {
          if (p.has_do())
            sum.add(1, x.at(Name::do_, t, hv, v), x.at(Name::o, t, hv, v),
                    x.size(Name::o, n, hv));
          sum.add(-1, x.at(Name::v, t, hv, v), x.at(Name::dv, t, hv, v), x.size(Name::dv, n, hv));
        }
      if (p.has_dht()) add_state(sum, 1, x, Name::dht, Name::ht, n, hv);
      if (p.h0) add_state(sum, -1, x, Name::h0, Name::dh0, n, hv);
      if (auto found = x.violation(sum, "o do + S_T dS_T = v dv + S_0 dS_0", n, -1, hv))
        return found;
    }
  return std::nullopt;
}

/// sum over the value heads of key head h, and over v, of row k of S * dS
void add_state_row(Balance& sum, double sign, const Figures& x, Name given, Name result,
                   std::int64_t n, std::int64_t h, std::int64_t k) {
  const auto group = x.problem().group();
  for (auto hv = h * group; hv < (h + 1) * group; ++hv)
    for (std::int64_t v = 0; v < x.problem().V; ++v)
      sum.add(sign, x.state(given, n, hv, k, v), x.state(result, n, hv, k, v),
              x.size(result, n, hv));
}

/// The size of what a chunk kernel adds up to dg: one side of E4 over the rows of a chunk.
double size_of_dg(const Figures& x, std::int64_t n, std::int64_t h) {
  const double dg = x.size(Name::dg, n, h);
  const double side = std::hypot(x.size_of_product(Name::q, Name::dq, n, h),
                                 x.size_of_product(Name::k, Name::dk, n, h),
                                 2 * x.size_of_product(Name::b, Name::db, n, h));
  return std::hypot(dg, std::sqrt(double(kChunk)) * side);
}

/// One side of E4: q dq + 2 b db - k dk of a token and channel.
void add_channel(Balance& sum, double sign, const Figures& x, std::int64_t n, std::int64_t t,
                 std::int64_t h, std::int64_t k) {
  sum.add(sign, x.at(Name::q, t, h, k), x.at(Name::dq, t, h, k), x.size(Name::dq, n, h));
  sum.add(2 * sign, x.at(Name::b, t, h, k), x.at(Name::db, t, h, k), x.size(Name::db, n, h));
  sum.add(-sign, x.at(Name::k, t, h, k), x.at(Name::dk, t, h, k), x.size(Name::dk, n, h));
}

/// E4
Violation decay_balance(const Figures& x) {
  const auto& p = x.problem();
  const auto sequences = p.sequences();
  std::vector<double> sizes;  // [N, H]
  for (std::int64_t i = 0; i < p.N() * p.H; ++i) sizes.push_back(size_of_dg(x, i / p.H, i % p.H));
  return x.each_token([&](std::int64_t n, std::int64_t t, std::int64_t h) -> Violation {
    const auto s = sequences[n];
    const auto size = sizes[n * p.H + h];
    for (std::int64_t k = 0; k < p.K; ++k) {
      Balance sum;
      sum.add(1, 1, x.at(Name::dg, t, h, k), size);
      if (t + 1 < s.end)
        sum.add(-1, 1, x.at(Name::dg, t + 1, h, k), size);
      else if (p.has_dht())
        add_state_row(sum, -1, x, Name::dht, Name::ht, n, h, k);
      add_channel(sum, -1, x, n, t, h, k);
      if (auto found = x.violation(sum, "dg_t - dg_t+1 = q dq + 2 b db - k dk", n, t, h, k))
        return found;
      if (t != s.begin) continue;
      Balance first;
      first.add(1, 1, x.at(Name::dg, t, h, k), size);
      if (p.h0) add_state_row(first, -1, x, Name::h0, Name::dh0, n, h, k);
      if (auto found = x.violation(first, "dg_1 = S_0 dS_0", n, t, h, k)) return found;
    }
    return std::nullopt;
  });
}

/// E5, for q: sum_c x dx = eps r^2 sum_v o do
Violation norm_balance(const Figures& x) {
  return x.each_token([&](std::int64_t n, std::int64_t t, std::int64_t h) {
    Balance sum;
    double square = kL2NormEpsilon;
    for (std::int64_t k = 0; k < x.problem().K; ++k) {
      const double q = x.at(Name::q, t, h, k);
      square += q * q;
      sum.add(1, q, x.at(Name::dq, t, h, k), x.size(Name::dq, n, h));
    }
    add_output(sum, -kL2NormEpsilon / square, x, n, t, h);
    return x.violation(sum, "q dq = eps r^2 o do", n, t, h);
  });
}

struct Conservation {
  const char *name, *statement;
  const char* (*not_of)(const Problem&);  ///< why it is no law of a problem, or nullptr
  Violation (*violation)(const Figures&);
};

constexpr Conservation kConservations[] = {
    {"query_balance", "per token: q dq = o do (E1)", with_norm, query_balance},
    {"write_balance", "per token and value channel: w dw = v dv (E2)", never, write_balance},
    {"linearity_balance", "per sequence: o do + S_T dS_T = v dv + S_0 dS_0 (E3)", unasked_state,
     linearity_balance},
    {"decay_balance", "per token and key channel: dg_t - dg_t+1 = q dq + 2 b db - k dk, dg_1 = S_0 dS_0 (E4)",
     other_decays, decay_balance},
    {"norm_balance", "with the L2 norm in the kernel: q dq = 0, but for the epsilon (E5)", without_norm,
     norm_balance},
};

/// Runs the kernel and hands inputs and results over as figures.
Verdict run_and_balance(const Conservation& law, const Kernel& kernel, const Case& c) {
  if (!c.problem.backward) return skipped("forward only");
  if (!kernel.omitted(c.problem).empty())
    return skipped("the kernel does not give the gradients of gates that it ties");
  if (const auto* reason = law.not_of(c.problem)) return skipped(reason);
  return judge(c, [&](const Call& call) -> Violation {
    auto all = run(kernel, call);
    for (const auto& [name, tensor] : call.inputs) all[name] = tensor;
    return law.violation(Figures(call.problem, all, unit_of(kernel.contract(call.problem), call.problem)));
  });
}

template <std::size_t i>
Verdict checked(const Kernel& kernel, const Case& c) {
  return run_and_balance(kConservations[i], kernel, c);
}

template <std::size_t... i>
std::vector<Law> laws_of(std::index_sequence<i...>) {
  return {Law{kConservations[i].name, kConservations[i].statement, checked<i>, Law::Kind::kBalance}...};
}

}  // namespace

std::vector<Law> conservation_laws() {
  return laws_of(std::make_index_sequence<std::size(kConservations)>());
}

std::vector<Balanced> balances(const Problem& problem, const Contract& contract, const Tensors& tensors) {
  std::vector<Balanced> found;
  if (!problem.backward) return found;
  const Figures figures(problem, tensors, unit_of(contract, problem));
  for (const auto& law : kConservations)
    if (!law.not_of(problem)) found.push_back({law.name, law.violation(figures)});
  return found;
}

}  // namespace gdr2::laws
