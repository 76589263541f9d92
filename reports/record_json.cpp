// SPDX-License-Identifier: Apache-2.0
#include "reports/record_json.hpp"

#include <cmath>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

Json to_json(const Element& e) {
  return {{"index", e.index},         {"where", e.where},
          {"value", number(e.value)}, {"reference", number(e.reference)},
          {"sigma", number(e.sigma)}, {"z", number(e.z)}};
}

Json numbers(const std::vector<double>& values) {
  auto array = Json::array();
  for (const double value : values) array.push_back(number(value));
  return array;
}

Json to_json(const Window& window) {
  return {{"first", window.first},
          {"value", numbers(window.value)},
          {"reference", numbers(window.reference)},
          {"sigma", numbers(window.sigma)}};
}

Json to_json(const ErrorMap& map) {
  return {{"rows", map.rows},
          {"columns", map.columns},
          {"row_count", map.row_count},
          {"column_count", map.column_count},
          {"height", map.height},
          {"width", map.width},
          {"rms_z", numbers(map.rms_z)},
          {"max_z", numbers(map.max_z)}};
}

Json to_json(const TensorVerdict& tensor) {
  const auto& s = tensor.stats;
  auto worst = Json::array();
  for (const auto& element : s.worst) worst.push_back(to_json(element));
  Json json{{"name", to_string(s.name)},
            {"dtype", to_string(s.dtype)},
            {"shape", s.shape},
            {"state", to_string(tensor.state)},
            {"reason", tensor.reason},
            {"leg", tensor.leg},
            {"subnormal", tensor.census.subnormal},
            {"flushed", tensor.census.flushed},
            {"cancelled", tensor.census.cancelled},
            {"headroom", number(tensor.census.headroom)},
            {"count", s.count},
            {"nan", s.nan},
            {"inf", s.inf},
            {"missing", s.missing},
            {"max_abs", number(s.max_abs)},
            {"rel_norm", number(s.rel_norm)},
            {"max_ulp", number(s.max_ulp)},
            {"rms_z", number(s.rms_z)},
            {"max_z", number(s.max_z)},
            {"z50", number(s.z50)},
            {"z90", number(s.z90)},
            {"z99", number(s.z99)},
            {"z999", number(s.z999)},
            {"reference_rms", number(s.reference_rms)},
            {"worst", std::move(worst)},
            {"histogram", s.profile.histogram},
            {"growth_z", numbers(s.profile.growth_z)},
            {"growth_rel", numbers(s.profile.growth_rel)},
            {"batches", numbers(s.profile.batches)}};
  if (!s.window.empty()) json["window"] = to_json(s.window);
  for (const auto& map : s.profile.maps) json["maps"].push_back(to_json(map));
  return json;
}

Json to_json(const Figure& f) {
  return {
      {"leg", f.leg}, {"what", f.what}, {"value", number(f.value)}, {"allowed", number(f.allowed)}};
}

Json to_json(const Diagnosis& d) {
  auto variance = Json::array();
  for (const auto& [name, share] : d.variance)
    variance.push_back({{"site", name}, {"share", number(share)}});
  return {{"where", d.where},
          {"stage", d.stage},
          {"site", d.site},
          {"likeness", number(d.likeness)},
          {"variance", std::move(variance)}};
}

Json to_json(const Verdict& verdict) {
  auto tensors = Json::array(), figures = Json::array();
  for (const auto& tensor : verdict.tensors) tensors.push_back(to_json(tensor));
  for (const auto& figure : verdict.figures) figures.push_back(to_json(figure));
  Json json{{"state", to_string(verdict.state)},
            {"leg", verdict.leg},
            {"reason", verdict.reason},
            {"difficulty",
             {{"decay_span", number(verdict.difficulty.decay_span)},
              {"condition", number(verdict.difficulty.condition)}}},
            {"figures", std::move(figures)},
            {"tensors", std::move(tensors)}};
  if (verdict.diagnosis) json["diagnosis"] = to_json(*verdict.diagnosis);
  if (!verdict.notes.empty()) json["notes"] = verdict.notes;
  return json;
}

