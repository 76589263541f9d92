// SPDX-License-Identifier: Apache-2.0
// gdr2 export: a case as a file, for a machine where a kernel is and this suite is not. The results
// come back in the same file, for gdr2 judge.
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/shell.hpp"
#include "fixtures/activation_file.hpp"
#include "fixtures/case.hpp"
#include "fixtures/contract_file.hpp"
#include "properties/judge/envelope.hpp"
#include "reference/error.hpp"
#include "reports/build_info.hpp"

namespace gdr2 {
namespace {

struct ExportOptions {
  std::string line, out, contract;
};

Tensors as_tensors(const Problem& problem, const Values<double>& values) {
  Tensors tensors;
  for (const auto& [name, x] : values) {
    tensors[name] = Tensor(DType::kF64, shape_of(problem, name));
    tensors[name].assign(x);
  }
  return tensors;
}

int export_case(const ExportOptions& options) {
  auto c = parse_case(options.line);
  c.problem.view = View::kDense;  // how tensors lie in memory is no part of a file
  const auto inputs = make_inputs(c);
  const auto contract = options.contract.empty()
                            ? standard_contract(c.problem.dtype)
                            : find_contract(options.contract, "--contract").of(c.problem.dtype);
  const auto envelope = make_envelope(c.problem, inputs, contract);
  write_activations(options.out,
                    {.problem = c.problem,
                     .inputs = inputs,
                     .info = {{"case", to_string(c)},
                              {"contract", to_string(contract)},
                              {"exported_by", fmt::format("gdr2 {}", build_info::version)}},
                     .expected = as_tensors(c.problem, envelope.reference),
                     .sigma = as_tensors(c.problem, envelope.sigma)});
  std::cout << fmt::format(
      "{}: add the results of your kernel (docs/FILES.md), then\n  gdr2 judge {}{}\n", options.out,
      shell_quoted(options.out),
      options.contract.empty() ? "" : " --contract " + shell_quoted(options.contract));
  return 0;
}

}  // namespace

Command add_export(CLI::App& app) {
  auto* command =
      app.add_subcommand("export", "Write a case to a file: inputs, cotangents, what is expected");
  auto options = std::make_shared<ExportOptions>();
  command->add_option("LINE", options->line, "A case, as one quoted word")->required();
  command->add_option("--out", options->out, "The safetensors file to write")
      ->required()
      ->type_name("FILE");
  command
      ->add_option(
          "--contract", options->contract,
          "Arithmetic from which sigma is computed: a name, a file, or bf16,auxiliary=bf16,...; "
          "default: that of the case's dtype")
      ->type_name("CONTRACT");
  return {command, [options] { return export_case(*options); }};
}

}  // namespace gdr2
