// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device_problem.hpp"

#include "kernels/cuda/chunk_index.hpp"

namespace gdr2::cuda {
namespace {

// Accesses of some bytes need every row to start on a multiple of them and to be whole packs. The
// stride of an extent of one is never used.
TokenTensor tokens(const gdr2_problem& p, const gdr2_tensor& t, int64_t heads, int64_t channels) {
  const auto allowed = [&](uintptr_t bytes) {
    const int64_t pack = static_cast<int64_t>(bytes) / (t.dtype == GDR2_F32 ? 4 : 2);
    const auto whole = [pack](int64_t stride, int64_t extent) {
      return extent <= 1 || stride % pack == 0;
    };
    return reinterpret_cast<uintptr_t>(t.data) % bytes == 0 && channels % pack == 0 &&
           whole(t.stride[0], p.B) && whole(t.stride[1], p.T) && whole(t.stride[2], heads);
  };
  const int aligned = allowed(8) ? 8 : allowed(4) ? 4 : 0;
  return {t.data, t.stride[0], t.stride[1], t.stride[2], t.dtype, allowed(16), aligned};
}

StateTensor state(const gdr2_problem& p, const gdr2_tensor& t) {
  const bool kv = p.state_layout == GDR2_STATE_KV;
  return {static_cast<float*>(t.data), t.stride[0], t.stride[1], t.stride[kv ? 2 : 3],
          t.stride[kv ? 3 : 2]};
}

ParameterTensor per_head(const gdr2_tensor& t) { return {t.data, t.stride[3], 0, t.dtype}; }
ParameterTensor per_channel(const gdr2_tensor& t) {
  return {t.data, t.stride[2], t.stride[3], t.dtype};
}

template <class Inputs>
void set_token_inputs(DeviceProblem& d, const gdr2_problem& p, const Inputs& in) {
  d.q = tokens(p, in.q, p.H, p.K);
  d.k = tokens(p, in.k, p.H, p.K);
  d.v = tokens(p, in.v, p.HV, p.V);
  d.g = tokens(p, in.g, p.H, p.K);
  d.b = tokens(p, in.b, p.H, p.K);
  d.w = tokens(p, in.w, p.HV, p.V);
  d.A_log = per_head(in.A_log);
  d.dt_bias = per_channel(in.dt_bias);
}

}  // namespace

DeviceProblem device_problem(const gdr2_problem& p) {
  DeviceProblem d{};
  d.B = p.B;
  d.T = p.T;
  d.N = p.N;
  d.H = static_cast<int32_t>(p.H);
  d.HV = static_cast<int32_t>(p.HV);
  d.group = static_cast<int32_t>(p.HV / p.H);
  d.K = static_cast<int32_t>(p.K);
  d.V = static_cast<int32_t>(p.V);
  d.dtype = p.dtype;
  d.g_dtype = p.g_dtype;
  d.products = p.products;
  d.gate = p.gate;
  d.l2norm = p.l2norm;
  d.neg_eigval = p.neg_eigval;
  d.scale = static_cast<float>(p.scale);
  d.lower_bound = static_cast<float>(p.lower_bound);
  d.l2norm_eps = static_cast<float>(p.l2norm_eps);
  d.cu_seqlens = p.cu_seqlens;
  d.chunk_bound = chunk_bound(p);
  return d;
}

void set_inputs(DeviceProblem& d, const gdr2_problem& p, const gdr2_inputs& in) {
  set_token_inputs(d, p, in);
  d.h0 = state(p, in.h0);
}

void set_outputs(DeviceProblem& d, const gdr2_problem& p, const gdr2_outputs& out) {
  d.o = tokens(p, out.o, p.HV, p.V);
  d.ht = state(p, out.ht);
}

void set_cotangents(DeviceProblem& d, const gdr2_problem& p, const gdr2_cotangents& in) {
  d.d_o = tokens(p, in.d_o, p.HV, p.V);
  d.dht = state(p, in.dht);
}

void set_gradients(DeviceProblem& d, const gdr2_problem& p, const gdr2_gradients& out) {
  d.dq = tokens(p, out.dq, p.H, p.K);
  d.dk = tokens(p, out.dk, p.H, p.K);
  d.dv = tokens(p, out.dv, p.HV, p.V);
  d.dg = tokens(p, out.dg, p.H, p.K);
  d.db = tokens(p, out.db, p.H, p.K);
  d.dw = tokens(p, out.dw, p.HV, p.V);
  d.dh0 = state(p, out.dh0);
  d.dA_log = per_head(out.dA_log);
  d.ddt_bias = per_channel(out.ddt_bias);
}

DecodePool set_decode(DeviceProblem& d, const gdr2_problem& p, const gdr2_decode& decode) {
  set_token_inputs(d, p, decode);
  d.o = tokens(p, decode.o, p.HV, p.V);
  return {state(p, decode.pool), decode.slot, decode.slots};
}

}  // namespace gdr2::cuda
