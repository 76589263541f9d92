// SPDX-License-Identifier: Apache-2.0
// The chunk forward against the token recurrence, and its exact laws bit for bit, under every
// product policy. The envelope per element is the suite's business; here a coarse bound catches
// what is wrong, the exact laws catch the rest.
#include "tests/kernels/cuda/forward_case.cuh"

namespace gdr2::cuda::test {
namespace {

// Roundings to nearest of unit u = 2^-(p+1) enter every product; their sum stays near u per row of
// the result. The bounds leave four (fp32: sixteen, where sums of up to 256 terms in fp32 add
// theirs) and for the worst element of some 10^4, whose row may be small against the rms, another
// factor of sixteen.
struct Tolerance {
  gdr2_format products;
  gdr2_dtype dtype;
  double rms;
  double worst() const { return 16 * rms; }
};
constexpr Tolerance kTolerances[] = {
    {GDR2_FORMAT_BF16, GDR2_BF16, 4 * 0x1p-9},
    {GDR2_FORMAT_F16, GDR2_F16, 4 * 0x1p-12},
    {GDR2_FORMAT_TF32, GDR2_F32, 4 * 0x1p-12},
    {GDR2_FORMAT_F32, GDR2_F32, 16 * 0x1p-24},
};

class ForwardTest : public OnDevice, public testing::WithParamInterface<Tolerance> {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    base_.products = GetParam().products;
    base_.dtype = GetParam().dtype;
  }

  void expect_near(const std::vector<double>& x, const std::vector<double>& y,
                   const std::string& what) {
    const Distance d = distance(x, y);
    EXPECT_TRUE(d.rms <= GetParam().rms && d.worst <= GetParam().worst())
        << what << ": rms " << d.rms << ", worst " << d.worst;
  }
  void expect_right(const ForwardCase& c) {
    const ForwardInputs x = draw_inputs(c);
    const Forward y = expected(c, x);
    const ForwardResult r = run_forward(c, x);
    expect_near(r.y.o, y.o, c.name() + " o");
    expect_near(r.y.ht, y.ht, c.name() + " ht");
  }

