// SPDX-License-Identifier: Apache-2.0
// A backward problem for tests of the CUDA kernels: a forward case with cotangents, run through
// launch_backward, and the same by the token backward (docs/MATH.md 3) in fp64.
#pragma once

#include "kernels/cuda/backward.hpp"
#include "tests/kernels/cuda/forward_case.cuh"

namespace gdr2::cuda::test {

struct BackwardCase : ForwardCase {
  bool loss_on_o = true, loss_on_ht = true;
  int64_t last_loss_token = INT64_MAX;  // d_o is zero behind it
};

inline std::string name_of(const BackwardCase& c) {
  return c.name() + (c.loss_on_o ? "" : " no-do") + (c.loss_on_ht ? "" : " no-dht");
}

struct Cotangents {
  Values d_o;               // [B, T, HV, V]
  std::vector<double> dht;  // [N, HV, K, V]
};

inline Cotangents draw_cotangents(const BackwardCase& c) {
  Cotangents d;
  d.d_o = draw(c.B, c.T, c.HV, c.V, [&](uint64_t i, int64_t t) {
    return c.loss_on_o && t <= c.last_loss_token ? rounded(normal(c.seed, 20, i), c.dtype) : 0.0;
  });
  d.dht.assign(c.N() * c.HV * c.K * c.V, 0.0);
  if (c.loss_on_ht)
    for (size_t i = 0; i < d.dht.size(); ++i)
      d.dht[i] = static_cast<float>(0.3 * normal(c.seed, 21, i));
  return d;
}

struct Gradients {
  std::vector<double> dq, dk, dg, db;    // [B, T, H, K]
  std::vector<double> dv, dw;            // [B, T, HV, V]
  std::vector<double> dh0;               // [N, HV, K, V]
  std::vector<double> dA_log, ddt_bias;  // [H], [H, K]

  template <class Function>
  void each(const Function& f) const {
    f("dq", dq), f("dk", dk), f("dv", dv), f("dg", dg), f("db", db), f("dw", dw), f("dh0", dh0),
        f("dA_log", dA_log), f("ddt_bias", ddt_bias);
  }
};

// One head of one sequence by the token backward; gradients are added to those of its group.
class TokenBackward {
 public:
  TokenBackward(const BackwardCase& c, const ForwardInputs& x, const Cotangents& d, Gradients& out)
      : c_(c), x_(x), d_(d), out_(out) {}

  void run(int64_t n, int64_t b, int64_t begin, int64_t end, int64_t hv) {
    const int64_t K = c_.K, V = c_.V, h = hv / (c_.HV / c_.H), T = end - begin;
    std::vector<Token> tokens(T);
    std::vector<double> S(x_.h0.begin() + (n * c_.HV + hv) * K * V,
                          x_.h0.begin() + (n * c_.HV + hv + 1) * K * V);
    for (int64_t t = 0; t < T; ++t) advance(tokens[t], S, b, begin + t, h, hv);
    double* L = out_.dh0.data() + (n * c_.HV + hv) * K * V;
    std::copy_n(d_.dht.data() + (n * c_.HV + hv) * K * V, K * V, L);
    for (int64_t t = T; t-- > 0;) retreat(tokens[t], L, b, begin + t, h, hv);
  }

 private:
  struct Token {
    std::vector<double> q, k, e, b, alpha, u, Sbar;
    double rq, rk;
  };

  double inverse_norm(const Values& x, int64_t b, int64_t t, int64_t h) const {
    double sum = 1e-6;
    for (int64_t i = 0; i < c_.K; ++i) sum += std::pow(x.at(b, t, h, i), 2);
    return c_.l2norm ? 1 / std::sqrt(sum) : 1;
  }

  void advance(Token& s, std::vector<double>& S, int64_t b, int64_t t, int64_t h,
               int64_t hv) const {
    const int64_t K = c_.K, V = c_.V;
    s.rq = inverse_norm(x_.q, b, t, h), s.rk = inverse_norm(x_.k, b, t, h);
    for (int64_t j = 0; j < V; ++j) s.u.push_back(x_.w.at(b, t, hv, j) * x_.v.at(b, t, hv, j));
    for (int64_t i = 0; i < K; ++i) {
      s.q.push_back(s.rq * x_.q.at(b, t, h, i)), s.k.push_back(s.rk * x_.k.at(b, t, h, i));
      s.b.push_back((c_.neg_eigval ? 2 : 1) * x_.b.at(b, t, h, i)), s.e.push_back(s.b[i] * s.k[i]);
      s.alpha.push_back(std::exp(log_decay_of(c_, x_, b, t, h, i)));
      for (int64_t j = 0; j < V; ++j) S[i * V + j] *= s.alpha[i], s.u[j] -= s.e[i] * S[i * V + j];
    }
    s.Sbar = S;
    for (int64_t i = 0; i < K; ++i)
      for (int64_t j = 0; j < V; ++j) S[i * V + j] += s.k[i] * s.u[j];
  }

