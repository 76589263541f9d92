// SPDX-License-Identifier: Apache-2.0
// gdr2 list: what there is to name on the command line.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "fixtures/case_set.hpp"
#include "fixtures/contract_file.hpp"
#include "fixtures/recipes.hpp"
#include "kernels/kernel.hpp"
#include "properties/laws/law.hpp"
#include "properties/power/fault.hpp"

namespace gdr2 {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

struct Topic {
  std::string name;
  std::function<Rows()> rows;
};

Rows kernel_rows() {
  Rows rows;
  for (const auto& kernel : kernels()) rows.emplace_back(kernel->name(), kernel->description());
  return rows;
}

/// The keys of a case line; docs/CLI.md says more of each.
Rows problem_rows() {
  return {{"B T H HV K V",
           "sizes: batch, tokens, query/key heads, value heads, channels (1 64 1 H 64 64)"},
          {"lens=5,0,64", "packed sequences; B is 1 and T their sum"},
          {"dtype", "fp64 fp32 tf32 bf16 fp16 (bf16)"},
          {"gdtype", "storage of g and dg (fp32; fp64 in an fp64 problem)"},
          {"scale", "factor of the output (K^-1/2)"},
          {"h0 ht", "0 or 1: an initial state is given (0), the final state is wanted (1)"},
          {"pass", "fwd or both: with the backward (both)"},
          {"loss", "o, ht or both: the cotangents that are given (both)"},
          {"layout", "kv or vk: of states (kv)"},
          {"gate", "log, softplus or lower_bound: how g comes about (log)"},
          {"lower_bound", "of that gate (-5)"},
          {"l2norm neg_eigval", "0 or 1: q and k normalised, b doubled in the kernel (0)"},
          {"view", "dense, padded or fused: where tensors stand in memory (dense)"},
          {"recipe seed", "where the values come from (plain 1)"},
          {"file", "a safetensors file instead of recipe, seed and sizes"},
          {"kernel", "the one kernel to judge"}};
}

Rows set_rows() {
  Rows rows;
  for (const auto& name : set_names())
    rows.emplace_back(name, fmt::format("{} cases", load_set(name).size()));
  return rows;
}

Rows contract_rows() {
  Rows rows;
  for (const auto& name : contract_names())
    rows.emplace_back(name, find_contract(name, "contract").kernel);
  return rows;
}

Rows recipe_rows() {
  Rows rows;
  for (const auto& recipe : recipes()) rows.emplace_back(recipe.name, recipe.description);
  return rows;
}

Rows law_rows() {
  Rows rows;
  for (const auto& law : all_laws()) rows.emplace_back(law.name, law.statement);
  return rows;
}

Rows mutant_rows() {
  Rows rows;
  for (const auto& fault : power::faults())
    rows.emplace_back(fault.name, fmt::format("{} ({})", fault.what, fault.kind));
  return rows;
}

const std::vector<Topic>& topics() {
  static const std::vector<Topic> topics{{"contracts", contract_rows},
                                         {"kernels", kernel_rows},
                                         {"laws", law_rows},
                                         {"mutants", mutant_rows},
                                         {"problems", problem_rows},
                                         {"recipes", recipe_rows},
                                         {"sets", set_rows}};
  return topics;
}

void print(const Topic& topic) {
  const auto rows = topic.rows();
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::cout << topic.name << '\n';
  for (const auto& [name, description] : rows)
    std::cout << fmt::format("  {:<{}}  {}\n", name, width, description);
}

int list(const std::string& wanted) {
  for (const auto& topic : topics())
    if (wanted.empty() || wanted == topic.name) print(topic);
  return 0;
}

}  // namespace

Command add_list(CLI::App& app) {
  auto* command = app.add_subcommand("list", "Name what there is to name on a command line");
  auto wanted = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const auto& topic : topics()) names.push_back(topic.name);
  command->add_option("WHAT", *wanted, "One of them; default: all")->check(CLI::IsMember(names));
  return {command, [wanted] { return list(*wanted); }};
}

}  // namespace gdr2
