// SPDX-License-Identifier: Apache-2.0
// The chunk backward against the token backward in fp64, the values that are exact by construction,
// and the conservation laws (docs/MATH.md 6), under every product policy. The envelope per element
// is the suite's business.
#include "tests/kernels/cuda/backward_case.cuh"

namespace gdr2::cuda::test {
namespace {

// A gradient passes about twice as many products as an output, so its bounds are twice the forward
// test's: eight (fp32: 32) unit roundings u = 2^-(p+1) in the rms of a tensor. Single elements of a
// heavy-tailed tensor (spikes in the decays) may be off by 64 times that.
struct Tolerance {
  gdr2_format products;
  gdr2_dtype dtype;
  double rms;
  double worst() const { return 64 * rms; }
};
constexpr Tolerance kTolerances[] = {
    {GDR2_FORMAT_BF16, GDR2_BF16, 8 * 0x1p-9},
    {GDR2_FORMAT_F16, GDR2_F16, 8 * 0x1p-12},
    {GDR2_FORMAT_TF32, GDR2_F32, 8 * 0x1p-12},
    {GDR2_FORMAT_F32, GDR2_F32, 32 * 0x1p-24},
};

class BackwardTest : public OnDevice, public testing::WithParamInterface<Tolerance> {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    base_.products = GetParam().products;
    base_.dtype = GetParam().dtype;
  }

  void expect_near(const std::vector<double>& x, const std::vector<double>& y,
                   const std::string& what) {
    ASSERT_EQ(x.size(), y.size()) << what;
    const Distance d = distance(x, y);
    EXPECT_TRUE(d.rms <= GetParam().rms && d.worst <= GetParam().worst())
        << what << ": rms " << d.rms << ", worst " << d.worst;
  }
  void expect_right(const BackwardCase& c) {
    const ForwardInputs x = draw_inputs(c);
    const Cotangents d = draw_cotangents(c);
    const Gradients y = expected_gradients(c, x, d), z = run_backward(c, x, d).d;
    std::vector<const std::vector<double>*> wanted;
    y.each([&](const char*, const std::vector<double>& values) { wanted.push_back(&values); });
    size_t i = 0;
    z.each([&](const char* name, const std::vector<double>& values) {
      expect_near(values, *wanted[i++], name_of(c) + " " + name);
    });
  }

