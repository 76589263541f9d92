// SPDX-License-Identifier: Apache-2.0
#include "cli/plan.hpp"

#include <filesystem>
#include <set>
#include <sstream>
#include <unordered_set>

#include "cli/kernel_options.hpp"
#include "cli/shell.hpp"
#include "fixtures/case_set.hpp"
#include "fixtures/recipes.hpp"
#include "properties/judge/check.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

constexpr std::string_view kKernelKey = "kernel=";

/// Takes the words kernel=NAME out of a line.
std::vector<std::string> take_kernels(std::string& line) {
  std::vector<std::string> kernels;
  std::string rest;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    if (word.starts_with(kKernelKey))
      kernels.push_back(word.substr(kKernelKey.size()));
    else
      rest += (rest.empty() ? "" : " ") + word;
  }
  line = rest;
  return kernels;
}

/// Names the option in front of what went wrong in it.
template <class Function>
auto in_option(const std::string& option, Function function) {
  try {
    return function();
  } catch (const Error& error) {
    fail("{}: {}", option, error.what());
  }
}

/// A file below the working folder by its path from there: reports read the same on every machine.
std::filesystem::path from_working_folder(const std::filesystem::path& file) {
  const auto relative = file.lexically_proximate(std::filesystem::current_path());
  return relative.string().starts_with("..") ? file : relative;
}

std::vector<KernelCase> given_cases(const Selection& selection) {
  std::vector<KernelCase> cases;
  for (const auto& line : selection.lines) cases.push_back(parse_kernel_case(line));
  for (const auto& set : selection.sets)
    for (auto& c : in_option("--set", [&] { return load_set(set); })) {
      if (!c.file.empty()) c.file = from_working_folder(c.file);
      cases.push_back({.kernel = "", .c = std::move(c)});
    }
  return cases;
}

/// A drawn case with each of the recipes and seeds asked for; a case from a file as it is.
std::vector<KernelCase> variants(const KernelCase& given, const Selection& selection) {
  if (!given.c.file.empty()) return {given};
  const auto recipes = selection.recipes.empty() ? std::vector{given.c.recipe} : selection.recipes;
  const auto first_seed = selection.seed.value_or(given.c.seed);
  if (first_seed + (selection.seeds - 1) < first_seed)
    fail("--seeds: {} seeds from {} on pass the largest seed, 2^64 - 1", selection.seeds,
         first_seed);
  std::vector<KernelCase> variants;
  for (const auto& recipe : recipes)
    for (std::uint64_t i = 0; i < selection.seeds; ++i) {
      variants.push_back(given);
      variants.back().c.recipe = recipe;
      variants.back().c.seed = first_seed + i;
    }
  return variants;
}

/// A kernel that fails already at the question is to be judged.
bool takes(const Kernel& kernel, const Problem& problem) {
  try {
    return !kernel.unsupported(problem);
  } catch (const KernelFault&) {
    return true;
  }
}

std::vector<const Kernel*> kernels_for(const KernelCase& kernel_case,
                                       const std::vector<std::string>& names) {
  std::vector<const Kernel*> chosen;
  if (!kernel_case.kernel.empty()) {
    chosen.push_back(&find_kernel(kernel_case.kernel));
  } else if (!names.empty()) {
    for (const auto& name : names) chosen.push_back(&find_kernel(name));
  } else {
    for (const auto& kernel : kernels())
      if (takes(*kernel, kernel_case.c.problem)) chosen.push_back(kernel.get());
    if (chosen.empty())
      for (const auto& kernel : kernels()) chosen.push_back(kernel.get());
  }
  return chosen;
}

std::string joined(const std::vector<Name>& names) {
  std::string text;
  for (const auto name : names)
    text += fmt::format("{}{}", text.empty() ? "" : " ", to_string(name));
  return text;
}

/// The name of a command may hold blanks, which a line cannot.
std::string repro_of(const std::string& kernel, const std::string& line) {
  const auto options = kernel_option_words();
  if (kernel.find(' ') == std::string::npos)
    return "gdr2 repro " + shell_quoted(fmt::format("{}{} {}", kKernelKey, kernel, line)) + options;
  return fmt::format("gdr2 verify -v --kernel {} {}{}", shell_quoted(kernel), shell_quoted(line),
                     options);
}

}  // namespace

KernelCase parse_kernel_case(const std::string& line) {
  return in_option("LINE: '" + line + "'", [&] {
    auto rest = line;
    const auto kernels = take_kernels(rest);
    if (rest.empty() && kernels.empty()) fail("no case");
    if (kernels.size() > 1) fail("kernel: given twice");
    if (!kernels.empty()) find_kernel(kernels.front());
    return KernelCase{.kernel = kernels.empty() ? "" : kernels.front(), .c = parse_case(rest)};
  });
}

std::vector<KernelCase> select_cases(const Selection& selection) {
  for (const auto& recipe : selection.recipes) in_option("--recipe", [&] { find_recipe(recipe); });
  std::vector<KernelCase> cases;
  std::unordered_set<std::string> seen;
  for (auto given : given_cases(selection)) {
    if (selection.forward_only) given.c.problem.backward = false;
    for (auto& variant : variants(given, selection))
      if (seen.insert(variant.kernel + ' ' + to_string(variant.c)).second)
        cases.push_back(std::move(variant));
  }
  return cases;
}

std::vector<KernelOnCase> pair_up(const std::vector<KernelCase>& cases,
                                  const std::vector<std::string>& kernel_names) {
  for (const auto& name : kernel_names) in_option("--kernel", [&] { find_kernel(name); });
  std::vector<KernelOnCase> pairs;
  for (const auto& kernel_case : cases)
    for (const auto* kernel : kernels_for(kernel_case, kernel_names))
      pairs.push_back({kernel, kernel_case.c});
  return pairs;
}

CaseRecord record_of(const KernelOnCase& pair) {
  const auto& [kernel, c] = pair;
  const auto line = to_string(c);
  CaseRecord record{.kernel = kernel->name(),
                    .line = line,
                    .dtype = std::string(to_string(c.problem.dtype)),
                    .repro = repro_of(kernel->address(), line)};
  try {
    if (kernel->unsupported(c.problem)) return record;
    record.contract = to_string(kernel->contract(c.problem));
    if (const auto omitted = kernel->omitted(c.problem); !omitted.empty() && c.problem.backward)
      record.note = "gradients that it does not give: " + joined(omitted);
  } catch (const KernelFault&) {
    // The job asks again and gives the verdict.
  }
  return record;
}

std::vector<Job> make_jobs(const std::vector<KernelCase>& cases,
                           const std::vector<std::string>& kernel_names) {
  std::vector<Job> jobs;
  for (const auto& pair : pair_up(cases, kernel_names))
    jobs.push_back(
        {.record = record_of(pair), .judge = [pair] { return check(*pair.kernel, pair.c); }});
  return jobs;
}

std::vector<std::uint64_t> seeds_of(const std::vector<KernelCase>& cases) {
  std::set<std::uint64_t> seeds;
  for (const auto& kernel_case : cases)
    if (kernel_case.c.file.empty()) seeds.insert(kernel_case.c.seed);
  return {seeds.begin(), seeds.end()};
}

}  // namespace gdr2
