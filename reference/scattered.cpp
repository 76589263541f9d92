// SPDX-License-Identifier: Apache-2.0
#include "reference/scattered.hpp"

#include <span>

#include "reference/chunk_form.hpp"
#include "reference/rounding.hpp"
#include "reference/token_form.hpp"

namespace gdr2 {
namespace {

using M = Matrix<double>;

/// An Arithmetic (arithmetic.hpp); a draw belongs to its number in the run.
class Scattered {
 public:
  using Real = double;
  using Wide = double;

  Scattered(const Contract& contract, std::uint32_t seed) : contract_(contract), count_(std::uint64_t{seed} << 40) {}

  const Contract& contract() const { return contract_; }
  double store(double x) const { return round_stochastic(x, contract_.accumulator, draw()); }
  M store(M x) const {
    round(contract_.accumulator, x);
    return x;
  }
  void round(Format format, M& x) const {
    with_format(format, [&]<Format to>() {
      for (auto& value : std::span(x.data(), x.size())) value = round_stochastic_to<to>(value, draw());
    });
  }
  M product(Format format, M a, M b) const {
    round(format, a), round(format, b);
    return store(M(a * b));
  }
  M add_product(Format format, const M& c, M a, M b) const {
    round(format, a), round(format, b);
    return store(M(c + a * b));
  }

 private:
  /// splitmix64 of a counter.
  std::uint32_t draw() const {
    auto z = (count_++ + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return std::uint32_t(z >> 32);
  }

  Contract contract_;
  mutable std::uint64_t count_;
};

}  // namespace

Values<double> emulate_scattered(const Problem& problem, const Values<double>& inputs,
                                 const Contract& contract, std::uint32_t seed,
                                 const std::vector<Name>& stages) {
  const Scattered ar(contract, seed);
  const auto run = [&](const auto& rule) {
    return problem.backward ? run_both(problem, inputs, ar, rule, stages)
                            : run_forward(problem, inputs, ar, rule, stages);
  };
  return contract.token_by_token() ? run(RoundedTokenRule()) : run(ChunkRule());
}

}  // namespace gdr2
