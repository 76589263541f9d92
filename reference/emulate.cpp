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

Values<double> emulate_forward(const Problem& problem, const Values<double>& inputs,
                               const Contract& contract, RoundingMode mode, std::uint32_t seed) {
  return with(contract, mode, seed, [&](const auto& ar, const auto& rule) {
    using Wide = typename std::decay_t<decltype(ar)>::Wide;
    return run_forward(problem, convert<Wide>(inputs), ar, rule);
  });
}

Values<double> emulate_backward(const Problem& problem, const Values<double>& inputs,
                                const Contract& contract, RoundingMode mode, std::uint32_t seed) {
  return with(contract, mode, seed, [&](const auto& ar, const auto& rule) {
    using Wide = typename std::decay_t<decltype(ar)>::Wide;
    return run_backward(problem, convert<Wide>(inputs), ar, rule);
  });
}

}  // namespace gdr2
