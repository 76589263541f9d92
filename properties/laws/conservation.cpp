// SPDX-License-Identifier: Apache-2.0
// E1 to E5 (docs/MATH.md 6): sums of inputs times their gradients that cancel for every loss. Each is
// a balance: its terms are added up beside the size that their errors can have, and what is left over
// must be below a multiple of that (docs/NUMERICS.md, Laws of balance).
#include <cmath>

#include "properties/laws/balance.hpp"
#include "properties/laws/family.hpp"

namespace gdr2::laws {
namespace {

constexpr const char* kForwardOnly = "forward only";
constexpr const char* kTied = "the kernel does not give the gradients of gates that it ties";
constexpr const char* kNorm = "with the L2 norm in the kernel q and k are not those of the law";
constexpr const char* kGate = "with a gate in the kernel dg is not that of the law";
constexpr const char* kNoFinalState = "the loss sees a final state that is not asked for";

/// Runs the kernel and hands inputs and results over as figures.
template <class Body>
Verdict balance(const Kernel& kernel, const Case& c, const Body& body) {
  if (!c.problem.backward) return skipped(kForwardOnly);
  if (!kernel.omitted(c.problem).empty()) return skipped(kTied);
  return judge(c, [&](const Call& call) -> Violation {
    auto all = run(kernel, call);
    for (const auto& [name, tensor] : call.inputs) all[name] = tensor;
    return body(Figures(call.problem, all, unit_of(kernel.contract(call.problem), call.problem)));
  });
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
Verdict query_balance(const Kernel& kernel, const Case& c) {
  if (c.problem.l2norm) return skipped(kNorm);
  return balance(kernel, c, [](const Figures& x) {
    return x.each_token([&](std::int64_t n, std::int64_t t, std::int64_t h) {
      Balance sum;
      for (std::int64_t k = 0; k < x.problem().K; ++k)
        sum.add(1, x.at(Name::q, t, h, k), x.at(Name::dq, t, h, k), x.size(Name::dq, n, h));
      add_output(sum, -1, x, n, t, h);
      return x.violation(sum, "q dq = o do", n, t, h);
    });
  });
}

/// E2
Verdict write_balance(const Kernel& kernel, const Case& c) {
  return balance(kernel, c, [](const Figures& x) {
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
Verdict linearity_balance(const Kernel& kernel, const Case& c) {
  if (c.problem.has_dht() && !c.problem.ht) return skipped(kNoFinalState);
  return balance(kernel, c, [](const Figures& x) -> Violation {
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
  });
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
Verdict decay_balance(const Kernel& kernel, const Case& c) {
  if (c.problem.l2norm) return skipped(kNorm);
  if (c.problem.gate != Gate::kLog) return skipped(kGate);
  if (c.problem.has_dht() && !c.problem.ht) return skipped(kNoFinalState);
  return balance(kernel, c, [](const Figures& x) {
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
  });
}

/// E5, for q: sum_c x dx = eps r^2 sum_v o do
Verdict norm_balance(const Kernel& kernel, const Case& c) {
  if (!c.problem.l2norm) return skipped("no L2 norm in the kernel");
  return balance(kernel, c, [](const Figures& x) {
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
  });
}

}  // namespace

std::vector<Law> conservation_laws() {
  constexpr auto kBalance = Law::Kind::kBalance;
  return {
      {"query_balance", "per token: q dq = o do (E1)", query_balance, kBalance},
      {"write_balance", "per token and value channel: w dw = v dv (E2)", write_balance, kBalance},
      {"linearity_balance", "per sequence: o do + S_T dS_T = v dv + S_0 dS_0 (E3)",
       linearity_balance, kBalance},
      {"decay_balance",
       "per token and key channel: dg_t - dg_t+1 = q dq + 2 b db - k dk, dg_1 = S_0 dS_0 (E4)",
       decay_balance, kBalance},
      {"norm_balance", "with the L2 norm in the kernel: q dq = 0, but for the epsilon (E5)",
       norm_balance, kBalance},
  };
}

}  // namespace gdr2::laws
