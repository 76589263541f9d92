// SPDX-License-Identifier: Apache-2.0
#include "reports/bench_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/record_json.hpp"

namespace gdr2 {
namespace {

using Json = nlohmann::ordered_json;

double gb_per_s(const BenchRow& row) { return row.floor_bytes / row.median_ms() / 1e6; }
double tflop_per_s(const BenchRow& row) { return row.operations / row.median_ms() / 1e9; }

Json known(double value) { return value > 0 ? Json(value) : Json(); }

Json to_json(const BenchRow& row) {
  Json json{{"kernel", row.kernel},        {"case", row.line},     {"pass", row.pass},
            {"gate", to_string(row.gate)}, {"reason", row.reason}, {"device", row.device},
            {"round_medians_ms", row.ms}};
  if (row.ms.empty()) return json;
  json["median_ms"] = row.median_ms();
  json["p10_ms"] = row.p10_ms;
  json["p90_ms"] = row.p90_ms;
  json["kernels_ms"] = known(row.kernels_ms);
  json["memory_bytes"] = known(row.memory_bytes);
  json["floor_bytes"] = row.floor_bytes;
  json["operations"] = row.operations;
  json["floor_gb_per_s"] = gb_per_s(row);
  json["tflop_per_s"] = tflop_per_s(row);
  json["copy_gb_per_s"] = known(row.copy_gb_per_s);
  json["tensor_tflop_per_s"] = known(row.tensor_tflop_per_s);
  return json;
}

Json to_json(const BenchRatio& r) {
  return {{"kernel", r.kernel},
          {"peer", r.peer},
          {"case", r.line},
          {"pass", r.pass},
          {"ratio", r.ratio},
          {"low", r.low},
          {"high", r.high},
          {"confidence", r.confidence},
          {"kernels_ratio", known(r.kernels_ratio)},
          {"memory_ratio", known(r.memory_ratio)}};
}

double known_from(const JsonField& field) { return field.is_null() ? 0 : field.number(); }

BenchRow row_from_json(const JsonField& field) {
  BenchRow row{.kernel = field["kernel"].text(),
               .line = field["case"].text(),
               .pass = field["pass"].text(),
               .gate = state_from(field["gate"]),
               .reason = field["reason"].text()};
  row.device = field["device"].text();
  for (const auto& ms : field["round_medians_ms"].elements()) row.ms.push_back(ms.number());
  if (row.ms.empty()) return row;
  row.p10_ms = field["p10_ms"].number();
  row.p90_ms = field["p90_ms"].number();
  row.kernels_ms = known_from(field["kernels_ms"]);
  row.memory_bytes = known_from(field["memory_bytes"]);
  row.floor_bytes = field["floor_bytes"].number();
  row.operations = field["operations"].number();
  row.copy_gb_per_s = known_from(field["copy_gb_per_s"]);
  row.tensor_tflop_per_s = known_from(field["tensor_tflop_per_s"]);
  return row;
}

BenchRatio ratio_from_json(const JsonField& field) {
  return {.kernel = field["kernel"].text(),
          .peer = field["peer"].text(),
          .line = field["case"].text(),
          .pass = field["pass"].text(),
          .ratio = field["ratio"].number(),
          .low = field["low"].number(),
          .high = field["high"].number(),
          .confidence = field["confidence"].number(),
          .kernels_ratio = known_from(field["kernels_ratio"]),
          .memory_ratio = known_from(field["memory_ratio"])};
}

std::string row_text(const BenchRow& row) {
  auto text = fmt::format("{:<24} {:<17} ", row.kernel, row.pass);
  if (row.ms.empty())
    return text +
           fmt::format("{:<11} {}\n{:>45}{}\n", to_string(row.gate), row.line, "", row.reason);
  text += fmt::format("{:>9.4f}  {:>9.4f} {:>9.4f}", row.median_ms(), row.p10_ms, row.p90_ms);
  text +=
      row.kernels_ms > 0 ? fmt::format("  {:>9.4f}", row.kernels_ms) : fmt::format("  {:>9}", "");
  text += fmt::format("  {:>7.1f}", gb_per_s(row));
  text += row.copy_gb_per_s > 0
              ? fmt::format("  {:>4.0f} %", 100 * gb_per_s(row) / row.copy_gb_per_s)
              : fmt::format("  {:>6}", "");
  text += fmt::format("  {:>7.2f}", tflop_per_s(row));
  text += row.memory_bytes > 0 ? fmt::format("  {:>9.1f}", row.memory_bytes / 1e6)
                               : fmt::format("  {:>9}", "");
  return text + "  " + row.line + "\n";
}

std::string ratio_text(const BenchRatio& r) {
  auto text = fmt::format("{:<24} {:<24} {:<17} {:>6.2f}  [{:.2f} {:.2f}]", r.kernel, r.peer,
                          r.pass, r.ratio, r.low, r.high);
  if (r.kernels_ratio > 0) text += fmt::format("  {:.2f} of its kernels", r.kernels_ratio);
  if (r.memory_ratio > 0) text += fmt::format("  memory {:.0f} %", 100 * r.memory_ratio);
  return text + "  " + r.line + "\n";
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double BenchRow::median_ms() const { return median_of(ms); }

BenchRatio ratio_of(const BenchRow& kernel, const BenchRow& peer) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(kernel.ms.size(), peer.ms.size()); ++i)
    ratios.push_back(peer.ms[i] / kernel.ms[i]);
  BenchRatio r{
      .kernel = kernel.kernel, .peer = peer.kernel, .line = kernel.line, .pass = kernel.pass};
  r.ratio = median_of(ratios);
  r.low = *std::ranges::min_element(ratios);
  r.high = *std::ranges::max_element(ratios);
  r.confidence = 1 - std::exp2(1 - double(ratios.size()));
  if (peer.kernels_ms > 0) r.kernels_ratio = peer.kernels_ms / kernel.median_ms();
  if (kernel.memory_bytes > 0 && peer.memory_bytes > 0)
    r.memory_ratio = kernel.memory_bytes / peer.memory_bytes;
  return r;
}

std::string bench_json(const BenchRun& bench) {
  Json json{{"kind", "bench"},
            {"version", bench.run.version},
            {"started", bench.run.started},
            {"git_sha", bench.run.git_sha},
            {"git_dirty", bench.run.git_dirty},
            {"argv", bench.run.argv},
            {"environment", bench.run.environment},
            {"complete", bench.run.complete},
            {"clocks", bench.clocks},
            {"rounds", bench.rounds},
            {"repetitions", bench.repetitions},
            {"rows", Json::array()},
            {"ratios", Json::array()}};
  for (const auto& row : bench.rows) json["rows"].push_back(to_json(row));
  for (const auto& ratio : bench.ratios) json["ratios"].push_back(to_json(ratio));
  return json.dump(1) + "\n";
}

BenchRun bench_from_json(const JsonField& field) {
  if (!field.has("kind") || field["kind"].text() != "bench")
    field.reject("not a report of gdr2 bench");
  BenchRun bench{.rounds = int(field["rounds"].integer()),
                 .repetitions = int(field["repetitions"].integer()),
                 .clocks = field["clocks"].text()};
  bench.run.version = field["version"].text();
  bench.run.started = field["started"].text();
  bench.run.git_sha = field["git_sha"].text();
  bench.run.git_dirty = field["git_dirty"].boolean();
  for (const auto& word : field["argv"].elements()) bench.run.argv.push_back(word.text());
  for (const auto& [fact, value] : field["environment"].members())
    bench.run.environment[fact] = value.text();
  bench.run.complete = !field.has("complete") || field["complete"].boolean();
  for (const auto& row : field["rows"].elements()) bench.rows.push_back(row_from_json(row));
  for (const auto& ratio : field["ratios"].elements())
    bench.ratios.push_back(ratio_from_json(ratio));
  return bench;
}

std::string bench_text(const BenchRun& bench) {
  auto text = fmt::format(
      "{:<24} {:<17} {:>9}  {:>9} {:>9}  {:>9}  {:>7}  {:>6}  {:>7}  {:>9}  case\n", "kernel",
      "pass", "median ms", "p10", "p90", "kernels", "GB/s", "copy", "TFLOP/s", "MB");
  for (const auto& row : bench.rows) text += row_text(row);
  if (bench.ratios.empty()) return text;
  text += fmt::format(
      "\nTime of the peer over time of the kernel: median of {} pairs [smallest largest]\n",
      bench.rounds);
  for (const auto& ratio : bench.ratios) text += ratio_text(ratio);
  return text;
}

int exit_code(const BenchRun& bench) {
  const auto timed = [](const BenchRow& row) { return !row.ms.empty(); };
  const auto failed = [](const BenchRow& row) {
    return row.gate != State::kPassed && row.gate != State::kSkipped;
  };
  if (std::ranges::any_of(bench.rows, failed)) return 1;
  return std::ranges::any_of(bench.rows, timed) ? 0 : 3;
}

}  // namespace gdr2
