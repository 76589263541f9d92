// SPDX-License-Identifier: Apache-2.0
// A forward problem for tests of the CUDA kernels: draws inputs, lays them out in memory that
// kernels reach (strided, with poisoned gaps, when asked), runs launch_forward and computes the
// same by the token recurrence (docs/MATH.md 2) in fp64.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/forward.hpp"
#include "kernels/cuda/intermediates.hpp"
#include "tests/kernels/cuda/device_buffer.cuh"

namespace gdr2::cuda::test {

// Counter-based uniform numbers in [0, 1).
inline double uniform(uint64_t seed, uint64_t tensor, uint64_t index) {
  uint64_t x = seed * 0x9e3779b97f4a7c15ull + tensor * 0xbf58476d1ce4e5b9ull +
               index * 0x94d049bb133111ebull + 0x2545f4914f6cdd1dull;
  for (int round = 0; round < 3; ++round) x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull, x ^= x >> 32;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

enum class Decays { kSlow, kFast, kSpike90, kSpike1e4, kZero, kMinusInfinity, kMixed };

struct ForwardCase {
  int64_t B = 1, T = 64, H = 1, HV = 1, K = 64, V = 64;
  std::vector<int64_t> lens;  // packed
  gdr2_dtype dtype = GDR2_BF16, g_dtype = GDR2_F32;
  gdr2_format products = GDR2_FORMAT_BF16;
  Decays decays = Decays::kMixed;
  gdr2_gate gate = GDR2_GATE_LOG;
  bool h0 = true, l2norm = false, neg_eigval = false, value_by_key = false;
  bool strided = false;  // odd gaps between rows, filled with NaN
  bool stages = false, saved = false;
  uint64_t seed = 1;

  int64_t N() const { return lens.empty() ? B : static_cast<int64_t>(lens.size()); }
  std::string name() const {
    std::string s = "B" + std::to_string(B) + " T" + std::to_string(T) + " H" + std::to_string(H) +
                    " HV" + std::to_string(HV) + " K" + std::to_string(K) + " V" +
                    std::to_string(V) + " products" + std::to_string(products) + " g" +
                    std::to_string(static_cast<int>(decays)) + " gate" + std::to_string(gate);
    for (int64_t n : lens) s += "," + std::to_string(n);
    if (!h0) s += " no-h0";
    if (l2norm) s += " l2norm";
    if (neg_eigval) s += " neg_eigval";
    if (value_by_key) s += " vk";
    if (strided) s += " strided";
    if (saved) s += " saved";
    return s;
  }
};

// Values [B, T, heads, channels] as stored, in fp64 exactly.
struct Values {
  int64_t T = 0, heads = 0, channels = 0;
  std::vector<double> x;
  double& at(int64_t b, int64_t t, int64_t h, int64_t c) {
    return x[((b * T + t) * heads + h) * channels + c];
  }
  double at(int64_t b, int64_t t, int64_t h, int64_t c) const {
    return x[((b * T + t) * heads + h) * channels + c];
  }
};

inline double rounded(double x, gdr2_dtype dtype) {
  const float f = static_cast<float>(x);
  return dtype == GDR2_BF16  ? value(number<Bf16>(f))
         : dtype == GDR2_F16 ? value(number<Fp16>(f))
                             : f;
}

inline double draw_decay(const ForwardCase& c, uint64_t i, int64_t token) {
  const double u = uniform(c.seed, 5, i), pick = uniform(c.seed, 6, i);
  switch (c.decays) {
    case Decays::kSlow: return -1e-4 - 0.05 * u;
    case Decays::kFast: return -0.1 - 5 * u;
    case Decays::kSpike90: return token % 23 == 11 ? -90.0 : -0.05 * u;
    case Decays::kSpike1e4: return token % 37 == 5 ? -1e4 : -0.01 * u;
    case Decays::kZero: return 0.0;
    case Decays::kMinusInfinity:
      return pick < 0.03 ? -std::numeric_limits<double>::infinity() : -0.3 * u;
    default: break;
  }
  if (pick < 0.1) return 0.0;
  if (pick < 0.15) return -std::numeric_limits<double>::infinity();
  if (pick < 0.2) return -40.0 * u;
  return -std::pow(10.0, -5 + 5.5 * u);
}

struct ForwardInputs {
  Values q, k, v, g, b, w;
  std::vector<double> h0;  // [N, HV, K, V]
  std::vector<double> A_log, dt_bias;
};

inline Values draw(int64_t B, int64_t T, int64_t heads, int64_t channels,
                   const std::function<double(uint64_t, int64_t)>& f) {
  Values v{T, heads, channels, std::vector<double>(B * T * heads * channels)};
  for (size_t i = 0; i < v.x.size(); ++i)
    v.x[i] = f(i, static_cast<int64_t>(i) / (heads * channels) % T);
  return v;
}

// Normal numbers by the sum of uniforms.
inline double normal(uint64_t seed, uint64_t tensor, uint64_t i) {
  double s = -6;
  for (uint64_t n = 0; n < 12; ++n) s += uniform(seed, tensor, 12 * i + n);
  return s;
}

inline ForwardInputs draw_inputs(const ForwardCase& c) {
  ForwardInputs x;
  const double unit = c.l2norm ? 1.0 : 1.0 / std::sqrt(static_cast<double>(c.K));
  const auto rnd = [&](double y) { return rounded(y, c.dtype); };
  x.q = draw(c.B, c.T, c.H, c.K,
             [&](uint64_t i, int64_t) { return rnd(normal(c.seed, 1, i) * unit); });
  x.k = draw(c.B, c.T, c.H, c.K, [&](uint64_t i, int64_t) {
    return rnd((normal(c.seed, 2, i) + 0.7 * normal(c.seed, 7, i % c.K)) * unit / 1.3);
  });
  x.v = draw(c.B, c.T, c.HV, c.V, [&](uint64_t i, int64_t) { return rnd(normal(c.seed, 3, i)); });
  x.w = draw(c.B, c.T, c.HV, c.V, [&](uint64_t i, int64_t) { return rnd(uniform(c.seed, 4, i)); });
  x.b = draw(c.B, c.T, c.H, c.K, [&](uint64_t i, int64_t) { return rnd(uniform(c.seed, 8, i)); });
  x.g = draw(c.B, c.T, c.H, c.K, [&](uint64_t i, int64_t t) {
    return rounded(c.gate == GDR2_GATE_LOG ? draw_decay(c, i, t) : 4 * normal(c.seed, 9, i) - 2,
                   c.g_dtype);
  });
  x.h0.assign(c.N() * c.HV * c.K * c.V, 0.0);
  if (c.h0)
    for (size_t i = 0; i < x.h0.size(); ++i) x.h0[i] = static_cast<float>(normal(c.seed, 10, i));
  for (int64_t h = 0; h < c.H; ++h)
    x.A_log.push_back(static_cast<float>(2 * uniform(c.seed, 11, h) - 1));
  for (int64_t i = 0; i < c.H * c.K; ++i)
    x.dt_bias.push_back(static_cast<float>(normal(c.seed, 12, i)));
  return x;
}

inline double log_decay_of(const ForwardCase& c, const ForwardInputs& x, int64_t b, int64_t t,
                           int64_t h, int64_t channel) {
  const double g = x.g.at(b, t, h, channel);
  if (c.gate == GDR2_GATE_LOG) return g;
  const double y = g + x.dt_bias[h * c.K + channel], rate = std::exp(x.A_log[h]);
  if (c.gate == GDR2_GATE_SOFTPLUS)
    return -rate * (y > 0 ? y + std::log1p(std::exp(-y)) : std::log1p(std::exp(y)));
  return -5.0 / (1 + std::exp(-rate * y));
}

struct Forward {
  std::vector<double> o;   // [B, T, HV, V]
  std::vector<double> ht;  // [N, HV, K, V]
};

// Tokens [begin, end) of batch entry b, one head.
inline void token_recurrence(const ForwardCase& c, const ForwardInputs& x, int64_t n, int64_t b,
                             int64_t begin, int64_t end, int64_t hv, Forward& y) {
  const int64_t h = hv / (c.HV / c.H), K = c.K, V = c.V;
  double* S = y.ht.data() + (n * c.HV + hv) * K * V;
  std::copy_n(x.h0.data() + (n * c.HV + hv) * K * V, K * V, S);
  std::vector<double> u(V);
  for (int64_t t = begin; t < end; ++t) {
    double qq = 0, kk = 0;
    for (int64_t i = 0; i < K; ++i)
      qq += std::pow(x.q.at(b, t, h, i), 2), kk += std::pow(x.k.at(b, t, h, i), 2);
    const double rq = c.l2norm ? 1 / std::sqrt(qq + 1e-6) : 1,
                 rk = c.l2norm ? 1 / std::sqrt(kk + 1e-6) : 1;
    for (int64_t j = 0; j < V; ++j) u[j] = x.w.at(b, t, hv, j) * x.v.at(b, t, hv, j);
    for (int64_t i = 0; i < K; ++i) {
      const double alpha = std::exp(log_decay_of(c, x, b, t, h, i)),
                   e = x.b.at(b, t, h, i) * (c.neg_eigval ? 2 : 1) * rk * x.k.at(b, t, h, i);
      for (int64_t j = 0; j < V; ++j) S[i * V + j] *= alpha, u[j] -= e * S[i * V + j];
    }
    double* o = y.o.data() + ((b * c.T + t) * c.HV + hv) * V;
    std::fill_n(o, V, 0.0);
    const double scale = 1 / std::sqrt(static_cast<double>(K));
    for (int64_t i = 0; i < K; ++i) {
      const double k = rk * x.k.at(b, t, h, i), q = rq * scale * x.q.at(b, t, h, i);
      for (int64_t j = 0; j < V; ++j) S[i * V + j] += k * u[j], o[j] += q * S[i * V + j];
    }
  }
}

inline Forward expected(const ForwardCase& c, const ForwardInputs& x) {
  Forward y{std::vector<double>(c.B * c.T * c.HV * c.V),
            std::vector<double>(c.N() * c.HV * c.K * c.V)};
  int64_t begin = 0;
  for (int64_t n = 0; n < c.N(); ++n) {
    const int64_t b = c.lens.empty() ? n : 0, first = c.lens.empty() ? 0 : begin,
                  last = c.lens.empty() ? c.T : begin + c.lens[n];
    for (int64_t hv = 0; hv < c.HV; ++hv) token_recurrence(c, x, n, b, first, last, hv, y);
    begin = last;
  }
  return y;
}

// A token tensor in memory that kernels reach; rows `gap` elements apart beyond dense, gaps
// poisoned.
class StoredTensor {
 public:
  StoredTensor(const Values& v, int64_t B, gdr2_dtype dtype, bool strided)
      : B_(B), like_(v), dtype_(dtype) {
    row_ = v.channels + (strided ? 3 : 0);
    offset_ = strided ? 1 : 0;
    std::vector<float> values(offset_ + B * v.T * v.heads * row_ + 8,
                              std::numeric_limits<float>::quiet_NaN());
    for (int64_t r = 0; r < B * v.T * v.heads; ++r)
      for (int64_t c = 0; c < v.channels; ++c)
        values[offset_ + r * row_ + c] = static_cast<float>(v.x[r * v.channels + c]);
    if (dtype == GDR2_BF16)
      bf16_ = std::make_unique<DeviceBuffer<Bf16>>(numbers<Bf16>(values));
    else if (dtype == GDR2_F16)
      fp16_ = std::make_unique<DeviceBuffer<Fp16>>(numbers<Fp16>(values));
    else
      f32_ = std::make_unique<DeviceBuffer<float>>(values);
  }
  TokenTensor tensor() const {
    const int64_t size = dtype_ == GDR2_F32 ? 4 : 2;
    char* base = bf16_   ? reinterpret_cast<char*>(bf16_->data())
                 : fp16_ ? reinterpret_cast<char*>(fp16_->data())
                         : reinterpret_cast<char*>(f32_->data());
    const bool vector = offset_ == 0 && row_ * size % 16 == 0 && like_.channels * size % 16 == 0;
    return {base + offset_ * size,
            like_.T * like_.heads * row_,
            like_.heads * row_,
            row_,
            dtype_,
            vector};
  }
  std::vector<double> read() const {
    std::vector<double> x;
    const auto take = [&](const auto& buffer) {
      const auto all = buffer.read();
      for (int64_t r = 0; r < B_ * like_.T * like_.heads; ++r)
        for (int64_t c = 0; c < like_.channels; ++c)
          x.push_back(value(all[offset_ + r * row_ + c]));
    };
    if (bf16_)
      take(*bf16_);
    else if (fp16_)
      take(*fp16_);
    else
      take(*f32_);
    return x;
  }

 private:
  int64_t B_;
  Values like_;
  gdr2_dtype dtype_;
  int64_t row_, offset_;
  std::unique_ptr<DeviceBuffer<Bf16>> bf16_;
  std::unique_ptr<DeviceBuffer<Fp16>> fp16_;
  std::unique_ptr<DeviceBuffer<float>> f32_;
};

inline StateTensor state_tensor(float* data, const ForwardCase& c) {
  return {data, c.HV * c.K * c.V, c.K * c.V, c.value_by_key ? 1 : c.V, c.value_by_key ? c.K : 1};
}

// [N, HV, K, V] to or from the layout of the case.
inline std::vector<float> laid_out(const std::vector<double>& x, const ForwardCase& c, bool back) {
  std::vector<float> y(x.size());
  for (int64_t m = 0; m < c.N() * c.HV; ++m)
    for (int64_t i = 0; i < c.K; ++i)
      for (int64_t j = 0; j < c.V; ++j) {
        const int64_t kv = m * c.K * c.V + i * c.V + j,
                      there = m * c.K * c.V + (c.value_by_key ? j * c.K + i : i * c.V + j);
        (back ? y[kv] : y[there]) = static_cast<float>(back ? x[there] : x[kv]);
      }
  return y;
}

inline int64_t chunks_of(const ForwardCase& c) {
  if (c.lens.empty()) return c.B * ((c.T + 63) / 64);
  int64_t chunks = 0;
  for (const int64_t n : c.lens) chunks += (n + 63) / 64;
  return chunks;
}

struct ForwardResult {
  Forward y;
  // H [chunks, HV, K, V]; T A AQK [chunks, H, 64, 64]; Y [chunks, H, 64, K];
  // R [chunks, HV, 64, V]
  std::vector<float> stage[GDR2_STAGE_COUNT];
  uint64_t workspace_bytes;
};

// Runs the pass. `poison` is the byte that workspace and outputs hold before.
inline ForwardResult run_forward(const ForwardCase& c, const ForwardInputs& x,
                                 unsigned char poison = 0xff) {
  const StoredTensor q(x.q, c.B, c.dtype, c.strided), k(x.k, c.B, c.dtype, c.strided),
      v(x.v, c.B, c.dtype, c.strided), g(x.g, c.B, c.g_dtype, c.strided),
      b(x.b, c.B, c.dtype, c.strided), w(x.w, c.B, c.dtype, c.strided);
  Values nothing{c.T, c.HV, c.V, std::vector<double>(c.B * c.T * c.HV * c.V, std::nan(""))};
  const StoredTensor o(nothing, c.B, c.dtype, c.strided);
  const DeviceBuffer<float> h0(laid_out(x.h0, c, false)), ht(x.h0.size(), std::nanf(""));
  const DeviceBuffer<float> A_log(std::vector<float>(x.A_log.begin(), x.A_log.end())),
      dt_bias(std::vector<float>(x.dt_bias.begin(), x.dt_bias.end()));
  std::vector<int64_t> cu{0};
  for (const int64_t n : c.lens) cu.push_back(cu.back() + n);
  const DeviceBuffer<int64_t> cu_seqlens(cu);

  DeviceProblem p{};
  p.B = c.B, p.T = c.T, p.N = c.N();
  p.H = static_cast<int>(c.H), p.HV = static_cast<int>(c.HV),
  p.group = static_cast<int>(c.HV / c.H), p.K = static_cast<int>(c.K), p.V = static_cast<int>(c.V);
  p.dtype = c.dtype, p.g_dtype = c.g_dtype, p.products = c.products, p.gate = c.gate,
  p.l2norm = c.l2norm, p.neg_eigval = c.neg_eigval;
  p.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.K))), p.lower_bound = -5,
  p.l2norm_eps = 1e-6f;
  p.cu_seqlens = c.lens.empty() ? nullptr : cu_seqlens.data();
  p.chunk_bound = c.lens.empty() ? c.B * ((c.T + 63) / 64) : (c.T + 63 * c.N()) / 64;
  p.q = q.tensor(), p.k = k.tensor(), p.v = v.tensor(), p.g = g.tensor(), p.b = b.tensor(),
  p.w = w.tensor(), p.o = o.tensor();
  p.h0 = state_tensor(c.h0 ? h0.data() : nullptr, c), p.ht = state_tensor(ht.data(), c);
  p.A_log = {A_log.data(), 1, 0, GDR2_F32}, p.dt_bias = {dt_bias.data(), c.K, 1, GDR2_F32};

  const uint64_t bytes = forward_workspace_bytes(p, c.saved);
  const DeviceBuffer<unsigned char> workspace(bytes, poison),
      saved(saved_bytes(p), poison);
  gdr2_workspace memory{};
  memory.data = workspace.data(), memory.bytes = bytes;
  if (c.saved) memory.saved = saved.data(), memory.saved_bytes = saved_bytes(p);

  gdr2_outputs outputs{};
  const int64_t chunks = chunks_of(c);
  std::unique_ptr<DeviceBuffer<float>> stage[GDR2_STAGE_COUNT];
  const auto want = [&](gdr2_stage s, int64_t heads, int64_t rows, int64_t columns) {
    stage[s] =
        std::make_unique<DeviceBuffer<float>>(chunks * heads * rows * columns, std::nanf(""));
    outputs.stage[s] = {
        stage[s]->data(), {heads * rows * columns, rows * columns, columns, 1}, GDR2_F32, 0};
  };
  if (c.stages) {
    want(GDR2_STAGE_H, c.HV, c.K, c.V), want(GDR2_STAGE_R, c.HV, kChunk, c.V);
    want(GDR2_STAGE_T, c.H, kChunk, kChunk), want(GDR2_STAGE_A, c.H, kChunk, kChunk),
        want(GDR2_STAGE_AQK, c.H, kChunk, kChunk), want(GDR2_STAGE_Y, c.H, kChunk, c.K);
  }
  launch_forward(p, outputs, memory);

  ForwardResult result;
  result.workspace_bytes = memory.bytes;
  result.y.o = o.read();
  const auto state = ht.read();
  const auto kv = laid_out(std::vector<double>(state.begin(), state.end()), c, true);
  result.y.ht.assign(kv.begin(), kv.end());
  for (int s = 0; s < GDR2_STAGE_COUNT; ++s)
    if (stage[s]) result.stage[s] = stage[s]->read();
  return result;
}

// rms(x - y) / rms(y) and max |x - y| / rms(y); infinite when x is not finite.
struct Distance {
  double rms = 0, worst = 0;
};
inline Distance distance(const std::vector<double>& x, const std::vector<double>& y) {
  double error = 0, power = 0, worst = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (!std::isfinite(x[i])) return {HUGE_VAL, HUGE_VAL};
    error += (x[i] - y[i]) * (x[i] - y[i]), power += y[i] * y[i],
        worst = std::max(worst, std::abs(x[i] - y[i]));
  }
  if (y.empty() || (power == 0 && error == 0)) return {};
  return {std::sqrt(error / power), worst / std::sqrt(power / static_cast<double>(y.size()))};
}

}  // namespace gdr2::cuda::test