  void retreat(const Token& s, double* L, int64_t b, int64_t t, int64_t h, int64_t hv) {
    const int64_t K = c_.K, V = c_.V;
    const double scale = 1 / std::sqrt(static_cast<double>(K));
    const double* d_o = d_.d_o.x.data() + ((b * c_.T + t) * c_.HV + hv) * V;
    std::vector<double> dq(K), dk(K), de(K), dg(K), du(V);
    for (int64_t i = 0; i < K; ++i)
      for (int64_t j = 0; j < V; ++j) {
        dq[i] += scale * (s.Sbar[i * V + j] + s.k[i] * s.u[j]) * d_o[j];
        L[i * V + j] += scale * s.q[i] * d_o[j];
        du[j] += L[i * V + j] * s.k[i];
        dk[i] += L[i * V + j] * s.u[j];
      }
    for (int64_t j = 0; j < V; ++j) {
      const int64_t at = ((b * c_.T + t) * c_.HV + hv) * V + j;
      out_.dv[at] = x_.w.at(b, t, hv, j) * du[j];
      out_.dw[at] = x_.v.at(b, t, hv, j) * du[j];
    }
    for (int64_t i = 0; i < K; ++i)
      for (int64_t j = 0; j < V; ++j) {
        de[i] -= s.Sbar[i * V + j] * du[j];
        L[i * V + j] -= s.e[i] * du[j];
        dg[i] += L[i * V + j] * s.Sbar[i * V + j];
        L[i * V + j] *= s.alpha[i];
      }
    for (int64_t i = 0; i < K; ++i) dk[i] += s.b[i] * de[i];
    add(s, dq, dk, de, dg, b, t, h);
  }

  void add(const Token& s, const std::vector<double>& dq, const std::vector<double>& dk,
           const std::vector<double>& de, const std::vector<double>& dg, int64_t b, int64_t t,
           int64_t h) {
    const int64_t at = ((b * c_.T + t) * c_.H + h) * c_.K;
    double q_dot = 0, k_dot = 0;
    for (int64_t i = 0; i < c_.K; ++i) q_dot += s.q[i] * dq[i], k_dot += s.k[i] * dk[i];
    for (int64_t i = 0; i < c_.K; ++i) {
      out_.dq[at + i] += c_.l2norm ? s.rq * (dq[i] - s.q[i] * q_dot) : dq[i];
      out_.dk[at + i] += c_.l2norm ? s.rk * (dk[i] - s.k[i] * k_dot) : dk[i];
      out_.db[at + i] += (c_.neg_eigval ? 2 : 1) * s.k[i] * de[i];
      out_.dg[at + i] += gate_gradient(b, t, h, i, dg[i]);
    }
  }

  double gate_gradient(int64_t b, int64_t t, int64_t h, int64_t i, double dg) {
    if (c_.gate == GDR2_GATE_LOG) return dg;
    const double y = x_.g.at(b, t, h, i) + x_.dt_bias[h * c_.K + i], rate = std::exp(x_.A_log[h]);
    const double z = c_.gate == GDR2_GATE_SOFTPLUS ? y : rate * y, sigmoid = 1 / (1 + std::exp(-z));
    const double dy = c_.gate == GDR2_GATE_SOFTPLUS ? -rate * sigmoid * dg
                                                    : -5 * sigmoid * (1 - sigmoid) * rate * dg;
    const double dA =
        c_.gate == GDR2_GATE_SOFTPLUS ? log_decay_of(c_, x_, b, t, h, i) * dg : y * dy;
    out_.ddt_bias[h * c_.K + i] += dy;
    out_.dA_log[h] += dA;
    return dy;
  }

