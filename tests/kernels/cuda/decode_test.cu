// SPDX-License-Identifier: Apache-2.0
// Decoding through the C interface against the token recurrence in fp64, with the states in a
// pool in scattered slots.
#include <cstring>

#include "kernels/abi/gdr2_kernel.h"
#include "tests/kernels/cuda/forward_case.cuh"

namespace gdr2::cuda::test {
namespace {

class DecodeTest : public OnDevice {};

// The output is rounded once (half a unit of its type); everything before is fp32, where sums of
// up to 256 terms and a few tokens stay far below 64 units of the tensor's rms.
double bound(double y, double rms, gdr2_dtype dtype) {
  const double unit = dtype == GDR2_BF16 ? 0x1p-8 : dtype == GDR2_F16 ? 0x1p-11 : 0x1p-24;
  return unit * std::abs(y) + (dtype == GDR2_F16 ? 0x1p-25 : 0.0) + 64 * 0x1p-24 * rms;
}

void expect_near(const std::vector<double>& x, const std::vector<double>& y, gdr2_dtype dtype,
                 const std::string& what) {
  double power = 0;
  for (const double value : y) power += value * value;
  const double rms = std::sqrt(power / static_cast<double>(y.size()));
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_TRUE(std::abs(x[i] - y[i]) <= bound(y[i], rms, dtype))
        << what << "[" << i << "] " << x[i] << " for " << y[i];
  }
}

gdr2_tensor abi_tensor(const StoredTensor& stored) {
  const TokenTensor t = stored.tensor();
  return {t.data, {t.batch, t.token, t.head, 1}, t.dtype, 0};
}

gdr2_problem abi_problem(const ForwardCase& c) {
  gdr2_problem p{};
  p.struct_size = sizeof p;
  p.dtype = c.dtype, p.g_dtype = c.g_dtype, p.products = c.products;
  p.B = c.B, p.T = c.T, p.N = c.B, p.H = c.H, p.HV = c.HV, p.K = c.K, p.V = c.V;
  p.scale = 1 / std::sqrt(static_cast<double>(c.K));
  p.gate = c.gate, p.lower_bound = -5, p.l2norm = c.l2norm, p.l2norm_eps = 1e-6,
  p.neg_eigval = c.neg_eigval;
  p.state_layout = c.value_by_key ? GDR2_STATE_VK : GDR2_STATE_KV;
  return p;
}

struct Decoded {
  std::vector<double> o;
  std::vector<float> pool;
};

// Row n continues slot slots[n] of the pool.
Decoded decode(const ForwardCase& c, const ForwardInputs& x, const std::vector<float>& pool,
               const std::vector<int32_t>& slots) {
  const StoredTensor q(x.q, c.B, c.dtype, c.strided), k(x.k, c.B, c.dtype, c.strided),
      v(x.v, c.B, c.dtype, c.strided), g(x.g, c.B, c.g_dtype, c.strided),
      b(x.b, c.B, c.dtype, c.strided), w(x.w, c.B, c.dtype, c.strided);
  const Values nothing{c.T, c.HV, c.V, std::vector<double>(c.B * c.T * c.HV * c.V, std::nan(""))};
  const StoredTensor o(nothing, c.B, c.dtype, c.strided);
  const DeviceBuffer<float> A_log(std::vector<float>(x.A_log.begin(), x.A_log.end()));
  const DeviceBuffer<float> dt_bias(std::vector<float>(x.dt_bias.begin(), x.dt_bias.end()));
  const DeviceBuffer<float> states(pool);
  const DeviceBuffer<int32_t> slot(slots);

  gdr2_decode call{};
  call.q = abi_tensor(q), call.k = abi_tensor(k), call.v = abi_tensor(v), call.g = abi_tensor(g),
  call.b = abi_tensor(b), call.w = abi_tensor(w);
  call.o = abi_tensor(o);
  call.A_log = {A_log.data(), {0, 0, 0, 1}, GDR2_F32, 0};
  call.dt_bias = {dt_bias.data(), {0, 0, c.K, 1}, GDR2_F32, 0};
  const int64_t columns = c.value_by_key ? c.K : c.V;
  call.pool = {states.data(), {c.HV * c.K * c.V, c.K * c.V, columns, 1}, GDR2_F32, 0};
  call.slot = slot.data();
  call.slots = static_cast<int64_t>(pool.size()) / (c.HV * c.K * c.V);
  const gdr2_problem p = abi_problem(c);
  gdr2_workspace workspace{};
  EXPECT_EQ(gdr2_kernel_v1()->decode(&p, &call, &workspace), GDR2_OK) << workspace.error;
  return {o.read(), states.read()};
}

// The pool has every odd slot in use, the last row in the first of them; NaN elsewhere.
void expect_right(const ForwardCase& c) {
  const ForwardInputs x = draw_inputs(c);
  const Forward y = expected(c, x);
  const int64_t size = c.HV * c.K * c.V;
  const std::vector<float> h0 = laid_out(x.h0, c, false);
  std::vector<float> pool((2 * c.B + 1) * size, std::numeric_limits<float>::quiet_NaN());
  std::vector<int32_t> slots;
  for (int64_t n = 0; n < c.B; ++n) {
    slots.push_back(static_cast<int32_t>(2 * (c.B - 1 - n) + 1));
    std::copy_n(h0.begin() + n * size, size, pool.begin() + slots.back() * size);
  }
  const Decoded got = decode(c, x, pool, slots);
  expect_near(got.o, y.o, c.dtype, c.name() + " o");
  std::vector<double> ht;
  for (int64_t n = 0; n < c.B; ++n)
    ht.insert(ht.end(), got.pool.begin() + slots[n] * size,
              got.pool.begin() + (slots[n] + 1) * size);
  const auto kv = laid_out(ht, c, true);
  expect_near({kv.begin(), kv.end()}, y.ht, GDR2_F32, c.name() + " state");
  for (int64_t s = 0; s <= 2 * c.B; s += 2)
    EXPECT_EQ(std::memcmp(&got.pool[s * size], &pool[s * size], size * sizeof(float)), 0)
        << "slot " << s << " was written";
}

ForwardCase decode_case(gdr2_dtype dtype) {
  ForwardCase c;
  c.dtype = dtype;
  c.products = dtype == GDR2_BF16  ? GDR2_FORMAT_BF16
               : dtype == GDR2_F16 ? GDR2_FORMAT_F16
                                   : GDR2_FORMAT_F32;
  c.B = 3, c.T = 1, c.H = 2, c.HV = 4, c.K = 64, c.V = 48;
  return c;
}

TEST_F(DecodeTest, OneTokenInEveryDtypeAndLayout) {
  for (const gdr2_dtype dtype : {GDR2_BF16, GDR2_F16, GDR2_F32})
    for (const gdr2_dtype g : {dtype, GDR2_F32})
      for (const bool value_by_key : {false, true}) {
        ForwardCase c = decode_case(dtype);
        c.g_dtype = g, c.value_by_key = value_by_key;
        expect_right(c);
      }
}

TEST_F(DecodeTest, EverySizeOfChannels) {
  for (const int64_t K : {1, 7, 16, 60, 64, 100, 128, 200, 256})
    for (const int64_t V : {1, 5, 8, 36, 128, 256})
      for (const bool value_by_key : {false, true}) {
        ForwardCase c = decode_case(K % 8 == 0 ? GDR2_BF16 : GDR2_F32);
        c.B = 2, c.H = 1, c.HV = 2, c.T = 2, c.K = K, c.V = V, c.value_by_key = value_by_key;
        expect_right(c);
      }
}

// States are read in packs along the channels, along the columns or by elements, but summed in one
// order.
TEST_F(DecodeTest, TheLayoutOfTheStateDoesNotChangeABit) {
  for (const int64_t K : {7, 20, 64, 100, 128, 200, 256})
    for (const int64_t V : {36, 37, 128}) {
      ForwardCase c = decode_case(GDR2_F32);
      c.B = 1, c.H = 1, c.HV = 2, c.T = 2, c.K = K, c.V = V, c.l2norm = true;
      const ForwardInputs x = draw_inputs(c);
      ForwardCase vk = c;
      vk.value_by_key = true;
      const Decoded one = decode(c, x, laid_out(x.h0, c, false), {0}),
                    other = decode(vk, x, laid_out(x.h0, vk, false), {0});
      EXPECT_EQ(one.o, other.o) << c.name();
      EXPECT_EQ(one.pool, laid_out({other.pool.begin(), other.pool.end()}, vk, true)) << c.name();
    }
}

TEST_F(DecodeTest, SeveralTokensAndOptions) {
  for (const gdr2_gate gate : {GDR2_GATE_LOG, GDR2_GATE_SOFTPLUS, GDR2_GATE_LOWER_BOUND})
    for (const bool flag : {false, true})
      for (const gdr2_dtype dtype : {GDR2_BF16, GDR2_F16, GDR2_F32}) {
        ForwardCase c = decode_case(dtype);
        c.T = 5, c.gate = gate, c.l2norm = flag, c.neg_eigval = !flag, c.strided = flag;
        c.K = flag ? 37 : 128;
        expect_right(c);
      }
}

TEST_F(DecodeTest, AnyDecay) {
  for (const Decays decays :
       {Decays::kSlow, Decays::kFast, Decays::kSpike1e4, Decays::kZero, Decays::kMinusInfinity}) {
    ForwardCase c = decode_case(GDR2_F32);
    c.T = 7, c.decays = decays;
    expect_right(c);
  }
}

TEST_F(DecodeTest, ManyStatesFillWholeBlocks) {
  ForwardCase c = decode_case(GDR2_BF16);
  c.B = 33, c.H = 4, c.HV = 8, c.K = 16, c.V = 64;
  expect_right(c);
}

TEST_F(DecodeTest, APaddedRowGivesZeroAndTouchesNoState) {
  ForwardCase c = decode_case(GDR2_BF16);
  c.T = 3;
  const ForwardInputs x = draw_inputs(c);
  const int64_t size = c.HV * c.K * c.V, row = c.T * c.HV * c.V;
  const std::vector<float> h0 = laid_out(x.h0, c, false);
  const Decoded all = decode(c, x, h0, {0, 1, 2}), padded = decode(c, x, h0, {0, -1, 2});
  for (int64_t i = 0; i < 3 * row; ++i) EXPECT_EQ(padded.o[i], i / row == 1 ? 0.0 : all.o[i]);
  for (int64_t i = 0; i < 3 * size; ++i)
    EXPECT_EQ(padded.pool[i], i / size == 1 ? h0[i] : all.pool[i]);
}

TEST_F(DecodeTest, ASlotPastThePoolShowsAsNan) {
  ForwardCase c = decode_case(GDR2_F32);
  c.B = 1;
  const ForwardInputs x = draw_inputs(c);
  const std::vector<float> h0 = laid_out(x.h0, c, false);
  const Decoded got = decode(c, x, h0, {1});
  for (const double o : got.o) EXPECT_TRUE(std::isnan(o));
  EXPECT_EQ(got.pool, h0);
}

// The same row alone and in a batch, the state at another place: same bits.
TEST_F(DecodeTest, ARowDoesNotSeeItsNeighbours) {
  ForwardCase c = decode_case(GDR2_BF16);
  c.B = 9, c.H = 8, c.HV = 8, c.V = 256, c.T = 2;
  const ForwardInputs x = draw_inputs(c);
  const std::vector<float> h0 = laid_out(x.h0, c, false);
  std::vector<int32_t> slots;
  for (int32_t n = 0; n < c.B; ++n) slots.push_back(n);
  const Decoded all = decode(c, x, h0, slots);
  ForwardCase one = c;
  one.B = 1;
  ForwardInputs first = x;
  const Decoded alone = decode(one, first, {h0.begin(), h0.begin() + c.HV * c.K * c.V}, {0});
  for (size_t i = 0; i < alone.o.size(); ++i) EXPECT_EQ(alone.o[i], all.o[i]);
  for (size_t i = 0; i < alone.pool.size(); ++i) EXPECT_EQ(alone.pool[i], all.pool[i]);
}

}  // namespace
}  // namespace gdr2::cuda::test
