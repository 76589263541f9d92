// SPDX-License-Identifier: Apache-2.0
#include "reports/calibration.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gdr2 {
namespace {

using Json = nlohmann::ordered_json;

/// Of all orders of a kernel and dtype together; rows by recipe hold every element once.
std::map<std::string, CalibrationSums> totals(const Calibration& c) {
  std::map<std::string, CalibrationSums> sums;
  for (const auto& [key, row] : c.rows)
    if (key.by == "recipe") sums[key.kernel + ' ' + key.dtype].add(row);
  return sums;
}

Json to_json(const CalibrationProgress& p) {
  return {{"first", p.first}, {"next", p.next}, {"seconds", p.seconds}, {"verdicts", p.verdicts}};
}

CalibrationProgress progress_from(const JsonField& field) {
  CalibrationProgress p{field["first"].integer(), field["next"].integer(), field["seconds"].number(), {}};
  for (const auto& [state, n] : field["verdicts"].members()) p.verdicts[state] = n.integer();
  return p;
}

Json to_json(const CalibrationKey& key, const CalibrationSums& row) {
  return {{"kernel", key.kernel},     {"dtype", key.dtype},       {"contract", key.contract},
          {"order", key.order},       {"by", key.by},             {"value", key.value},
          {"elements", row.elements}, {"beyond", row.beyond},     {"max_z", row.max_z},
          {"rms_z", row.rms()},       {"bias", row.bias()},       {"sum_z", row.sum_z},
          {"sum_z2", row.sum_z2},     {"worst", row.worst},       {"explained", row.explained}};
}

/// Sums over all rows that a projection of their keys takes to one name.
template <class Name>
std::map<std::string, CalibrationSums> by(const Calibration& c, const Name& name) {
  std::map<std::string, CalibrationSums> sums;
  for (const auto& [key, row] : c.rows)
    if (const auto text = name(key); !text.empty()) sums[text].add(row);
  return sums;
}

std::string table(const char* title, const std::map<std::string, CalibrationSums>& sums) {
  auto text = fmt::format("\n{}\n  {:<34}{:>15}{:>9}{:>9}{:>11}\n", title, "", "elements", "max z",
                          "rms z", "bias");
  for (const auto& [name, row] : sums)
    text += fmt::format("  {:<34}{:>15}{:>9.2f}{:>9.3f}{:>11.1e}\n", name, row.elements, row.max_z,
                        row.rms(), row.bias());
  return text;
}

/// Stages and chunks, with what they are allowed.
std::string judged_table(const Calibration& c) {
  std::map<std::string, CalibrationSums> sums;
  for (const auto& [key, row] : c.rows)
    if (key.by == "stage" || key.by == "chunk")
      sums[fmt::format("{} {} {} {}", key.kernel, key.dtype, key.by, key.value)].add(row);
  if (sums.empty()) return "";
  auto text = fmt::format("\nStages, and chunks from the kernel's own states\n  {:<34}{:>15}{:>9}{:>9}{:>9}{:>9}\n", "",
                          "elements", "max z", "rms z", "allowed", "margin");
  for (const auto& [name, row] : sums)
    text += fmt::format("  {:<34}{:>15}{:>9.2f}{:>9.3f}{:>9.1f}{:>9.2f}\n", name, row.elements, row.max_z, row.rms(),
                        c.allowed.at(name), c.allowed.at(name) / row.max_z);
  return text;
}

}  // namespace

void CalibrationSums::add(const CalibrationSums& other) {
  elements += other.elements, beyond += other.beyond, explained += other.explained;
  sum_z += other.sum_z, sum_z2 += other.sum_z2;
  if (other.max_z > max_z) max_z = other.max_z, worst = other.worst;
}

double CalibrationSums::rms() const { return elements ? std::sqrt(sum_z2 / double(elements)) : 0; }
double CalibrationSums::bias() const { return elements ? sum_z / double(elements) : 0; }

void CalibrationProgress::add(const CalibrationProgress& other) {
  const bool fresh = verdicts.empty();
  first = fresh ? other.first : std::min(first, other.first);
  next = std::max(next, other.next);
  seconds += other.seconds;
  for (const auto& [state, n] : other.verdicts) verdicts[state] += n;
}

void Calibration::add(const Calibration& other) {
  for (const auto& [name, p] : other.progress) progress[name].add(p);
  for (const auto& [key, row] : other.rows) rows[key].add(row);
  for (const auto& [name, z] : other.allowed) allowed[name] = z;
  for (const auto& [line, why] : other.alarms) alarms[line] = why;
}

Json calibration_to_json(const Calibration& c) {
  Json json{{"progress", Json::object()}, {"allowed", c.allowed}, {"alarms", c.alarms}, {"rows", Json::array()}};
  for (const auto& [name, p] : c.progress) json["progress"][name] = to_json(p);
  for (const auto& [key, row] : c.rows) json["rows"].push_back(to_json(key, row));
  return json;
}

Calibration calibration_from_json(const JsonField& field) {
  Calibration c;
  for (const auto& [name, p] : field["progress"].members()) c.progress[name] = progress_from(p);
  for (const auto& [name, z] : field["allowed"].members()) c.allowed[name] = z.number();
  for (const auto& [line, why] : field["alarms"].members()) c.alarms[line] = why.text();
  for (const auto& row : field["rows"].elements())
    c.rows[{row["kernel"].text(), row["dtype"].text(), row["contract"].text(),
            int(row["order"].integer()), row["by"].text(), row["value"].text()}] = {
        row["elements"].integer(), row["beyond"].integer(), row["sum_z"].number(),
        row["sum_z2"].number(),    row["max_z"].number(),   row["worst"].text(),
        row.has("explained") ? row["explained"].integer() : 0};
  return c;
}

std::string calibration_text(const Calibration& c) {
  auto text = fmt::format("{:<24}{:>8}{:>8}{:>8}{:>15}{:>9}{:>9}{:>11}{:>9}{:>9}\n", "kernel dtype",
                          "cases", "passed", "alarms", "elements", "max z", "rms z", "bias",
                          "allowed", "margin");
  std::int64_t explained = 0;
  for (const auto& [name, row] : totals(c)) {
    explained += row.explained;
    const auto& verdicts = c.progress.at(name).verdicts;
    std::int64_t cases = 0;
    for (const auto& [state, n] : verdicts)
      if (state != "SKIPPED") cases += n;
    const auto count = [&](const char* state) {
      const auto found = verdicts.find(state);
      return found == verdicts.end() ? 0 : found->second;
    };
    text += fmt::format("{:<24}{:>8}{:>8}{:>8}{:>15}{:>9.2f}{:>9.3f}{:>11.1e}{:>9.1f}{:>9.2f}\n", name,
                        cases, count("PASSED"), count("FAILED") + count("CRASHED") + count("TIMED_OUT"), row.elements,
                        row.max_z, row.rms(), row.bias(), c.allowed.at(name),
                        c.allowed.at(name) / row.max_z);
  }
  text += fmt::format("{} elements were accused by the first look and explained by the second\n", explained);
  text += table("By order of summation", by(c, [](const CalibrationKey& k) {
                  return k.by == "recipe" ? fmt::format("{} {} {}", k.kernel, k.dtype, k.order) : "";
                }));
  text += table("By tensor", by(c, [](const CalibrationKey& k) {
                  return k.by == "tensor" ? fmt::format("{} {} {}", k.kernel, k.dtype, k.value) : "";
                }));
  text += judged_table(c);
  for (const auto& [line, why] : c.alarms) text += fmt::format("\n{}\n  {}\n", line, why);
  return text;
}

}  // namespace gdr2
