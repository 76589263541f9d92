// SPDX-License-Identifier: Apache-2.0
#include "reference/emulate.hpp"

#include "reference/chunk_form.hpp"
#include "reference/token_form.hpp"

namespace gdr2 {
namespace {

/// body(arithmetic, rule) -> Values<Real>, for the storage that the contract asks for.
template <class Body>
Values<double> with(const Contract& contract, RoundingMode mode, std::uint32_t seed,
                    const Body& body) {
  const auto with_rule = [&](const auto& arithmetic) {
    return contract.token_by_token() ? convert<double>(body(arithmetic, RoundedTokenRule()))
                                     : convert<double>(body(arithmetic, ChunkRule()));
  };
  if (contract.accumulator == Format::kF64)
    return with_rule(Emulated<double>(contract, mode, seed));
  return with_rule(Emulated<float>(contract, mode, seed));
}

}  // namespace

Values<double> emulate(const Problem& problem, const Values<double>& inputs,
                       const Contract& contract, RoundingMode mode, std::uint32_t seed,
                       const std::vector<Name>& stages) {
  return with(contract, mode, seed, [&](const auto& ar, const auto& rule) {
    using Wide = typename std::decay_t<decltype(ar)>::Wide;
    const auto in = convert<Wide>(inputs);
    return problem.backward ? run_both(problem, in, ar, rule, stages)
                            : run_forward(problem, in, ar, rule, stages);
  });
}

Values<double> exact_stages(const Problem& problem, const Values<double>& inputs,
                            const std::vector<Name>& stages) {
  const Exact<double> ar;
  auto values = problem.backward ? run_both(problem, inputs, ar, ChunkRule(), stages)
                                 : run_forward(problem, inputs, ar, ChunkRule(), stages);
  std::erase_if(values, [](const auto& entry) { return !is_stage(entry.first); });
  return values;
}

std::vector<Name> emulated_stages(const Problem& problem, const Contract& contract) {
  std::vector<Name> stages{Name::H};
  if (problem.backward) stages.push_back(Name::dH);
  if (contract.token_by_token()) return stages;
  stages.insert(stages.end(), {Name::T, Name::A, Name::Aqk, Name::R});
  if (contract.auxiliary != Format::kNone) stages.insert(stages.end(), {Name::Y, Name::U});
  if (problem.backward) stages.insert(stages.end(), {Name::dR, Name::P});
  return stages;
}

}  // namespace gdr2
