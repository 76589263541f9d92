// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/diagnosis.hpp"

#include <algorithm>
#include <cmath>

#include "properties/judge/operand_shares.hpp"
#include "properties/judge/tolerances.hpp"
#include "reference/emulate.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

/// Indices that the wrong elements span along one axis.
struct Span {
  std::int64_t first = INT64_MAX, last = kNowhere;

  void take(std::int64_t i) {
    if (i == kNowhere) return;
    first = std::min(first, i);
    last = std::max(last, i);
  }
};

void say(std::string& text, const char* axis, const Span& span) {
  if (span.last == kNowhere) return;
  const auto comma = text.empty() ? "" : ", ";
  text += span.first == span.last
              ? fmt::format("{}{} {}", comma, axis, span.first)
              : fmt::format("{}{}s {} .. {}", comma, axis, span.first, span.last);
}

/// Contracts in which one site of `contract` rounds; sums and elementwise results count as one.
std::vector<Downgrade> one_site_each(const Contract& contract) {
  const auto exact = [&] {
    auto c = standard_contract(Format::kF64);
    c.direct_rows = contract.direct_rows;
    if (contract.token_by_token()) c.solve = Format::kNone;
    return c;
  }();
  std::vector<Downgrade> sites;
  const auto only = [&](const char* name, Format Contract::*site) {
    if (contract.*site == Format::kNone || contract.*site == exact.*site) return;
    auto c = exact;
    c.*site = contract.*site;
    sites.push_back({name, c});
  };
  only("operands", &Contract::operand);
  only("auxiliaries", &Contract::auxiliary);
  only("solve", &Contract::solve);
  only("state", &Contract::state);
  only("gate", &Contract::gate);
  only("normalized rows", &Contract::normalized);
  auto sums = exact;
  sums.accumulator = contract.accumulator;
  if (contract.accumulator != Format::kF64) sites.push_back({"sums and elementwise", sums});
  return sites;
}

/// Mean square error of a row over a few members of a contract's ensemble.
double row_variance(const Evidence& e, Name name, std::int64_t first, std::int64_t count,
                    const Contract& contract) {
  const auto& y = e.envelope.reference.at(name);
  std::vector<Name> stages;
  if (is_stage(name)) stages.push_back(name);
  double sum = 0;
  for (int n = 0; n < tolerance::kSiteMembers; ++n) {
    const auto x = emulate(e.problem, e.inputs, contract, RoundingMode::kStochastic, 1001 + n, stages);
    for (auto i = first; i < first + count; ++i) {
      const double error = x.at(name)[i] - y[i];
      sum += error * error;
    }
  }
  return sum / double(tolerance::kSiteMembers * count);
}

/// Puts named operands beside the last share, which is of all operands together and keeps what is left.
void name_operands(const Evidence& e, Name name, std::int64_t first, std::int64_t count,
                   std::vector<Share>& shares) {
  auto named = variance_by_operand(e, name, first, count, tolerance::kSiteMembers);
  double of_named = 0;
  for (const auto& share : named) of_named += share.share;
  const double all = shares.back().share;
  const double part = of_named > all ? all / of_named : 1;  // both are of few members
  shares.back() = {named.empty() ? "operands" : "other operands", all - part * of_named};
  for (auto& share : named) shares.push_back({"operand " + share.name, part * share.share});
}

}  // namespace

std::string where_beyond(const Evidence& e, Name name, double least,
                         const std::vector<Chunk>& chunks) {
  const auto& values = e.values.at(name);
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double z = std::fabs(e.z(name, i, values[i]));
    worst = std::isnan(z) ? HUGE_VAL : std::max(worst, z);
  }
  Span sequence, head, chunk, block, row, channel;
  std::int64_t count = 0;
  const Places places(e.problem, name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::fabs(e.z(name, i, values[i])) < std::min(least, worst)) continue;
    auto place = places[std::int64_t(i)];
    if (!chunks.empty() && place.sequence != kNowhere) {
      const auto& whole = chunks[place.sequence];
      place.sequence = whole.sequence, place.chunk = whole.index;
    }
    ++count;
    sequence.take(place.sequence), head.take(place.head), chunk.take(place.chunk);
    if (place.row != kNowhere) block.take(place.row / kBlock);
    row.take(place.row), channel.take(place.channel);
  }
  std::string text;
  say(text, "sequence", sequence);
  say(text, "head", head);
  say(text, "chunk", chunk);
  say(text, "16-row block", block);
  say(text, "row", row);
  say(text, "channel", channel);
  return fmt::format("{}: {} elements in {}", to_string(name), count, text);
}

std::vector<Share> variance_by_site(const Evidence& e, Name name, std::int64_t index) {
  const auto shape = shape_of(e.problem, name);
  const auto width = shape.size() == 1 ? std::int64_t{1} : shape.back(), first = index / width * width;
  std::vector<Share> shares;
  double sum = 0;
  for (const auto& [site, contract] : one_site_each(e.contract)) {
    shares.push_back({site, row_variance(e, name, first, width, contract)});
    sum += shares.back().share;
    if (site == "operands") name_operands(e, name, first, width, shares);
  }
  if (!(sum > 0) || !std::isfinite(sum)) return {};
  for (auto& share : shares) share.share /= sum;
  std::ranges::sort(shares, std::greater{}, &Share::share);
  std::erase_if(shares, [](const Share& s) { return s.share < 0.005; });
  return shares;
}

void name_site(const std::vector<SiteFit>& fits, Diagnosis& diagnosis) {
  for (const auto& fit : fits)
    if (fit.likeness > std::max(diagnosis.likeness, tolerance::kLeastLikeness))
      diagnosis.site = fit.site, diagnosis.likeness = fit.likeness;
}

}  // namespace gdr2
