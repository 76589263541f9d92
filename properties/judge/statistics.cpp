// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "properties/judge/places.hpp"
#include "properties/judge/tolerances.hpp"
#include "reference/error.hpp"
#include "reference/rounding.hpp"

namespace gdr2 {
namespace {

/// Sums of z^2 and z over a class: of the kernel, of the emulator, of each member of the ensemble. Members
/// are not stored: `stored` is the variance that the rounding of results adds to z, and its square.
struct Sums {
  std::int64_t count = 0;
  double kernel = 0, emulator = 0, bias = 0;  // bias: the kernel's z less the emulator's
  double stored = 0, stored_squares = 0;
  std::vector<double> members, members_signed;
};

struct ClassKind {
  const char* label;
  std::int64_t (*id)(const Place&);  // kNowhere: in no class of this kind
};

constexpr ClassKind kKinds[] = {
    {"", [](const Place&) { return std::int64_t{0}; }},
    {"head", [](const Place& p) { return p.head; }},
    {"row", [](const Place& p) { return p.row; }},
    {"rows of 16-block", [](const Place& p) { return p.row < 0 ? kNowhere : p.row / kBlock; }},
    {"tail", [](const Place& p) { return p.tail ? std::int64_t{0} : kNowhere; }},
    {"channels of 16-block",
     [](const Place& p) { return p.channel < 0 ? kNowhere : p.channel / kBlock; }},
};

using Classes = std::vector<Sums>;  // by id

void add(const Evidence& e, Name name, std::size_t i, Sums& sums) {
  const auto& members = e.envelope.members;
  sums.members.resize(members.size());
  sums.members_signed.resize(members.size());
  const double sigma = e.envelope.sigma.at(name)[i];
  const auto format = format_of(dtype_of(e.problem, name));
  const double rounding = ulp(e.envelope.reference.at(name)[i], format) / sigma;
  const double stored = std::isfinite(rounding) ? rounding * rounding / 12 : 0;
  const double kernel = e.z(name, i, e.values.at(name)[i]);
  const double emulator = e.z(name, i, e.nearest.at(name)[i]);
  ++sums.count;
  sums.kernel += kernel * kernel;
  sums.emulator += emulator * emulator;
  sums.bias += kernel - emulator;
  sums.stored += stored;
  sums.stored_squares += stored * stored;
  for (std::size_t n = 0; n < members.size(); ++n) {
    const double z = members[n].at(name)[i] / sigma;
    sums.members[n] += z * z;
    sums.members_signed[n] += z;
  }
}

struct Spread {
  double mean, deviation;
};
Spread spread_of(const std::vector<double>& x) {
  double sum = 0, squares = 0;
  for (double value : x) sum += value;
  const double mean = sum / double(x.size());
  for (double value : x) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / double(x.size() - 1))};
}

/// rms(z of the kernel) / rms(z of the emulator), and its limit. The emulator is one draw too: where it
/// happens to sit low, half of the ensemble's mean square stands in for it (stochastic rounding has
/// twice the variance).
Figure ratio_of(const Sums& s) {
  const auto members = spread_of(s.members);
  const double base = std::max({s.emulator, members.mean / 2 + s.stored,
                                double(s.count) * tolerance::kLeastRms * tolerance::kLeastRms});
  // The square of a uniform error has 0.8 of its variance as standard deviation, squared.
  const double deviation =
      std::sqrt(members.deviation * members.deviation / 4 + 0.8 * s.stored_squares);
  const double scatter = std::max(deviation / base, std::sqrt(2 / double(s.count)));
  return {"statistics", "", std::sqrt(s.kernel / base),
          1 + tolerance::kRatioMargin + tolerance::kRatioScatter * scatter / std::sqrt(2.0)};
}

/// |mean z| beyond the emulator's, in standard deviations: a member has twice the variance of rounding
/// to nearest, which is that of the difference of two; results are rounded twice. Where the members
/// hardly spread, sigma comes from what none of them does (flushing), and a kernel may do it everywhere.
Figure bias_of(const Sums& s) {
  double squares = 0;
  for (double sum : s.members_signed) squares += sum * sum;
  const double variance =
      std::max(squares / double(s.members_signed.size()) + 2 * s.stored,
               double(s.count) * tolerance::kLeastRms * tolerance::kLeastRms);
  return {"bias", "", std::fabs(s.bias) / std::sqrt(variance), tolerance::kBias};
}

/// Rounding happened here: an exact class has nothing to be compared with.
bool explained(const Sums& s) {
  return s.stored > 0 || std::any_of(s.members.begin(), s.members.end(), [](double x) { return x > 0; });
}

/// Keeps the figure that is closest to its limit or furthest beyond it.
void keep_worse(Figure& worst, Figure figure, std::string what) {
  const auto excess = [](const Figure& f) { return f.allowed > 0 ? f.value / f.allowed : 0; };
  if (!worst.what.empty() && !(excess(figure) > excess(worst))) return;
  worst = std::move(figure);
  worst.what = std::move(what);
}

/// Below the accumulator's normal numbers: a kernel may flush it, and do so everywhere alike.
bool may_be_flushed(const Contract& contract, double y) {
  return std::fabs(y) < tolerance::kFlushed * rounding::exp2i(traits(contract.accumulator).min_exponent);
}

}  // namespace

std::vector<Figure> judge_statistics(const Evidence& e) {
  Figure ratio{"statistics"}, bias{"bias"};
  for (const auto& [name, values] : e.values) {
    if (tolerance::sums_decide(e.contract, name)) continue;  // one order is one draw for many elements
    const Places places(e.problem, name);
    const auto& sigma = e.envelope.sigma.at(name);
    const auto& y = e.envelope.reference.at(name);
    std::vector<Classes> kinds(std::size(kKinds));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!(sigma[i] > 0) || !std::isfinite(values[i]) || may_be_flushed(e.contract, y[i])) continue;
      const auto place = places[std::int64_t(i)];
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        const auto id = kKinds[kind].id(place);
        if (id < 0) continue;
        if (std::ssize(kinds[kind]) <= id) kinds[kind].resize(id + 1);
        add(e, name, i, kinds[kind][id]);
      }
    }
    for (std::size_t kind = 0; kind < kinds.size(); ++kind)
      for (std::size_t id = 0; id < kinds[kind].size(); ++id) {
        const auto& sums = kinds[kind][id];
        if (sums.count < tolerance::kLeastOfClass || !explained(sums)) continue;
        const auto what = kind == 0 ? std::string(to_string(name))
                                    : fmt::format("{} {} {}", to_string(name), kKinds[kind].label, id);
        keep_worse(ratio, ratio_of(sums), what);
        if (kind < 2) keep_worse(bias, bias_of(sums), what);
      }
  }
  return {ratio, bias};
}

}  // namespace gdr2