  const BackwardCase& c_;
  const ForwardInputs& x_;
  const Cotangents& d_;
  Gradients& out_;
};

inline Gradients expected_gradients(const BackwardCase& c, const ForwardInputs& x,
                                    const Cotangents& d) {
  const auto zeros = [](int64_t n) { return std::vector<double>(n); };
  const int64_t key = c.B * c.T * c.H * c.K, value = c.B * c.T * c.HV * c.V;
  Gradients y{zeros(key),
              zeros(key),
              zeros(key),
              zeros(key),
              zeros(value),
              zeros(value),
              zeros(c.N() * c.HV * c.K * c.V)};
  if (c.gate != GDR2_GATE_LOG) y.dA_log = zeros(c.H), y.ddt_bias = zeros(c.H * c.K);
  TokenBackward backward(c, x, d, y);
  int64_t begin = 0;
  for (int64_t n = 0; n < c.N(); ++n) {
    const int64_t b = c.lens.empty() ? n : 0, first = c.lens.empty() ? 0 : begin,
                  last = c.lens.empty() ? c.T : begin + c.lens[n];
    for (int64_t hv = 0; hv < c.HV; ++hv) backward.run(n, b, first, last, hv);
    begin = last;
  }
  return y;
}

struct BackwardResult {
  Gradients d;
  std::vector<float> stage[GDR2_STAGE_COUNT];
};

inline std::vector<double> as_double(const std::vector<float>& x) { return {x.begin(), x.end()}; }

// Runs the pass; with c.saved after a forward that keeps its intermediates.
inline BackwardResult run_backward(const BackwardCase& c, const ForwardInputs& x,
                                   const Cotangents& d, unsigned char poison = 0xff) {
  const auto stored = [&](const Values& v, gdr2_dtype dtype) {
    return std::make_unique<StoredTensor>(v, c.B, dtype, c.strided);
  };
  const auto nothing = [&](int64_t heads, int64_t channels) {
    return Values{c.T, heads, channels,
                  std::vector<double>(c.B * c.T * heads * channels, std::nan(""))};
  };
  const auto q = stored(x.q, c.dtype), k = stored(x.k, c.dtype), v = stored(x.v, c.dtype),
             g = stored(x.g, c.g_dtype), b = stored(x.b, c.dtype), w = stored(x.w, c.dtype),
             d_o = stored(d.d_o, c.dtype);
  const auto key = nothing(c.H, c.K), value_side = nothing(c.HV, c.V);
  const auto o = stored(value_side, c.dtype), dq = stored(key, c.dtype), dk = stored(key, c.dtype),
             dg = stored(key, c.g_dtype), db = stored(key, c.dtype),
             dv = stored(value_side, c.dtype), dw = stored(value_side, c.dtype);
  const DeviceBuffer<float> h0(laid_out(x.h0, c, false)), dht(laid_out(d.dht, c, false)),
      dh0(x.h0.size(), std::nanf(""));
  const DeviceBuffer<float> A_log(std::vector<float>(x.A_log.begin(), x.A_log.end())),
      dt_bias(std::vector<float>(x.dt_bias.begin(), x.dt_bias.end())), dA_log(c.H, std::nanf("")),
      ddt_bias(c.H * c.K, std::nanf(""));
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
  p.chunk_bound = c.lens.empty() ? c.B * ((c.T + 63) / 64) : std::min((c.T + 63 * c.N()) / 64, c.T);
  p.q = q->tensor(), p.k = k->tensor(), p.v = v->tensor(), p.g = g->tensor(), p.b = b->tensor(),
  p.w = w->tensor();
  p.h0 = state_tensor(c.h0 ? h0.data() : nullptr, c);
  p.A_log = {A_log.data(), 1, 0, GDR2_F32}, p.dt_bias = {dt_bias.data(), c.K, 1, GDR2_F32};
  if (c.loss_on_o) p.d_o = d_o->tensor();
  p.dht = state_tensor(c.loss_on_ht ? dht.data() : nullptr, c);
  p.dq = dq->tensor(), p.dk = dk->tensor(), p.dv = dv->tensor(), p.dg = dg->tensor(),
  p.db = db->tensor(), p.dw = dw->tensor();
  p.dh0 = state_tensor(dh0.data(), c);
  p.dA_log = {dA_log.data(), 1, 0, GDR2_F32}, p.ddt_bias = {ddt_bias.data(), c.K, 1, GDR2_F32};

  const uint64_t bytes = backward_workspace_bytes(p, c.saved);
  const DeviceBuffer<unsigned char> workspace(bytes, poison),
      saved(saved_bytes(p), poison);
  gdr2_workspace memory{};
  memory.data = workspace.data(), memory.bytes = bytes;
  if (c.saved) {
    memory.saved = saved.data(), memory.saved_bytes = saved_bytes(p);
    DeviceProblem forward = p;
    forward.o = o->tensor();
    launch_forward(forward, gdr2_outputs{}, memory);
  }
  gdr2_gradients stages{};
  const int64_t chunks = chunks_of(c);
  std::unique_ptr<DeviceBuffer<float>> stage[GDR2_STAGE_COUNT];
  const auto want = [&](gdr2_stage s, int64_t rows) {
    stage[s] = std::make_unique<DeviceBuffer<float>>(chunks * c.HV * rows * c.V, std::nanf(""));
    stages.stage[s] = {stage[s]->data(), {c.HV * rows * c.V, rows * c.V, c.V, 1}, GDR2_F32, 0};
  };
  if (c.stages) want(GDR2_STAGE_DH, c.K), want(GDR2_STAGE_DR, kChunk), want(GDR2_STAGE_P, kChunk);
  launch_backward(p, stages, memory);

  BackwardResult y;
  y.d = {dq->read(),
         dk->read(),
         dg->read(),
         db->read(),
         dv->read(),
         dw->read(),
         as_double(laid_out(as_double(dh0.read()), c, true)),
         {},
         {}};
  if (c.gate != GDR2_GATE_LOG)
    y.d.dA_log = as_double(dA_log.read()), y.d.ddt_bias = as_double(ddt_bias.read());
  for (int s = 0; s < GDR2_STAGE_COUNT; ++s)
    if (stage[s]) y.stage[s] = stage[s]->read();
  return y;
}

}  // namespace gdr2::cuda::test