Name name_from(const JsonField& field) {
  if (const auto name = find_name(field.text())) return *name;
  field.reject(fmt::format("'{}' is not a tensor", field.text()));
}

DType dtype_from(const JsonField& field) {
  for (auto dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    if (field.text() == to_string(dtype)) return dtype;
  field.reject(fmt::format("'{}' is not a dtype", field.text()));
}

Element element_from(const JsonField& field) {
  return {.index = field["index"].integer(),
          .where = field["where"].text(),
          .value = field["value"].number(),
          .reference = field["reference"].number(),
          .sigma = field["sigma"].number(),
          .z = field["z"].number()};
}

std::vector<double> numbers_from(const JsonField& field) {
  std::vector<double> values;
  for (const auto& element : field.elements()) values.push_back(element.number());
  return values;
}

Window window_from(const JsonField& field) {
  return {.first = field["first"].integer(),
          .value = numbers_from(field["value"]),
          .reference = numbers_from(field["reference"]),
          .sigma = numbers_from(field["sigma"])};
}

ErrorMap map_from(const JsonField& field) {
  return {.rows = field["rows"].text(),
          .columns = field["columns"].text(),
          .row_count = field["row_count"].integer(),
          .column_count = field["column_count"].integer(),
          .height = field["height"].integer(),
          .width = field["width"].integer(),
          .rms_z = numbers_from(field["rms_z"]),
          .max_z = numbers_from(field["max_z"])};
}

/// What the reports of schema 1 do not have.
void read_profile(const JsonField& field, ErrorStats& s) {
  if (!field.has("histogram")) return;
  for (const auto& count : field["histogram"].elements())
    s.profile.histogram.push_back(count.integer());
  s.profile.growth_z = numbers_from(field["growth_z"]);
  s.profile.growth_rel = numbers_from(field["growth_rel"]);
  s.profile.batches = numbers_from(field["batches"]);
  if (field.has("window")) s.window = window_from(field["window"]);
  if (!field.has("maps")) return;
  for (const auto& map : field["maps"].elements()) s.profile.maps.push_back(map_from(map));
}

TensorVerdict tensor_from(const JsonField& field) {
  TensorVerdict tensor;
  auto& s = tensor.stats;
  s.name = name_from(field["name"]);
  s.dtype = dtype_from(field["dtype"]);
  for (const auto& size : field["shape"].elements()) s.shape.push_back(size.integer());
  tensor.state = state_from(field["state"]);
  tensor.reason = field["reason"].text();
  if (field.has("leg"))
    tensor.leg = field["leg"].text(), tensor.census = {.subnormal = field["subnormal"].integer(),
                                                       .flushed = field["flushed"].integer(),
                                                       .cancelled = field["cancelled"].integer(),
                                                       .headroom = field["headroom"].number()};
  s.count = field["count"].integer();
  s.nan = field["nan"].integer();
  s.inf = field["inf"].integer();
  s.missing = field["missing"].integer();
  s.max_abs = field["max_abs"].number();
  s.rel_norm = field["rel_norm"].number();
  s.max_ulp = field["max_ulp"].number();
  s.rms_z = field["rms_z"].number();
  s.max_z = field["max_z"].number();
  s.z50 = field["z50"].number();
  s.z90 = field["z90"].number();
  s.z99 = field["z99"].number();
  s.z999 = field["z999"].number();
  s.reference_rms = field["reference_rms"].number();
  for (const auto& element : field["worst"].elements()) s.worst.push_back(element_from(element));
  read_profile(field, s);
  return tensor;
}

Diagnosis diagnosis_from(const JsonField& field) {
  Diagnosis d{.where = field["where"].text(),
              .stage = field["stage"].text(),
              .site = field["site"].text(),
              .likeness = field["likeness"].number(),
              .variance = {}};
  for (const auto& part : field["variance"].elements())
    d.variance.push_back({part["site"].text(), part["share"].number()});
  return d;
}

Verdict verdict_from(const JsonField& field) {
  Verdict verdict{.state = state_from(field["state"]),
                  .leg = field["leg"].text(),
                  .reason = field["reason"].text(),
                  .tensors = {}};
  if (field.has("difficulty"))
    verdict.difficulty = {.decay_span = field["difficulty"]["decay_span"].number(),
                          .condition = field["difficulty"]["condition"].number()};
  for (const auto& tensor : field["tensors"].elements())
    verdict.tensors.push_back(tensor_from(tensor));
  if (field.has("figures"))
    for (const auto& figure : field["figures"].elements())
      verdict.figures.push_back({figure["leg"].text(), figure["what"].text(),
                                 figure["value"].number(), figure["allowed"].number()});
  if (field.has("diagnosis")) verdict.diagnosis = diagnosis_from(field["diagnosis"]);
  if (field.has("notes"))
    for (const auto& note : field["notes"].elements()) verdict.notes.push_back(note.text());
  return verdict;
}

}  // namespace

