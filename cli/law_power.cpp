// SPDX-License-Identifier: Apache-2.0
#include "cli/law_power.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "cli/interrupt.hpp"
#include "properties/power/fault.hpp"
#include "properties/power/law_study.hpp"
#include "reports/environment.hpp"
#include "reports/json_file.hpp"
#include "reports/law_power.hpp"
#include "reports/study_file.hpp"

namespace gdr2 {
namespace {

constexpr std::uint64_t kSampleSeed = 1;

const char* name_of(Law::Kind kind) {
  switch (kind) {
    case Law::Kind::kBits: return "bits";
    case Law::Kind::kBalance: return "balance";
    case Law::Kind::kMargin: return "margin";
  }
  return "";
}

LawRecord record_of(const Law& law, const power::LawPower& power) {
  LawRecord record{.name = law.name, .kind = name_of(law.kind), .statement = law.statement};
  record.spoken = power.spoken;
  record.alarms = power.alarms;
  for (const auto& caught : power.caught) record.faults.push_back(caught.fault);
  if (!power.caught.empty()) {
    const auto& first = power.caught.front();
    record.example = first.fault, record.line = first.line, record.reason = first.reason;
  }
  return record;
}

constexpr std::size_t kPart = 22;  // faults of one piece of work: one of every kind

/// Some of the faults against every law.
struct Part {
  std::set<std::string> faults;
  std::vector<std::optional<power::LawPower>> laws;

  bool is_complete() const {
    return std::ranges::all_of(laws, [](const auto& power) { return power.has_value(); });
  }
};

std::vector<Part> parts_of(const std::vector<const power::Fault*>& faults, std::size_t laws) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (i % kPart == 0) parts.push_back({{}, std::vector<std::optional<power::LawPower>>(laws)});
    parts.back().faults.insert(faults[i]->name);
  }
  return parts;
}

/// Part by part on a few threads, so that what a signal leaves is every law against the first faults.
void measure(const std::vector<Law>& laws, const std::vector<Case>& cases, std::vector<Part>& parts,
             int count) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = 0; noted_signal() == 0 && (i = next++) < parts.size() * laws.size();) {
      const auto law = i % laws.size();
      auto& part = parts[i / laws.size()];
      part.laws[law] =
          power::power_of_law(laws[law], cases, part.faults, [] { return noted_signal() != 0; });
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work);
  threads.clear();  // joins
}

/// What the parts say of one law, its faults in the order of faults().
power::LawPower joined(const std::vector<Part>& parts, std::size_t law) {
  power::LawPower whole;
  for (const auto& part : parts) {
    const auto& power = *part.laws[law];
    whole.spoken = power.spoken, whole.alarms = power.alarms;
    whole.caught.insert(whole.caught.end(), power.caught.begin(), power.caught.end());
  }
  std::map<std::string, std::size_t> place;
  for (const auto& fault : power::faults()) place.emplace(fault.name, place.size());
  std::ranges::sort(whole.caught, {}, [&](const auto& caught) { return place.at(caught.fault); });
  return whole;
}

}  // namespace

int law_power(const std::vector<Law>& laws, const std::vector<Case>& cases,
              const LawPowerOptions& options, const std::vector<std::string>& argv) {
  auto head = new_run(argv);
  if (!options.json.empty()) must_be_writable(options.json);
  note_signals();
  const auto start = std::chrono::steady_clock::now();
  auto parts = parts_of(power::sample_of_kinds(options.faults, kSampleSeed), laws.size());
  measure(laws, cases, parts, options.threads);
  std::erase_if(parts, [](const Part& part) { return !part.is_complete(); });
  LawStudy study;
  for (const auto& c : cases) study.cases.push_back(to_string(c));
  for (const auto& part : parts)
    for (const auto& name : part.faults) study.faults[name] = power::find_fault(name).kind;
  for (std::size_t i = 0; i < laws.size(); ++i)
    study.laws.push_back(record_of(laws[i], joined(parts, i)));
  head.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  head.complete = noted_signal() == 0;
  if (!options.json.empty()) write_study(options.json, head, "laws", laws_to_json(study));
  std::cout << laws_text(study) << std::flush;
  if (const int signal = noted_signal()) die_of(signal);
  return std::ranges::all_of(study.laws, [](const auto& law) {
    return !law.faults.empty() && law.alarms.empty();
  }) ? 0 : 1;
}

}  // namespace gdr2