  ForwardCase base_;
};
std::string products_name(const testing::TestParamInfo<Tolerance>& info) {
  constexpr const char* kNames[] = {"", "F64", "F32", "TF32", "BF16", "F16"};
  return kNames[info.param.products];
}
INSTANTIATE_TEST_SUITE_P(Products, ForwardTest, testing::ValuesIn(kTolerances), products_name);

TEST_P(ForwardTest, EveryTailLength) {
  for (int64_t t = 1; t <= 130; t += t < 66 ? 1 : 9) {
    ForwardCase c = base_;
    c.T = t, c.B = 2, c.K = 32, c.V = 32, c.seed = static_cast<uint64_t>(t);
    expect_right(c);
  }
}

TEST_P(ForwardTest, EverySizeOfHeadsAndChannels) {
  constexpr int64_t kK[] = {1, 16, 48, 60, 64, 100, 128, 256, 192},
                    kV[] = {3, 100, 256, 16, 60, 128, 48, 64, 192};
  for (int i = 0; i < 9; ++i) {
    ForwardCase c = base_;
    c.T = 97, c.K = kK[i], c.V = kV[i], c.H = 1 + i % 2, c.HV = c.H * (1 + i % 3),
    c.seed = static_cast<uint64_t>(i);
    c.value_by_key = i % 2 != 0, c.strided = i % 3 == 1, c.h0 = i != 3;
    expect_right(c);
  }
}

TEST_P(ForwardTest, EveryRangeOfDecays) {
  for (const Decays d : {Decays::kSlow, Decays::kFast, Decays::kSpike90, Decays::kSpike1e4,
                         Decays::kZero, Decays::kMinusInfinity, Decays::kMixed}) {
    ForwardCase c = base_;
    c.T = 200, c.K = 64, c.V = 48, c.decays = d;
    expect_right(c);
  }
}

TEST_P(ForwardTest, EveryOption) {
  for (int i = 0; i < 6; ++i) {
    ForwardCase c = base_;
    c.T = 100, c.H = 2, c.HV = 2, c.K = 72, c.V = 40;
    c.gate = static_cast<gdr2_gate>(i % 3), c.l2norm = i % 2 != 0, c.neg_eigval = i >= 3;
    if (c.dtype != GDR2_F32) c.g_dtype = i % 2 != 0 ? c.dtype : GDR2_F32;
    expect_right(c);
  }
}

TEST_P(ForwardTest, PackedSequencesWithEmptyOnes) {
  for (const std::vector<int64_t>& lens :
       {std::vector<int64_t>{0, 5, 64, 0, 1, 130, 63, 0}, {0, 0}, {7}, {1, 1, 1}}) {
    ForwardCase c = base_;
    c.lens = lens, c.T = 0, c.H = 2, c.HV = 4;
    for (const int64_t n : lens) c.T += n;
    expect_right(c);
  }
}

TEST_P(ForwardTest, ASaturatedGateIsFinite) {
  ForwardCase c = base_;
  c.gate = GDR2_GATE_SOFTPLUS;
  ForwardInputs x = draw_inputs(c);
  for (double& a : x.A_log) a = 100;  // exp overflows fp32
  for (double& g : x.g.x) g = -200;   // softplus underflows: g = 0
  for (double& bias : x.dt_bias) bias = 0;
  const ForwardResult r = run_forward(c, x);
  c.gate = GDR2_GATE_LOG;
  for (double& g : x.g.x) g = 0;
  expect_near(r.y.o, expected(c, x).o, "o");
}

// The exported stages against their definitions in fp64.
TEST_P(ForwardTest, StagesAreWhatTheyAreCalled) {
  ForwardCase c = base_;
  c.T = 100, c.K = 80, c.V = 40, c.stages = true, c.strided = true, c.decays = Decays::kSlow;
  const ForwardInputs x = draw_inputs(c);
  const ForwardResult r = run_forward(c, x);
  const int64_t chunks = chunks_of(c);
  std::vector<double> T(chunks * 4096), Aqk(T.size());
  for (int64_t t = 0; t < c.T; ++t)
    for (int64_t s = t / 64 * 64; s <= t; ++s)
      for (int64_t i = 0; i < c.K; ++i) {
        double g = 0;
        for (int64_t m = s + 1; m <= t; ++m) g += x.g.at(0, m, 0, i);
        const double k = x.k.at(0, s, 0, i) * std::exp(g);
        Aqk[t * 64 + s % 64] += x.q.at(0, t, 0, i) * k;
        if (s < t) T[t * 64 + s % 64] += x.b.at(0, t, 0, i) * x.k.at(0, t, 0, i) * k;
      }
  const auto as_double = [](const std::vector<float>& v) {
    return std::vector<double>(v.begin(), v.end());
  };
  expect_near(as_double(r.stage[GDR2_STAGE_T]), T, "T");
  expect_near(as_double(r.stage[GDR2_STAGE_AQK]), Aqk, "Aqk");

  // The state before token 64, by the recurrence.
  ForwardCase first = c;
  first.T = 64, first.stages = false;
  ForwardInputs head = x;
  for (Values* v : {&head.q, &head.k, &head.v, &head.g, &head.b, &head.w})
    v->T = 64, v->x.resize(64 * v->channels);
  const Forward before = expected(first, head);
  const auto H = as_double(r.stage[GDR2_STAGE_H]);
  EXPECT_EQ(std::vector<double>(H.begin(), H.begin() + c.K * c.V), x.h0);
  expect_near(std::vector<double>(H.begin() + c.K * c.V, H.end()), before.ht, "H");

  // (I + T) A = I to the accuracy of an fp32 solve, whatever the operands' format; zero past the
  // tail.
  const auto A = as_double(r.stage[GDR2_STAGE_A]), fp32_T = as_double(r.stage[GDR2_STAGE_T]);
  double largest = 0, residual = 0;
  for (int64_t n = 0; n < chunks; ++n)
    for (int64_t i = 0; i < 64; ++i)
      for (int64_t j = 0; j < 64; ++j) {
        const int64_t at = n * 4096 + i * 64;
        double sum = A[at + j];
        for (int64_t m = 0; m < i; ++m) sum += fp32_T[at + m] * A[n * 4096 + m * 64 + j];
        const bool valid = n * 64 + i < c.T;
        residual = std::max(residual, std::abs(sum - (valid && i == j ? 1 : 0)));
        largest = std::max(largest, std::abs(A[at + j]));
      }
  EXPECT_TRUE(residual <= 64 * 0x1p-24 * largest) << residual << " of " << largest;

  // Y = A Ebar
  std::vector<double> Y(chunks * 64 * c.K);
  for (int64_t t = 0; t < c.T; ++t)
    for (int64_t s = t / 64 * 64; s <= t; ++s)
      for (int64_t i = 0; i < c.K; ++i) {
        double g = 0;
        for (int64_t m = s / 64 * 64; m <= s; ++m) g += x.g.at(0, m, 0, i);
        Y[t * c.K + i] +=
            A[t * 64 + s % 64] * x.b.at(0, s, 0, i) * x.k.at(0, s, 0, i) * std::exp(g);
      }
  expect_near(as_double(r.stage[GDR2_STAGE_Y]), Y, "Y");
}

// Tokens after t are replaced, their decays by a spike: what came before keeps its bits.
TEST_P(ForwardTest, NoRowSeesALaterOne) {
  ForwardCase c = base_;
  c.T = 140, c.K = 48, c.V = 20, c.HV = 2, c.decays = Decays::kSlow;
  const ForwardInputs x = draw_inputs(c);
  const Forward y = run_forward(c, x).y;
  ForwardCase other = c;
  other.seed = 99;
  for (const int64_t t : {0, 4, 7, 8, 14, 15, 31, 40, 62, 63, 64, 90, 130}) {
    ForwardInputs edited = draw_inputs(other);
    edited.h0 = x.h0;
    for (double& g : edited.g.x) g = -1e4;
    const auto keep = [&](Values& to, const Values& from) {
      std::copy_n(from.x.begin(), (t + 1) * from.heads * from.channels, to.x.begin());
    };
    keep(edited.q, x.q), keep(edited.k, x.k), keep(edited.v, x.v), keep(edited.g, x.g),
        keep(edited.b, x.b), keep(edited.w, x.w);
    const Forward z = run_forward(c, edited).y;
    const auto end = (t + 1) * c.HV * c.V;
    EXPECT_TRUE(std::equal(y.o.begin(), y.o.begin() + end, z.o.begin())) << "token " << t;
  }
}

// One sequence of the case's batch or pack, alone.
ForwardInputs alone(const ForwardInputs& x, const ForwardCase& c, int64_t n, int64_t b,
                    int64_t begin, int64_t end) {
  ForwardInputs y = x;
  const auto cut = [&](Values& v) {
    const auto row = v.heads * v.channels, first = (b * v.T + begin) * row;
    v.x = std::vector<double>(v.x.begin() + first, v.x.begin() + first + (end - begin) * row);
    v.T = end - begin;
  };
  cut(y.q), cut(y.k), cut(y.v), cut(y.g), cut(y.b), cut(y.w);
  const auto state = c.HV * c.K * c.V;
  y.h0 = std::vector<double>(x.h0.begin() + n * state, x.h0.begin() + (n + 1) * state);
  return y;
}

void expect_same_as_alone(const ForwardCase& c) {
  const ForwardInputs x = draw_inputs(c);
  const Forward y = run_forward(c, x).y;
  int64_t begin = 0;
  for (int64_t n = 0; n < c.N(); ++n) {
    const bool packed = !c.lens.empty();
    const int64_t length = packed ? c.lens[n] : c.T;
    ForwardCase single = c;
    single.B = 1, single.T = length,
    single.lens = packed && length == 0 ? std::vector<int64_t>{0} : std::vector<int64_t>{};
    const Forward z = run_forward(single, alone(x, c, n, packed ? 0 : n, packed ? begin : 0,
                                                packed ? begin + length : length))
                          .y;
    const auto o = y.o.begin() + (packed ? begin : n * c.T) * c.HV * c.V;
    EXPECT_TRUE(std::equal(z.o.begin(), z.o.end(), o)) << c.name() << " o of sequence " << n;
    EXPECT_TRUE(std::equal(z.ht.begin(), z.ht.end(), y.ht.begin() + n * c.HV * c.K * c.V))
        << c.name() << " ht of sequence " << n;
    begin += length;
  }
}

TEST_P(ForwardTest, ASequenceHasTheSameBitsAloneInABatchAndPacked) {
  ForwardCase c = base_;
  c.K = 40, c.V = 24;
  c.B = 3, c.T = 70;
  expect_same_as_alone(c);
  c.B = 1, c.lens = {0, 70, 1, 64, 0, 33}, c.T = 168;
  expect_same_as_alone(c);
}

// A large batch gets wide tiles of V's columns, a single sequence narrow ones.
TEST_P(ForwardTest, BitsDoNotDependOnHowVIsCut) {
  ForwardCase c = base_;
  c.K = 16, c.V = 144, c.T = 20, c.B = 140;
  const ForwardInputs x = draw_inputs(c);
  const Forward y = run_forward(c, x).y;
  ForwardCase single = c;
  single.B = 1;
  const Forward z = run_forward(single, alone(x, c, 139, 139, 0, 20)).y;
  EXPECT_TRUE(std::equal(z.o.begin(), z.o.end(), y.o.begin() + 139 * 20 * 144));
  EXPECT_TRUE(std::equal(z.ht.begin(), z.ht.end(), y.ht.begin() + 139 * 16 * 144));
}

TEST_P(ForwardTest, BitsDoNotDependOnWhatMemoryHeldOrOnWhatElseIsAskedFor) {
  ForwardCase c = base_;
  c.lens = {3, 0, 100, 40}, c.T = 143, c.K = 72, c.V = 40;
  const ForwardInputs x = draw_inputs(c);
  const Forward y = run_forward(c, x, 0xff).y;
  const Forward zero = run_forward(c, x, 0x00).y;
  c.saved = c.stages = true;
  const Forward more = run_forward(c, x, 0x7b).y;
  EXPECT_EQ(y.o, zero.o);
  EXPECT_EQ(y.ht, zero.ht);
  EXPECT_EQ(y.o, more.o);
  EXPECT_EQ(y.ht, more.ht);
}

TEST_P(ForwardTest, GroupedHeadsAreRepeatedHeads) {
  ForwardCase c = base_;
  c.T = 75, c.H = 2, c.HV = 6, c.K = 24, c.V = 16;
  const ForwardInputs x = draw_inputs(c);
  ForwardCase repeated = c;
  repeated.H = 6;
  ForwardInputs z = x;
  const auto repeat = [&](Values& v, const Values& from) {
    v = Values{from.T, 6, from.channels, std::vector<double>(3 * from.x.size())};
    for (int64_t t = 0; t < c.T; ++t)
      for (int64_t h = 0; h < 6; ++h)
        for (int64_t i = 0; i < from.channels; ++i) v.at(0, t, h, i) = from.at(0, t, h / 3, i);
  };
  repeat(z.q, x.q), repeat(z.k, x.k), repeat(z.g, x.g), repeat(z.b, x.b);
  z.A_log.assign(6, 0.0), z.dt_bias.assign(6 * c.K, 0.0);
  const Forward a = run_forward(c, x).y, b = run_forward(repeated, z).y;
  EXPECT_EQ(a.o, b.o);
  EXPECT_EQ(a.ht, b.ht);
}

// Exact law X1: powers of two in key channels and in v. Keys, queries and b stay away from zero: in
// fp16 their products would be subnormal.
TEST_P(ForwardTest, PowersOfTwoScaleExactly) {
  ForwardCase c = base_;
  c.T = 90, c.K = 24, c.V = 16, c.decays = Decays::kSlow;
  ForwardInputs x = draw_inputs(c);
  for (double& k : x.k.x) k = std::copysign(0.125 + 0.125 * std::min(1.0, std::abs(k)), k);
  for (double& q : x.q.x) q = std::copysign(0.125 + 0.125 * std::min(1.0, std::abs(q)), q);
  for (double& b : x.b.x) b = 0.5 + 0.5 * b;
  // Large enough that fp16 operands stay clear of its subnormal numbers.
  for (double& v : x.v.x) v *= 64;
  for (double& h : x.h0) h *= 64;
  for (Values* v : {&x.k, &x.q, &x.b})
    for (double& y : v->x) y = rounded(y, c.dtype);
  const Forward y = run_forward(c, x).y;
  for (int64_t t = 0; t < c.T; ++t)
    for (int64_t i = 0; i < c.K; i += 2)
      x.k.at(0, t, 0, i) *= 2, x.q.at(0, t, 0, i) /= 2, x.b.at(0, t, 0, i) /= 4;
  for (int64_t i = 0; i < c.K; i += 2)
    for (int64_t j = 0; j < c.V; ++j) x.h0[i * c.V + j] *= 2;
  Forward z = run_forward(c, x).y;
  for (int64_t i = 0; i < c.K; i += 2)
    for (int64_t j = 0; j < c.V; ++j) z.ht[i * c.V + j] /= 2;
  EXPECT_EQ(y.o, z.o);
  EXPECT_EQ(y.ht, z.ht);
  for (double& v : x.v.x) v *= 8;
  for (double& h : x.h0) h *= 8;
  z = run_forward(c, x).y;
  for (double& o : z.o) o /= 8;
  EXPECT_EQ(y.o, z.o);
}

TEST_P(ForwardTest, MoreSequencesTimesHeadsThanAGridHasRows) {
#if defined(GDR2_CUDA_ON_HOST)
  GTEST_SKIP() << "72000 CTAs take the emulation minutes";
#endif
  ForwardCase c = base_;
  c.K = 8, c.V = 8, c.T = 3, c.HV = 120;
  c.lens.assign(600, 0);
  c.lens[0] = 1, c.lens[599] = 2;
  expect_right(c);
}

}  // namespace
}  // namespace gdr2::cuda::test
