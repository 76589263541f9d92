// SPDX-License-Identifier: Apache-2.0
#include "properties/search/search.hpp"

#include <optional>

#include "fixtures/activation_file.hpp"
#include "properties/judge/check.hpp"
#include "properties/laws/law.hpp"
#include "properties/search/generator.hpp"
#include "properties/search/shrink.hpp"
#include "reference/error.hpp"

namespace gdr2::search {
namespace {

/// Laws that cost no envelope, one a case in turn.
const Law& law_in_turn(std::int64_t number) {
  static const std::vector<Law> cheap = [] {
    std::vector<Law> laws;
    for (const auto& law : all_laws())
      if (law.kind != Law::Kind::kMargin) laws.push_back(law);
    return laws;
  }();
  return cheap[number % std::ssize(cheap)];
}

std::uint64_t hash_of(const Tensors& tensors) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const auto& [name, tensor] : tensors) {
    const auto dense = tensor.clone();
    for (const auto byte : *dense.storage()) hash = (hash ^ std::uint8_t(byte)) * 0x100000001B3u;
  }
  return hash;
}

/// The case as the kernel takes it: as it was drawn, or its forward alone.
std::optional<Case> as_taken(const Kernel& kernel, Case c) {
  if (!kernel.unsupported(c.problem)) return c;
  c.problem.backward = false;
  if (kernel.unsupported(c.problem)) return std::nullopt;
  if (c.given) {
    auto inputs = *c.given;
    inputs.erase(Name::do_), inputs.erase(Name::dht);
    c.given = std::make_shared<const Tensors>(std::move(inputs));
  }
  return c;
}

}  // namespace

Verdict examine(const Kernel& kernel, const Case& c, const std::string& law) {
  if (!law.empty()) return find_law(law).check(kernel, c);
  CheckOptions options;
  options.local = options.statistics = options.contract = options.diagnosis = false;
  return check(kernel, c, options);
}

Finding minimize(const Kernel& kernel, const Case& c, const Verdict& verdict,
                 const std::string& law, int budget) {
  const auto still_fails = [&](const Case& candidate) {
    const auto other = examine(kernel, candidate, law);
    return other.state == verdict.state && other.leg == verdict.leg;
  };
  const auto shrunk = shrink(c, still_fails, budget);
  return {c, shrunk.c, examine(kernel, shrunk.c, law), law, shrunk.evaluations};
}

Outcome search(const Kernel& kernel, const Options& options, const GoOn& go_on) {
  Outcome outcome;
  for (std::int64_t n = 0; go_on(outcome.judged, outcome.findings); ++n) {
    const auto c = as_taken(kernel, draw_case(options.seed, n, options.dtypes));
    if (!c) {
      ++outcome.skipped;
      continue;
    }
    for (const auto& law : {std::string(), law_in_turn(n).name})
      if (const auto verdict = examine(kernel, *c, law); accuses(verdict)) {
        outcome.findings.push_back(minimize(kernel, *c, verdict, law, options.budget));
        break;
      }
    outcome.coverage.add(*c);
    ++outcome.judged;
    if (std::ssize(outcome.findings) >= options.findings) break;
  }
  return outcome;
}

std::string save_finding(const Finding& finding, const std::filesystem::path& folder,
                         const std::string& name, std::map<std::string, std::string> info) {
  std::filesystem::create_directories(folder);
  const auto& c = finding.minimal;
  info["origin"] = to_string(finding.origin);
  info["reason"] = finding.verdict.reason;
  if (!finding.law.empty()) info["law"] = finding.law;
  auto saved = c;
  saved.given = nullptr;
  saved.file = "x";
  info["line"] = to_string(saved).substr(std::string("file=x ").size());
  saved.file = folder / fmt::format("{}_{:08x}.safetensors", name, hash_of(*c.given) & 0xFFFFFFFFu);
  write_activations(saved.file, {c.problem, *c.given, {}, info});
  return to_string(saved);
}

bool replays(const Kernel& kernel, const Finding& finding, const std::string& line) {
  const auto c = parse_case(line);
  if (hash_of(make_inputs(c)) != hash_of(make_inputs(finding.minimal))) return false;
  const auto again = examine(kernel, c, finding.law);
  return again.state == finding.verdict.state && again.leg == finding.verdict.leg &&
         again.reason == finding.verdict.reason;
}

}  // namespace gdr2::search
