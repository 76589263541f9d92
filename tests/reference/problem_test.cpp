// SPDX-License-Identifier: Apache-2.0
#include "reference/problem.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>

#include "reference/error.hpp"
#include "reference/real.hpp"

namespace gdr2 {

void showValue(const Problem& problem, std::ostream& out) { out << to_string(problem); }

namespace {

// RapidCheck reads it at its first use: the same problems in every run, unless the caller says else.
const int kSeeded = setenv("RC_PARAMS", "seed=2 max_success=1000", 0);

/// Finite doubles of every exponent, subnormals and zeros too.
rc::Gen<double> finite() {
  return rc::gen::suchThat(
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                   [](std::uint64_t bits) { return std::bit_cast<double>(bits); }),
      [](double x) { return std::isfinite(x); });
}

template <class T>
T draw(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}

/// A valid problem with any of its options.
Problem draw_problem() {
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(1, 1000); };
  Problem p;
  p.H = size();
  p.HV = p.H * *rc::gen::inRange<std::int64_t>(1, 9);
  p.K = size();
  p.V = size();
  if (draw({false, true})) {
    p.lens = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 300)));
    p.T = std::accumulate(p.lens.begin(), p.lens.end(), std::int64_t{0});
  } else {
    p.B = size();
    p.T = size();
  }
  p.dtype = draw({Format::kF64, Format::kF32, Format::kTF32, Format::kBF16, Format::kF16});
  p.g_dtype = draw({DType::kF32, p.storage()});
  if (draw({false, true})) p.scale = *finite();
  p.h0 = draw({false, true});
  p.ht = draw({false, true});
  p.backward = draw({false, true});
  p.loss = draw({Loss::kO, Loss::kHt, Loss::kBoth});
  p.layout = draw({StateLayout::kKV, StateLayout::kVK});
  p.gate = draw({Gate::kLog, Gate::kSoftplus, Gate::kLowerBound});
  p.lower_bound = -std::fabs(*rc::gen::distinctFrom(finite(), 0.0));
  p.l2norm = draw({false, true});
  p.neg_eigval = draw({false, true});
  p.view = draw({View::kDense, View::kPadded, View::kFused});
  return p;
}

RC_GTEST_PROP(ProblemLine, ParsesBackToTheSameProblem, ()) {
  const auto p = draw_problem();
  RC_LOG() << to_string(p);
  RC_ASSERT(parse_problem(to_string(p)) == p);
}

RC_GTEST_PROP(ProblemLine, IsTheSameAgainAfterParsing, ()) {
  const auto line = to_string(draw_problem());
  RC_ASSERT(to_string(parse_problem(line)) == line);
}

TEST(ProblemLine, HoldsOnlyWhatDiffersFromTheDefault) {
  Problem p;
  EXPECT_EQ(parse_problem(to_string(p)), p);
  p.T = 100;
  p.H = p.HV = 2;
  p.neg_eigval = true;
  EXPECT_EQ(to_string(p), "T=100 H=2 neg_eigval=1");
}

TEST(ProblemLine, TakesItsKeysInAnyOrderAndAnySpacing) {
  EXPECT_EQ(parse_problem("  V=32\tT=10\n H=2 "), parse_problem("H=2 T=10 V=32"));
}

TEST(ProblemLine, GivesAsManyValueHeadsAsHeadsUnlessToldOtherwise) {
  EXPECT_EQ(parse_problem("H=4").HV, 4);
  EXPECT_EQ(parse_problem("H=4 HV=8").group(), 2);
}

TEST(ProblemLine, OfPackedSequencesHasTheSumOfTheirLengths) {
  const auto p = parse_problem("lens=5,0,64");
  EXPECT_EQ(p.T, 69);
  EXPECT_EQ(p.N(), 3);
  EXPECT_EQ(p, parse_problem("lens=5,0,64 T=69"));
}

TEST(ProblemLine, MayHoldOnlyEmptySequences) { EXPECT_EQ(parse_problem("lens=0,0").T, 0); }

TEST(ProblemLine, StoresGatesAtStateWidthUnlessToldOtherwise) {
  EXPECT_EQ(parse_problem("dtype=bf16").g_dtype, DType::kF32);
  EXPECT_EQ(parse_problem("dtype=fp64").g_dtype, DType::kF64);
  EXPECT_EQ(parse_problem("dtype=fp64 gdtype=fp32").g_dtype, DType::kF32);
  EXPECT_EQ(parse_problem("dtype=fp16 gdtype=fp16").g_dtype, DType::kF16);
}

TEST(ProblemLine, LeavesKeysOfOthersToThem) {
  auto keys = split_keys("T=7 recipe=slow seed=3");
  EXPECT_EQ(take_problem(keys).T, 7);
  EXPECT_EQ(keys, (std::map<std::string, std::string>{{"recipe", "slow"}, {"seed", "3"}}));
}