  BackwardCase base_;
};
std::string products_name(const testing::TestParamInfo<Tolerance>& info) {
  constexpr const char* kNames[] = {"", "F64", "F32", "TF32", "BF16", "F16"};
  return kNames[info.param.products];
}
INSTANTIATE_TEST_SUITE_P(Products, BackwardTest, testing::ValuesIn(kTolerances), products_name);

bool same(const Gradients& a, const Gradients& b) {
  return a.dq == b.dq && a.dk == b.dk && a.dv == b.dv && a.dg == b.dg && a.db == b.db &&
         a.dw == b.dw && a.dh0 == b.dh0 && a.dA_log == b.dA_log && a.ddt_bias == b.ddt_bias;
}

TEST_P(BackwardTest, EveryTailLength) {
  for (int64_t t = 1; t <= 130; t += t < 66 ? 3 : 13) {
    BackwardCase c = base_;
    c.T = t, c.B = 2, c.K = 32, c.V = 32, c.seed = static_cast<uint64_t>(t);
    expect_right(c);
  }
}

TEST_P(BackwardTest, EverySizeOfHeadsAndChannels) {
  constexpr int64_t kK[] = {16, 48, 60, 64, 100, 128, 256, 192},
                    kV[] = {100, 256, 16, 60, 128, 48, 64, 192};
  for (int i = 0; i < 8; ++i) {
    BackwardCase c = base_;
    c.T = 97, c.K = kK[i], c.V = kV[i], c.H = 1 + i % 2, c.HV = c.H * (1 + i % 3),
    c.seed = static_cast<uint64_t>(i);
    c.value_by_key = i % 2 != 0, c.strided = i % 3 == 1, c.h0 = i != 3, c.l2norm = i >= 5;
    expect_right(c);
  }
}

TEST_P(BackwardTest, EveryRangeOfDecays) {
  for (const Decays d : {Decays::kSlow, Decays::kFast, Decays::kSpike90, Decays::kSpike1e4,
                         Decays::kZero, Decays::kMinusInfinity, Decays::kMixed}) {
    BackwardCase c = base_;
    c.T = 200, c.K = 64, c.V = 48, c.decays = d;
    expect_right(c);
  }
}

TEST_P(BackwardTest, EveryOption) {
  for (int i = 0; i < 6; ++i) {
    BackwardCase c = base_;
    c.T = 100, c.B = 2, c.H = 2, c.HV = 2, c.K = 72, c.V = 40;
    c.gate = static_cast<gdr2_gate>(i % 3), c.l2norm = i % 2 != 0, c.neg_eigval = i >= 3;
    if (c.dtype != GDR2_F32) c.g_dtype = i % 2 != 0 ? c.dtype : GDR2_F32;
    expect_right(c);
  }
}

TEST_P(BackwardTest, PackedSequencesWithEmptyOnes) {
  for (const std::vector<int64_t>& lens :
       {std::vector<int64_t>{0, 5, 64, 0, 1, 130, 63, 0}, {0, 0}, {7}, {1, 1, 1}}) {
    BackwardCase c = base_;
    c.lens = lens, c.T = 0, c.H = 2, c.HV = 4, c.gate = GDR2_GATE_SOFTPLUS;
    for (const int64_t n : lens) c.T += n;
    expect_right(c);
  }
}

TEST_P(BackwardTest, LossOnTheOutputsOrOnTheFinalStateAlone) {
  BackwardCase c = base_;
  c.T = 100, c.K = 40, c.V = 24, c.decays = Decays::kSlow;
  c.loss_on_ht = false;
  expect_right(c);
  c.loss_on_ht = true, c.loss_on_o = false;
  expect_right(c);
}

TEST_P(BackwardTest, WithoutACotangentAllGradientsAreZero) {
  BackwardCase c = base_;
  c.T = 70, c.K = 40, c.V = 24, c.loss_on_o = c.loss_on_ht = false;
  run_backward(c, draw_inputs(c), draw_cotangents(c))
      .d.each([](const char* name, const std::vector<double>& d) {
        EXPECT_EQ(d, std::vector<double>(d.size())) << name;
      });
}

TEST_P(BackwardTest, TokensBehindTheLossGetExactZeros) {
  for (const int64_t last : {0, 15, 16, 40, 63, 64, 90}) {
    BackwardCase c = base_;
    c.T = 140, c.K = 40, c.V = 24, c.HV = 2, c.loss_on_ht = false, c.last_loss_token = last;
    const Gradients d = run_backward(c, draw_inputs(c), draw_cotangents(c)).d;
    const auto expect_zero = [&](const std::vector<double>& x, int64_t row) {
      for (size_t i = (last + 1) * row; i < x.size(); ++i)
        ASSERT_EQ(x[i], 0.0) << "token " << i / row << " behind " << last;
    };
    for (const auto* x : {&d.dq, &d.dk, &d.dg, &d.db}) expect_zero(*x, c.H * c.K);
    for (const auto* x : {&d.dv, &d.dw}) expect_zero(*x, c.HV * c.V);
  }
}

// The first decay meets no state; a decay of exp(-inf) = 0 stands in no term.
TEST_P(BackwardTest, DecayGradientsThatAreZeroAreExactlyZero) {
  BackwardCase c = base_;
  c.T = 150, c.K = 40, c.V = 24, c.HV = 2, c.h0 = false, c.decays = Decays::kMinusInfinity;
  const ForwardInputs x = draw_inputs(c);
  const Gradients d = run_backward(c, x, draw_cotangents(c)).d;
  for (int64_t i = 0; i < c.K; ++i) EXPECT_EQ(d.dg[i], 0.0) << i;
  for (size_t i = 0; i < d.dg.size(); ++i)
    if (std::isinf(x.g.x[i])) {
      EXPECT_EQ(d.dg[i], 0.0) << i;
    }
}

TEST_P(BackwardTest, ASaturatedGateHasFiniteGradients) {
  for (const gdr2_gate gate : {GDR2_GATE_SOFTPLUS, GDR2_GATE_LOWER_BOUND}) {
    for (const double raw : {-200.0, 200.0}) {
      BackwardCase c = base_;
      c.gate = gate, c.T = 20;
      ForwardInputs x = draw_inputs(c);
      for (double& a : x.A_log) a = 100;  // exp overflows fp32
      for (double& g : x.g.x) g = raw;
      for (double& bias : x.dt_bias) bias = 0;
      run_backward(c, x, draw_cotangents(c))
          .d.each([&](const char* name, const std::vector<double>& d) {
            for (const double y : d)
              ASSERT_TRUE(std::isfinite(y)) << name << " gate " << gate << " raw " << raw;
          });
    }
  }
}

// (E4) dg_t - dg_{t+1} = q dq + 2 b db - k dk by channel, closed by the states at both ends: across
// blocks, chunks and heads of a group.
TEST_P(BackwardTest, DecayGradientsKeepTheConservationLaw) {
  BackwardCase c = base_;
  c.T = 150, c.K = 40, c.V = 24, c.HV = 2, c.decays = Decays::kSlow;
  const ForwardInputs x = draw_inputs(c);
  const Cotangents cotangents = draw_cotangents(c);
  const Gradients d = run_backward(c, x, cotangents).d;
  const Forward y = expected(c, x);
  const auto over_states = [&](const std::vector<double>& S, const std::vector<double>& dS,
                               int64_t i) {
    double sum = 0;
    for (int64_t hv = 0; hv < c.HV; ++hv)
      for (int64_t j = 0; j < c.V; ++j)
        sum += S[(hv * c.K + i) * c.V + j] * dS[(hv * c.K + i) * c.V + j];
    return sum;
  };
  std::vector<double> left, right;
  for (int64_t i = 0; i < c.K; ++i) {
    double after = over_states(y.ht, cotangents.dht, i);
    for (int64_t t = c.T; t-- > 0;) {
      const int64_t at = t * c.K + i;
      left.push_back(d.dg[at]);
      right.push_back(after + x.q.x[at] * d.dq[at] + 2 * x.b.x[at] * d.db[at] -
                      x.k.x[at] * d.dk[at]);
      after = d.dg[at];
    }
    left.push_back(d.dg[i]);
    right.push_back(over_states(x.h0, d.dh0, i));
  }
  expect_near(left, right, "dg");
}

TEST_P(BackwardTest, BitsDoNotDependOnWhatMemoryHeldOrOnWhatWasKept) {
  BackwardCase c = base_;
  c.lens = {3, 0, 100, 40}, c.T = 143, c.K = 72, c.V = 40, c.gate = GDR2_GATE_SOFTPLUS,
  c.l2norm = true;
  const ForwardInputs x = draw_inputs(c);
  const Cotangents d = draw_cotangents(c);
  const Gradients y = run_backward(c, x, d, 0xff).d;
  EXPECT_TRUE(same(y, run_backward(c, x, d, 0x00).d));
  c.saved = c.stages = true;
  EXPECT_TRUE(same(y, run_backward(c, x, d, 0x7b).d));
}

TEST_P(BackwardTest, AbsentStatesCountAsZeros) {
  BackwardCase c = base_;
  c.T = 70, c.K = 40, c.V = 24;
  ForwardInputs x = draw_inputs(c);
  Cotangents d = draw_cotangents(c);
  x.h0.assign(x.h0.size(), 0.0);
  d.dht.assign(d.dht.size(), 0.0);
  const Gradients given = run_backward(c, x, d).d;
  c.h0 = c.loss_on_ht = false;
  EXPECT_TRUE(same(given, run_backward(c, x, d).d));
}

// Sequence n of the case's batch or pack, alone.
void expect_same_as_alone(const BackwardCase& c, int64_t first_checked = 0) {
  const ForwardInputs x = draw_inputs(c);
  const Cotangents d = draw_cotangents(c);
  const Gradients y = run_backward(c, x, d).d;
  int64_t begin = 0;
  for (int64_t n = 0; n < c.N(); ++n) {
    const bool packed = !c.lens.empty();
    const int64_t length = packed ? c.lens[n] : c.T, first = packed ? begin : n * c.T,
                  state = c.HV * c.K * c.V;
    begin += length;
    if (n < first_checked) continue;
    BackwardCase single = c;
    single.B = 1, single.T = length,
    single.lens = packed && length == 0 ? std::vector<int64_t>{0} : std::vector<int64_t>{};
    ForwardInputs part = x;
    Cotangents part_d = d;
    for (Values* v : {&part.q, &part.k, &part.v, &part.g, &part.b, &part.w, &part_d.d_o}) {
      const int64_t row = v->heads * v->channels;
      v->x = std::vector<double>(v->x.begin() + first * row, v->x.begin() + (first + length) * row);
      v->T = length;
    }
    part.h0 = std::vector<double>(x.h0.begin() + n * state, x.h0.begin() + (n + 1) * state);
    part_d.dht = std::vector<double>(d.dht.begin() + n * state, d.dht.begin() + (n + 1) * state);
    const Gradients z = run_backward(single, part, part_d).d;
    const auto expect_part = [&](const std::vector<double>& whole, const std::vector<double>& alone,
                                 int64_t row, const char* name) {
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.begin() + first * row))
          << name_of(c) << " " << name << " of " << n;
    };
    expect_part(y.dq, z.dq, c.H * c.K, "dq"), expect_part(y.dk, z.dk, c.H * c.K, "dk"),
        expect_part(y.dg, z.dg, c.H * c.K, "dg");
    expect_part(y.db, z.db, c.H * c.K, "db"), expect_part(y.dv, z.dv, c.HV * c.V, "dv"),
        expect_part(y.dw, z.dw, c.HV * c.V, "dw");
    EXPECT_TRUE(std::equal(z.dh0.begin(), z.dh0.end(), y.dh0.begin() + n * state))
        << name_of(c) << " dh0 of " << n;
  }
}

