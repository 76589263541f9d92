// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/downgrades.hpp"

#include <cmath>

#include "properties/judge/tolerances.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

struct Site {
  const char* name;
  Format Contract::*format;
};
constexpr Site kSites[] = {{"operands", &Contract::operand}, {"solve", &Contract::solve},
                           {"state", &Contract::state},      {"gate", &Contract::gate},
                           {"sums", &Contract::accumulator}};

/// Inner products of normalised errors: of x with the declared emulator's (0) and with what the
/// downgrade adds to it (s).
struct Products {
  double x0 = 0, xs = 0, xx = 0;
};

struct Gram {
  double e00 = 0, e0s = 0, ess = 0;
  std::int64_t count = 0;
  double left_left = 0, left_s = 0;  // x - e0 of the kernel
  Products kernel;
  std::vector<Products> members;
};

void add(double x, double e0, double es, Products& p) {
  p.x0 += x * e0;
  p.xs += x * es;
  p.xx += x * x;
}

Gram gram_of(const Evidence& e, const Values<double>& downgraded) {
  Gram gram;
  gram.members.resize(e.envelope.members.size());
  for (const auto& [name, lowered] : downgraded) {
    const auto& sigma = e.envelope.sigma.at(name);
    const auto &values = e.values.at(name), &nearest = e.nearest.at(name);
    for (std::size_t i = 0; i < lowered.size(); ++i) {
      if (!(sigma[i] > 0) || !std::isfinite(lowered[i]) || !std::isfinite(values[i])) continue;
      const double e0 = e.z(name, i, nearest[i]), es = (lowered[i] - nearest[i]) / sigma[i];
      const double x = e.z(name, i, values[i]);
      ++gram.count;
      gram.e00 += e0 * e0, gram.e0s += e0 * es, gram.ess += es * es;
      gram.left_left += (x - e0) * (x - e0), gram.left_s += (x - e0) * es;
      add(x, e0, es, gram.kernel);
      for (std::size_t n = 0; n < gram.members.size(); ++n)
        add(e.envelope.members[n].at(name)[i] / sigma[i], e0, es, gram.members[n]);
    }
  }
  return gram;
}

/// x = c e0 + a es + rest, least squares.
struct Solution {
  double a, rest;
};
Solution solve(const Gram& g, const Products& x) {
  const double det = g.e00 * g.ess - g.e0s * g.e0s;
  // Without a declared error (an exact case), or one just like the downgrade's, es alone.
  if (!(det > 1e-6 * g.e00 * g.ess)) {
    const double a = x.xs / g.ess;
    return {a, std::max(0.0, x.xx - a * x.xs)};
  }
  const double a = (g.e00 * x.xs - g.e0s * x.x0) / det, c = (g.ess * x.x0 - g.e0s * x.xs) / det;
  return {a, std::max(0.0, x.xx - c * x.x0 - a * x.xs)};
}

SiteFit fit(const std::string& site, const Gram& g) {
  SiteFit fit{.site = site};
  if (!(g.ess > 0)) return fit;
  const auto kernel = solve(g, g.kernel);
  double squares = 0, rest = 0;
  for (const auto& member : g.members) {
    const auto [a, left] = solve(g, member);
    squares += a * a;
    rest += left;
  }
  fit.coefficient = kernel.a;
  // The members' scatter, for a kernel that leaves less over than a member does.
  fit.deviation = rest > 0 ? std::sqrt(squares / double(g.members.size()) * kernel.rest /
                                       (rest / double(g.members.size())))
                           : 0;
  fit.effect = g.e00 > 0 ? std::sqrt(g.ess / g.e00) : HUGE_VAL;
  fit.likeness = g.left_left > 0 ? g.left_s / std::sqrt(g.left_left * g.ess) : 0;
  return fit;
}

double sureness(const SiteFit& f) {
  if (!(f.effect >= tolerance::kLeastEffect)) return 0;
  return f.coefficient / std::max(tolerance::kLeastCoefficient, tolerance::kSure * f.deviation);
}

/// fp64 in fp32; wider formats than bf16 in bf16; fp32 in tf32 where matrix instructions do that.
bool may_become(Format Contract::*site, Format declared, Format format) {
  if (declared == Format::kF64) return format == Format::kF32;
  if (traits(format).precision >= traits(declared).precision) return false;
  if (format == Format::kTF32) return site == &Contract::operand || site == &Contract::solve;
  return format == Format::kBF16;
}

}  // namespace

std::vector<Downgrade> downgrades_of(const Contract& declared, const Problem& problem) {
  std::vector<Downgrade> downgrades;
  const auto lower = [&](const char* name, Format Contract::*site, Format format) {
    auto contract = declared;
    contract.*site = format;
    downgrades.push_back({fmt::format("{} in {}", name, to_string(format)), contract});
  };
  for (const auto& [name, site] : kSites)
    for (auto format : {Format::kF32, Format::kTF32, Format::kBF16})
      if (declared.*site != Format::kNone && may_become(site, declared.*site, format))
        lower(name, site, format);
  if (!declared.token_by_token() && declared.auxiliary == Format::kNone)
    lower("auxiliaries", &Contract::auxiliary, Format::kBF16);
  if (problem.l2norm && declared.normalized == Format::kNone)
    lower("normalized rows", &Contract::normalized, Format::kBF16);
  return downgrades;
}

std::vector<SiteFit> fit_downgrades(const Evidence& evidence) {
  std::vector<SiteFit> fits;
  for (const auto& [name, contract] : downgrades_of(evidence.contract, evidence.problem))
    fits.push_back(fit(name, gram_of(evidence, emulated_as_stored(evidence, contract))));
  return fits;
}

Figure contract_figure(const std::vector<SiteFit>& fits) {
  Figure figure{"contract", "", 0, 1};
  double likeness = -1;
  for (const auto& f : fits) {
    const double sure = sureness(f);
    // Of several that are sure, the one that looks most like the error.
    const bool better = sure > 1 ? figure.value <= 1 || f.likeness > likeness
                                 : figure.value <= 1 && sure >= figure.value;
    if (!better) continue;
    likeness = f.likeness;
    figure.value = sure;
    figure.what = fmt::format("{}: coefficient {:.2f} +- {:.2f}, effect {:.2f} of the rms error", f.site,
                              f.coefficient, f.deviation, f.effect);
  }
  return figure;
}

}  // namespace gdr2