/// A line that is no problem, and what its message must say: the key and its value.
struct Malformed {
  std::string line;
  std::vector<std::string> words;
};

void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.line; }

class MalformedLine : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedLine, IsAnErrorThatNamesTheKey) {
  try {
    parse_problem(GetParam().line);
    FAIL() << "accepted '" << GetParam().line << "'";
  } catch (const Error& error) {
    for (const auto& word : GetParam().words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "'" << GetParam().line << "' says: " << error.what();
  }
}

std::vector<Malformed> malformed_lines() {
  std::vector<Malformed> lines{
      {"T", {"'T'", "key=value"}},
      {"=5", {"'=5'", "key=value"}},
      {"T=", {"T: no value"}},
      {"T=5 T=5", {"T: given twice"}},
      {"t=5", {"t: unknown key"}},
      {"T=5 colour=red", {"colour: unknown key"}},
      {"H=2 HV=3", {"HV: 3", "multiple of H, 2"}},
      {"B=2 lens=1,2", {"B: 2", "lens"}},
      {"lens=3,4 T=8", {"T: 8", "sum of lens, 7"}},
      {"lens=1,,2", {"lens: ''"}},
      {"lens=1,", {"lens: '1,'"}},
      {"lens=,1", {"lens: ''"}},
      {"lens=4,-1", {"lens: -1"}},
      {"lens=1,x", {"lens: 'x'"}},
      {"lens=1.5", {"lens: '1.5'"}},
      {"lens=9223372036854775807,9223372036854775807", {"lens: 9223372036854775807"}},
      {"dtype=fp8", {"dtype: 'fp8'", "bf16"}},
      {"dtype=none", {"dtype: 'none'"}},
      {"gdtype=tf32", {"gdtype: 'tf32'", "fp32"}},
      {"dtype=fp16 gdtype=bf16", {"gdtype: bf16"}},
      {"dtype=fp32 gdtype=fp64", {"gdtype: fp64"}},
      {"scale=big", {"scale: 'big'"}},
      {"scale=1e999", {"scale: '1e999'"}},
      {"scale=inf", {"scale: inf"}},
      {"scale=nan", {"scale: nan"}},
      {"lower_bound=low", {"lower_bound: 'low'"}},
      {"lower_bound=0", {"lower_bound: 0"}},
      {"lower_bound=2", {"lower_bound: 2"}},
      {"lower_bound=nan", {"lower_bound: nan"}},
      {"lower_bound=-inf", {"lower_bound: -inf"}},
      {"pass=bwd", {"pass: 'bwd'", "fwd", "both"}},
      {"loss=none", {"loss: 'none'", "o, ht, both"}},
      {"layout=KV", {"layout: 'KV'", "kv, vk"}},
      {"gate=sigmoid", {"gate: 'sigmoid'", "log, softplus, lower_bound"}},
      {"view=sparse", {"view: 'sparse'", "dense, padded, fused"}},
  };
  for (std::string key : {"B", "T", "H", "HV", "K", "V"})
    for (std::string value :
         {"0", "-1", "1099511627777", "9223372036854775808", "x", "1.5", "1x", "+1", "0x10"})
      lines.push_back({key + "=" + value, {key + ": ", value}});
  for (std::string key : {"h0", "ht", "l2norm", "neg_eigval"})
    for (std::string value : {"2", "-1", "yes", "01"})
      lines.push_back({key + "=" + value, {key + ": '" + value + "'"}});
  return lines;
}

INSTANTIATE_TEST_SUITE_P(Lines, MalformedLine, testing::ValuesIn(malformed_lines()));

TEST(Problem, ScalesByTheRootOfTheKeyWidthUnlessToldOtherwise) {
  EXPECT_EQ(parse_problem("K=64").scale_value(), 0.125);
  EXPECT_EQ(parse_problem("K=64 scale=1").scale_value(), 1);
}

TEST(Problem, RoundsTheRootOfTheKeyWidthOnce) {
  Mpfr::default_precision(40);
  Problem problem;
  for (problem.K = 1; problem.K <= 256; ++problem.K) {
    const double scale = problem.scale_value();
    const Mpfr wanted = 1 / sqrt(Mpfr(problem.K)), error = abs(scale - wanted);
    for (const double other : {std::nextafter(scale, 0.0), std::nextafter(scale, 2.0)})
      EXPECT_TRUE(error < abs(other - wanted)) << problem.K;
  }
}

TEST(Problem, HasASequenceForEachBatchEntry) {
  const auto sequences = parse_problem("B=3 T=10").sequences();
  ASSERT_EQ(sequences.size(), 3u);
  EXPECT_EQ(sequences[2].begin, 20);
  EXPECT_EQ(sequences[2].end, 30);
}

TEST(Problem, HasASequenceForEachPackedLengthEmptyOnesToo) {
  const auto sequences = parse_problem("lens=0,5,0,2").sequences();
  ASSERT_EQ(sequences.size(), 4u);
  const std::int64_t begins[] = {0, 0, 5, 5}, lengths[] = {0, 5, 0, 2};
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(sequences[n].begin, begins[n]);
    EXPECT_EQ(sequences[n].length(), lengths[n]);
  }
}