TEST_P(BackwardTest, ASequenceHasTheSameBitsAloneInABatchAndPacked) {
  BackwardCase c = base_;
  c.K = 40, c.V = 24;
  c.B = 3, c.T = 70;
  expect_same_as_alone(c);
  c.B = 1, c.lens = {0, 70, 1, 64, 0, 33}, c.T = 168;
  expect_same_as_alone(c);
}

// A large batch gets wide tiles of V's columns, a single sequence narrow ones.
TEST_P(BackwardTest, BitsDoNotDependOnHowVIsCut) {
  BackwardCase c = base_;
  c.K = 16, c.V = 144, c.T = 5, c.B = 60;
  expect_same_as_alone(c, 59);
}

TEST_P(BackwardTest, StagesAreWhatTheyAreCalled) {
  BackwardCase c = base_;
  c.T = 100, c.K = 80, c.V = 40, c.stages = true;
  const ForwardInputs x = draw_inputs(c);
  const Cotangents d = draw_cotangents(c);
  const BackwardResult r = run_backward(c, x, d);
  const auto &ds = r.stage[GDR2_STAGE_DH], &p = r.stage[GDR2_STAGE_P];
  EXPECT_TRUE(std::equal(d.dht.begin(), d.dht.end(), ds.begin() + c.K * c.V))
      << "the last chunk ends in the final state";
  for (int64_t t = 0; t < 128; ++t)
    for (int64_t j = 0; j < c.V; ++j) {
      const double dz = p[t * c.V + j];
      if (t < c.T) {
        ASSERT_NEAR(r.d.dv[t * c.V + j], x.w.x[t * c.V + j] * dz,
                    GetParam().rms * std::abs(dz) + 1e-30)
            << t;
      } else {
        ASSERT_EQ(dz, 0.0) << t;
      }
    }
}

// The grid does not depend on the products.
class BackwardGridTest : public OnDevice {};

TEST_F(BackwardGridTest, MoreSequencesTimesHeadsThanAGridHasRows) {
  BackwardCase c;
  c.K = 8, c.V = 8, c.T = 3, c.HV = 120;
  c.lens.assign(550, 0);
  c.lens[0] = 1, c.lens[549] = 2;
  const ForwardInputs x = draw_inputs(c);
  const Cotangents d = draw_cotangents(c);
  const Gradients y = expected_gradients(c, x, d), z = run_backward(c, x, d).d;
  const double bound = kTolerances[0].rms;
  EXPECT_TRUE(distance(z.dq, y.dq).rms <= bound && distance(z.dv, y.dv).rms <= bound &&
              distance(z.dh0, y.dh0).rms <= bound);
}

}  // namespace
}  // namespace gdr2::cuda::test
