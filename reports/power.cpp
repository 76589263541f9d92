// SPDX-License-Identifier: Apache-2.0
#include "reports/power.hpp"

#include <fmt/format.h>

namespace gdr2 {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const MutantRecord& m) {
  return {{"name", m.name},     {"kind", m.kind},     {"what", m.what},
          {"state", m.state},   {"leg", m.leg},       {"line", m.line},
          {"reason", m.reason}, {"judged", m.judged}, {"differing", m.differing},
          {"law", m.law},       {"law_line", m.law_line}, {"rules", m.rules}};
}

std::vector<std::string> texts(const JsonField& field) {
  std::vector<std::string> list;
  for (const auto& text : field.elements()) list.push_back(text.text());
  return list;
}

MutantRecord mutant_from(const JsonField& field) {
  return {field["name"].text(),      field["kind"].text(),       field["what"].text(),
          field["state"].text(),     field["leg"].text(),        field["line"].text(),
          field["reason"].text(),    field["judged"].integer(),  field["differing"].integer(),
          field["law"].text(),       field["law_line"].text(),   texts(field["rules"])};
}

Json to_json(const PerturbationRecord& p) {
  return {{"tried", p.tried}, {"rejected", p.rejected}, {"within", p.within}, {"missed", p.missed},
          {"rules", p.rules}};
}

PerturbationRecord perturbation_from(const JsonField& field) {
  PerturbationRecord p{field["tried"].integer(), field["rejected"].integer(), field["within"].integer(),
                       texts(field["missed"])};
  if (field.has("rules"))
    for (const auto& [rule, n] : field["rules"].members()) p.rules[rule] = n.integer();
  return p;
}

void count(const MutantRecord& m, MutationScore& score) {
  if (m.state == "equivalent") return;
  ++score.total;
  score.caught += m.state == "caught";
  for (const auto& rule : m.rules) ++score.by_rule[rule];
}

std::string score_row(const std::string& name, const MutationScore& score, const PowerStudy& study) {
  auto text = fmt::format("{:<32}{:>5}/{:<5}{:>7.1f} %", name, score.caught, score.total,
                          score.total ? 100.0 * double(score.caught) / double(score.total) : 0.0);
  for (const auto& [rule, statement] : study.rules) {
    const auto found = score.by_rule.find(rule);
    const double part = found == score.by_rule.end() ? 0 : double(found->second);
    text += fmt::format("{:>15.1f}", score.total ? 100 * part / double(score.total) : 0.0);
  }
  return text + '\n';
}

std::string score_table(const PowerStudy& study) {
  auto text = fmt::format("{:<32}{:>11}{:>9}", "kind of fault", "caught", "");
  for (const auto& [rule, statement] : study.rules) text += fmt::format("{:>15}", rule);
  text += '\n';
  for (const auto& [kind, score] : scores_by_kind(study)) text += score_row(kind, score, study);
  text += score_row("all", total_score(study), study);
  text += fmt::format("{:<32}{:>5}/{:<5}{:>9}", "false alarms, right kernels", study.right_alarms,
                      study.right_cases, "");
  for (const auto& [rule, statement] : study.rules) {
    const auto found = study.rule_false_alarms.find(rule);
    text += fmt::format("{:>15}", found == study.rule_false_alarms.end() ? 0 : found->second);
  }
  text += "\n\n";
  for (const auto& [rule, statement] : study.rules) text += fmt::format("  {:<15}{}\n", rule, statement);
  return text;
}

std::string perturbation_table(const PowerStudy& study) {
  if (study.perturbations.empty()) return "";
  auto text = fmt::format("\n{:<20}{:>9}{:>10}{:>9}{:>9}", "perturbation", "tried", "rejected",
                          "within", "missed");
  for (const auto& [rule, statement] : study.rules) text += fmt::format("{:>15}", rule);
  text += '\n';
  for (const auto& [name, p] : study.perturbations) {
    text += fmt::format("{:<20}{:>9}{:>10}{:>9}{:>9}", name, p.tried, p.rejected, p.within,
                        p.missed.size());
    for (const auto& [rule, statement] : study.rules) {
      const auto found = p.rules.find(rule);
      text += fmt::format("{:>15}", found == p.rules.end() ? 0 : found->second);
    }
    text += '\n';
    for (const auto& where : p.missed) text += fmt::format("  MISTRUSTED  {}\n", where);
  }
  return text;
}

}  // namespace

void PowerStudy::add(const PowerStudy& other) {
  sets.insert(sets.end(), other.sets.begin(), other.sets.end());
  mutants.insert(mutants.end(), other.mutants.begin(), other.mutants.end());
  rules.insert(other.rules.begin(), other.rules.end());
  for (const auto& [rule, n] : other.rule_false_alarms) rule_false_alarms[rule] += n;
  right_cases += other.right_cases, right_alarms += other.right_alarms;
  for (const auto& [name, p] : other.perturbations) {
    auto& sum = perturbations[name];
    sum.tried += p.tried, sum.rejected += p.rejected, sum.within += p.within;
    sum.missed.insert(sum.missed.end(), p.missed.begin(), p.missed.end());
    for (const auto& [rule, n] : p.rules) sum.rules[rule] += n;
  }
}

std::map<std::string, MutationScore> scores_by_kind(const PowerStudy& study) {
  std::map<std::string, MutationScore> scores;
  for (const auto& mutant : study.mutants) count(mutant, scores[mutant.kind]);
  return scores;
}

MutationScore total_score(const PowerStudy& study) {
  MutationScore score;
  for (const auto& mutant : study.mutants) count(mutant, score);
  return score;
}

Json power_to_json(const PowerStudy& study) {
  const auto score = total_score(study);
  Json json{{"sets", study.sets},
            {"caught", score.caught},
            {"non_equivalent", score.total},
            {"caught_by_public_rules", score.by_rule},
            {"right_cases", study.right_cases},
            {"right_alarms", study.right_alarms},
            {"rules", study.rules},
            {"rule_false_alarms", study.rule_false_alarms},
            {"perturbations", Json::object()},
            {"mutants", Json::array()}};
  for (const auto& [name, p] : study.perturbations) json["perturbations"][name] = to_json(p);
  for (const auto& mutant : study.mutants) json["mutants"].push_back(to_json(mutant));
  return json;
}

PowerStudy power_from_json(const JsonField& field) {
  PowerStudy study;
  study.sets = texts(field["sets"]);
  study.right_cases = field["right_cases"].integer();
  study.right_alarms = field["right_alarms"].integer();
  for (const auto& [name, text] : field["rules"].members()) study.rules[name] = text.text();
  for (const auto& [name, n] : field["rule_false_alarms"].members())
    study.rule_false_alarms[name] = n.integer();
  for (const auto& [name, p] : field["perturbations"].members())
    study.perturbations[name] = perturbation_from(p);
  for (const auto& mutant : field["mutants"].elements()) study.mutants.push_back(mutant_from(mutant));
  return study;
}

std::string power_text(const PowerStudy& study) {
  std::string text;
  if (!study.mutants.empty()) text += score_table(study);
  for (const auto& m : study.mutants)
    if (m.state == "survived")
      text += fmt::format("\nSURVIVED  {}: {}\n  other bits in {} cases, judged in {}{}\n", m.name,
                          m.what, m.differing, m.judged,
                          m.reason.empty() ? "" : "; " + m.reason);
  return text + perturbation_table(study);
}

}  // namespace gdr2
