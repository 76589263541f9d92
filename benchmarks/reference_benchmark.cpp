// SPDX-License-Identifier: Apache-2.0
// How long the reference takes: one head, forward and backward, in double. The emulated chunk form
// beside it is one member of an envelope's ensemble.
#include <benchmark/benchmark.h>

#include "reference/emulate.hpp"

namespace {

using namespace gdr2;

/// Bounded values with a long memory; what they are does not matter for time.
Values<double> inputs_of(const Problem& p) {
  Values<double> in;
  for (auto name : input_names(p)) {
    auto& x = in[name];
    x.resize(element_count(shape_of(p, name)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double u = double(i * 2654435761u % 65536) / 65536;
      x[i] = name == Name::g ? -0.1 * u : name == Name::k ? (u - 0.5) / 8 : u;
    }
  }
  return in;
}

Problem problem_of(const benchmark::State& state) {
  return parse_problem(fmt::format("T={} K=128 V=128 h0=1 dtype=bf16", state.range(0)));
}

void BM_ReferenceForwardBackward(benchmark::State& state) {
  const auto problem = problem_of(state);
  const auto in = inputs_of(problem);
  for (auto _ : state) benchmark::DoNotOptimize(reference<double>(problem, in));
  state.SetItemsProcessed(state.iterations() * problem.T);
}
BENCHMARK(BM_ReferenceForwardBackward)->Arg(512)->Arg(4096)->Unit(benchmark::kMillisecond);

template <RoundingMode mode>
void BM_EmulatedForwardBackward(benchmark::State& state) {
  const auto problem = problem_of(state);
  const auto in = inputs_of(problem);
  const auto contract = standard_contract(problem.dtype);
  for (auto _ : state) benchmark::DoNotOptimize(emulate(problem, in, contract, mode, 1));
  state.SetItemsProcessed(state.iterations() * problem.T);
}
BENCHMARK(BM_EmulatedForwardBackward<RoundingMode::kNearest>)->Arg(512)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_EmulatedForwardBackward<RoundingMode::kStochastic>)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
