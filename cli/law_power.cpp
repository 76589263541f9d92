// SPDX-License-Identifier: Apache-2.0
#include "cli/law_power.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
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

/// Law by law on a few threads, in the order of the laws.
std::vector<LawRecord> measure(const std::vector<Law>& laws, const std::vector<Case>& cases,
                               const std::set<std::string>& faults, int count) {
  std::vector<LawRecord> records(laws.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = 0; noted_signal() == 0 && (i = next++) < laws.size();)
      records[i] = record_of(laws[i], power::power_of_law(laws[i], cases, faults));
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work);
  threads.clear();  // joins
  return records;
}

}  // namespace

int law_power(const std::vector<Law>& laws, const std::vector<Case>& cases,
              const LawPowerOptions& options, const std::vector<std::string>& argv) {
  auto head = new_run(argv);
  if (!options.json.empty()) must_be_writable(options.json);
  note_signals();
  const auto start = std::chrono::steady_clock::now();
  LawStudy study;
  std::set<std::string> names;
  for (const auto& c : cases) study.cases.push_back(to_string(c));
  for (const auto* fault : power::sample_of_kinds(options.faults, kSampleSeed)) {
    study.faults[fault->name] = fault->kind;
    names.insert(fault->name);
  }
  study.laws = measure(laws, cases, names, options.threads);
  if (const int signal = noted_signal()) die_of(signal);
  head.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  head.complete = true;
  if (!options.json.empty()) write_study(options.json, head, "laws", laws_to_json(study));
  std::cout << laws_text(study);
  return std::ranges::all_of(study.laws, [](const auto& law) {
    return !law.faults.empty() && law.alarms.empty();
  }) ? 0 : 1;
}

}  // namespace gdr2
