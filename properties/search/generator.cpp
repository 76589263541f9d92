// SPDX-License-Identifier: Apache-2.0
#include "properties/search/generator.hpp"

#include <rapidcheck.h>

#include <cmath>

#include "fixtures/random.hpp"
#include "fixtures/recipes.hpp"
#include "reference/rounding.hpp"

namespace gdr2::search {
namespace {

using Sizes = std::vector<std::int64_t>;

template <class T>
T one_of(const std::vector<T>& values) {
  return *rc::gen::elementOf(values);
}

bool one_in(int n) { return *rc::gen::inRange(0, n) == 0; }

/// At the edges of chunks (64) and blocks (16), or anywhere.
std::int64_t length() {
  static const Sizes edges{1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129};
  return one_in(2) ? one_of(edges) : *rc::gen::inRange<std::int64_t>(1, 140);
}

void draw_sizes(Problem& p) {
  static const Sizes small{16, 16, 20, 24, 32, 48}, large{60, 64, 100, 128}, groups{1, 1, 2, 3, 4};
  const bool is_large = one_in(8);
  p.K = one_of(is_large ? large : small);
  p.V = one_of(is_large ? large : small);
  p.T = length();
  p.H = is_large ? 1 : *rc::gen::inRange<std::int64_t>(1, 4);
  p.HV = p.H * (is_large ? 1 : one_of(groups));
}

void draw_sequences(Problem& p) {
  if (one_in(3)) {
    const auto count = *rc::gen::inRange(1, 6);
    for (int n = 0; n < count; ++n) p.lens.push_back(one_in(4) ? 0 : length() % 70);
    p.T = 0;
    for (const auto n : p.lens) p.T += n;
  } else if (p.T < 70 && one_in(4)) {
    p.B = *rc::gen::inRange<std::int64_t>(2, 4);
  }
}

void draw_options(Problem& p) {
  p.h0 = one_in(2);
  p.ht = !one_in(4);
  p.backward = !one_in(4);
  p.loss = one_of<Loss>({Loss::kBoth, Loss::kBoth, Loss::kO, Loss::kHt});
  p.layout = one_of<StateLayout>({StateLayout::kKV, StateLayout::kVK});
  p.gate = one_of<Gate>({Gate::kLog, Gate::kLog, Gate::kSoftplus, Gate::kLowerBound});
  p.l2norm = one_in(3);
  p.neg_eigval = one_in(3);
  p.view = one_of<View>({View::kDense, View::kPadded, View::kFused});
  if (one_in(3)) p.scale = one_of<double>({1, 0.5, 0.1});
}

rc::Gen<Case> any_case(const std::vector<Format>& dtypes) {
  return rc::gen::exec([=] {
    Case c;
    c.problem.dtype = one_of(dtypes);
    c.problem.g_dtype = c.problem.state_dtype();
    draw_sizes(c.problem);
    draw_sequences(c.problem);
    draw_options(c.problem);
    c.recipe = drawn_recipes()[*rc::gen::inRange<std::size_t>(0, drawn_recipes().size())].name;
    validate(c.problem);
    return c;
  });
}

constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;  // SplitMix64's finaliser
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A bit pattern inside the domain of an input.
double in_domain(const Problem& p, Name name, std::uint64_t bits, DType dtype) {
  switch (name) {
    case Name::g:
      if (p.gate != Gate::kLog) return bit_pattern(bits, dtype, -12, 4);
      return bits % 29 == 0 ? -HUGE_VAL : -std::fabs(bit_pattern(bits, dtype, -24, 7));
    case Name::b:
    case Name::w: return std::fabs(bit_pattern(bits, dtype, -14, -1));
    case Name::q:
    case Name::k: return bit_pattern(bits, dtype, -14, -2);
    default: return bit_pattern(bits, dtype, -14, 3);
  }
}

}  // namespace

double bit_pattern(std::uint64_t bits, DType dtype, int low, int high) {
  const auto pick = bits % 16, sign = bits >> 63;
  if (pick == 0) return sign ? -0.0 : 0.0;
  const int precision = traits(format_of(dtype)).precision;
  const int exponent = low + int((bits >> 4) % std::uint64_t(high - low + 1));
  const auto full = (std::uint64_t{1} << (precision - 1)) - 1;
  const auto random = bits >> 9 & full;
  const std::uint64_t fractions[] = {0, full, std::uint64_t{1} << random % (precision - 1), random};
  const double significand = 1 + double(fractions[pick % 4]) / double(full + 1);
  return round_nearest(std::ldexp(sign ? -significand : significand, exponent), format_of(dtype));
}

Case with_bit_patterns(const Case& c, std::uint64_t seed) {
  const Random random(seed);
  auto plain = c.problem;
  plain.view = View::kDense;
  auto tensors = std::make_shared<Tensors>(
      make_inputs({.problem = plain, .recipe = c.recipe, .seed = c.seed}));
  for (auto& [name, tensor] : *tensors) {
    const Label label(to_string(name));
    if (name == Name::A_log || name == Name::dt_bias || random.chance("tensor", int(name), 0.5))
      continue;
    const double share = random.chance("all", int(name), 0.5) ? 1 : 0.1;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (!random.chance(label, i, share)) continue;
      const auto words = random.words(label, i, 7);
      const auto bits = std::uint64_t{words[0]} << 32 | words[1];
      tensor.set(i, in_domain(c.problem, name, bits, tensor.dtype()));
    }
  }
  auto out = c;
  out.given = std::move(tensors);
  return out;
}

Case draw_case(std::uint64_t seed, std::int64_t number, const std::vector<Format>& dtypes) {
  constexpr int kSize = 100;  // RapidCheck's scale of values; nothing here depends on it
  const auto draw = mixed(seed * 0x9E3779B97F4A7C15u + std::uint64_t(number));
  auto c = any_case(dtypes)(rc::Random(draw), kSize).value();
  c.seed = draw >> 1;
  return number % 4 == 3 ? with_bit_patterns(c, c.seed) : c;
}

}  // namespace gdr2::search