State state_from(const JsonField& field) {
  for (auto state : {State::kPassed, State::kFailed, State::kMistrusted, State::kSkipped,
                     State::kCrashed, State::kTimedOut})
    if (field.text() == to_string(state)) return state;
  field.reject(fmt::format("'{}' is not a state", field.text()));
}

Json head_to_json(const RunRecord& run) {
  return {{"schema", kReportSchema},
          {"version", run.version},
          {"git_sha", run.git_sha},
          {"git_dirty", run.git_dirty},
          {"argv", run.argv},
          {"started", run.started},
          {"environment", run.environment},
          {"seeds", run.seeds},
          {"plan", run.plan},
          {"shard", {{"index", run.shard.index}, {"count", run.shard.count}}},
          {"planned", run.planned},
          {"complete", run.complete},
          {"seconds", number(run.seconds)}};
}

Json case_to_json(const CaseRecord& record) {
  return {{"index", record.index},
          {"kernel", record.kernel},
          {"line", record.line},
          {"dtype", record.dtype},
          {"contract", record.contract},
          {"repro", record.repro},
          {"waiver", record.waiver},
          {"note", record.note},
          {"seconds", number(record.seconds)},
          {"verdict", to_json(record.verdict)}};
}

RunRecord head_from_json(const JsonField& field) {
  if (const auto schema = field["schema"].integer(); schema < 1 || schema > kReportSchema)
    field["schema"].reject(fmt::format(
        "{} is not one of the schemas that this binary reads, 1 to {}", schema, kReportSchema));
  RunRecord run;
  run.version = field["version"].text();
  run.git_sha = field["git_sha"].text();
  run.git_dirty = field["git_dirty"].boolean();
  for (const auto& word : field["argv"].elements()) run.argv.push_back(word.text());
  run.started = field["started"].text();
  for (const auto& [key, value] : field["environment"].members())
    run.environment[key] = value.text();
  for (const auto& seed : field["seeds"].elements()) run.seeds.push_back(seed.natural());
  if (field.has("plan")) run.plan = field["plan"].text();
  if (field.has("shard"))
    run.shard = {.index = field["shard"]["index"].integer(),
                 .count = field["shard"]["count"].integer()};
  run.planned = field["planned"].integer();
  run.complete = field["complete"].boolean();
  run.seconds = field["seconds"].number();
  return run;
}

CaseRecord case_from_json(const JsonField& field) {
  return {.index = field.has("index") ? field["index"].integer() : 0,
          .kernel = field["kernel"].text(),
          .line = field["line"].text(),
          .dtype = field["dtype"].text(),
          .contract = field["contract"].text(),
          .repro = field["repro"].text(),
          .waiver = field.has("waiver") ? field["waiver"].text() : "",
          .note = field["note"].text(),
          .verdict = verdict_from(field["verdict"]),
          .seconds = field["seconds"].number()};
}

}  // namespace gdr2
