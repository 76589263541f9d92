// SPDX-License-Identifier: Apache-2.0
#include "properties/power/random_case.hpp"

#include <array>

#include "fixtures/random.hpp"
#include "fixtures/recipes.hpp"

namespace gdr2 {
namespace {

/// Draws of one case: each quantity has its own label.
class Dice {
 public:
  Dice(Format dtype, std::int64_t number)
      : random_(0xCA11B8A7Eull + std::uint64_t(dtype)), number_(number) {}

  template <class T, std::size_t n>
  T one_of(Label label, const std::array<T, n>& values) const {
    return values[random_.below(label, number_, n)];
  }
  std::int64_t between(Label label, std::int64_t low, std::int64_t high) const {
    return low + random_.below(label, number_, high - low + 1);
  }
  bool chance(Label label, double probability) const {
    return random_.chance(label, number_, probability);
  }

 private:
  Random random_;
  std::int64_t number_;
};

void draw_sizes(const Dice& dice, Problem& p) {
  const bool large = dice.chance("large", 0.1);
  constexpr std::array<std::int64_t, 5> small_channels{16, 16, 24, 32, 48};
  constexpr std::array<std::int64_t, 4> large_channels{64, 64, 96, 128};
  p.K = large ? dice.one_of("K", large_channels) : dice.one_of("K", small_channels);
  p.V = large ? dice.one_of("V", large_channels) : dice.one_of("V", small_channels);
  p.T = large ? dice.between("T", 65, 256) : dice.between("T", 1, 80);
  if (!large) p.HV = p.H = dice.between("H", 1, 2);
  if (!large && dice.chance("group", 0.25)) p.HV = 2 * p.H;
}

/// A third of the cases is packed, a sixth a batch; sequences may be empty.
void draw_sequences(const Dice& dice, Problem& p) {
  if (dice.chance("packed", 0.33)) {
    const auto cut = dice.between("cut", 0, p.T);
    p.lens = {cut, p.T - cut};
    if (dice.chance("empty", 0.3)) p.lens.insert(p.lens.begin() + dice.between("where", 0, 2), 0);
  } else if (p.T <= 80 && dice.chance("batch", 0.25)) {
    p.B = 2;
  }
}

void draw_options(const Dice& dice, Problem& p) {
  p.h0 = dice.chance("h0", 0.5);
  p.ht = dice.chance("ht", 0.75);
  p.backward = dice.chance("pass", 0.8);
  p.loss = dice.one_of("loss", std::array{Loss::kBoth, Loss::kBoth, Loss::kO, Loss::kHt});
  p.layout = dice.one_of("layout", std::array{StateLayout::kKV, StateLayout::kVK});
  p.gate = dice.one_of("gate", std::array{Gate::kLog, Gate::kLog, Gate::kSoftplus, Gate::kLowerBound});
  p.l2norm = dice.chance("l2norm", 0.4);
  p.neg_eigval = dice.chance("neg_eigval", 0.3);
  p.view = dice.one_of("view", std::array{View::kDense, View::kPadded, View::kFused});
  if (dice.chance("scaled", 0.3)) p.scale = dice.one_of("scale", std::array{1.0, 0.5});
}

}  // namespace

Case random_case(Format dtype, std::int64_t number) {
  const Dice dice(dtype, number);
  Case c;
  c.problem.dtype = dtype;
  c.problem.g_dtype = c.problem.state_dtype();
  draw_sizes(dice, c.problem);
  draw_sequences(dice, c.problem);
  draw_options(dice, c.problem);
  c.recipe = drawn_recipes()[dice.between("recipe", 0, std::ssize(drawn_recipes()) - 1)].name;
  c.seed = std::uint64_t(number) + 1;
  validate(c.problem);
  return c;
}

}  // namespace gdr2