TEST(Names, AreFoundByTheirText) {
  std::set<std::string_view> texts;
  for (int i = 0; i < kNames; ++i) {
    EXPECT_EQ(find_name(to_string(Name(i))), Name(i));
    texts.insert(to_string(Name(i)));
  }
  EXPECT_EQ(texts.size(), std::size_t(kNames));
  EXPECT_EQ(to_string(Name::do_), "do");
  EXPECT_EQ(find_name("do_"), std::nullopt);
}

TEST(Names, HaveTheShapesOfTheirSide) {
  const auto p = parse_problem("B=2 T=5 H=3 HV=6 K=7 V=8");
  for (auto name : {Name::q, Name::k, Name::g, Name::b, Name::dq, Name::dk, Name::dg, Name::db})
    EXPECT_EQ(shape_of(p, name), (Shape{2, 5, 3, 7})) << to_string(name);
  for (auto name : {Name::v, Name::w, Name::o, Name::do_, Name::dv, Name::dw})
    EXPECT_EQ(shape_of(p, name), (Shape{2, 5, 6, 8})) << to_string(name);
  for (auto name : {Name::h0, Name::ht, Name::dh0, Name::dht})
    EXPECT_EQ(shape_of(p, name), (Shape{2, 6, 7, 8})) << to_string(name);
  for (auto name : {Name::A_log, Name::dA_log}) EXPECT_EQ(shape_of(p, name), (Shape{3}));
  for (auto name : {Name::dt_bias, Name::ddt_bias}) EXPECT_EQ(shape_of(p, name), (Shape{3, 7}));
}

TEST(Names, OfStatesHaveOneStateASequenceInTheAskedLayout) {
  const auto p = parse_problem("lens=5,0,2 HV=2 K=7 V=8 layout=vk");
  EXPECT_EQ(shape_of(p, Name::h0), (Shape{3, 2, 8, 7}));
  EXPECT_EQ(shape_of(p, Name::q), (Shape{1, 7, 1, 7}));
}

TEST(Names, HaveTheDTypesOfTheirRole) {
  const auto p = parse_problem("dtype=fp16 gdtype=fp16");
  EXPECT_EQ(dtype_of(p, Name::q), DType::kF16);
  EXPECT_EQ(dtype_of(p, Name::dg), DType::kF16);
  EXPECT_EQ(dtype_of(p, Name::ht), DType::kF32);
  EXPECT_EQ(dtype_of(p, Name::A_log), DType::kF32);
  EXPECT_EQ(dtype_of(parse_problem("dtype=tf32"), Name::o), DType::kF32);
  EXPECT_EQ(dtype_of(parse_problem("dtype=fp64"), Name::h0), DType::kF64);
}

TEST(Names, OfInputsFollowTheOptions) {
  using Names = std::vector<Name>;
  EXPECT_EQ(input_names(parse_problem("pass=fwd")),
            (Names{Name::q, Name::k, Name::v, Name::g, Name::b, Name::w}));
  EXPECT_EQ(input_names(parse_problem("h0=1 gate=softplus loss=both")),
            (Names{Name::q, Name::k, Name::v, Name::g, Name::b, Name::w, Name::h0, Name::A_log,
                   Name::dt_bias, Name::do_, Name::dht}));
  EXPECT_EQ(input_names(parse_problem("loss=ht")).back(), Name::dht);
  EXPECT_EQ(input_names(parse_problem("loss=o")).back(), Name::do_);
}

TEST(Names, OfResultsFollowTheOptions) {
  using Names = std::vector<Name>;
  EXPECT_EQ(output_names(parse_problem("ht=0")), Names{Name::o});
  EXPECT_EQ(output_names(parse_problem("ht=1")), (Names{Name::o, Name::ht}));
  EXPECT_EQ(gradient_names(parse_problem("pass=fwd")), Names{});
  EXPECT_EQ(gradient_names(parse_problem("T=1")),
            (Names{Name::dq, Name::dk, Name::dv, Name::dg, Name::db, Name::dw}));
  EXPECT_EQ(gradient_names(parse_problem("h0=1 gate=lower_bound")),
            (Names{Name::dq, Name::dk, Name::dv, Name::dg, Name::db, Name::dw, Name::dh0,
                   Name::dA_log, Name::ddt_bias}));
}

}  // namespace
}  // namespace gdr2
