/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel library in plain C: the token recurrence in fp32, forward only. `docs/HOWTO_verify_your_kernel.md`
 * builds it and has it judged. Shapes and promises: kernels/abi/gdr2_kernel.h.
 *   cc -std=c11 -O2 -shared -fPIC -I . examples/plugin/my_kernel.c -o libmy_kernel.so -lm */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/abi/gdr2_kernel.h"

static float* at(const gdr2_tensor* t, int64_t b, int64_t token, int64_t head) {
  return (float*)t->data + b * t->stride[0] + token * t->stride[1] + head * t->stride[2];
}

/* Which problems, and in which arithmetic: the error that is allowed is computed from this claim. */
static gdr2_status query(const gdr2_problem* p, int32_t pass, gdr2_capability* can) {
  const char* reason = "";
  if (pass != GDR2_PASS_FORWARD) reason = "it has no backward";
  else if (p->dtype != GDR2_F32 || p->g_dtype != GDR2_F32) reason = "it takes fp32";
  else if (p->cu_seqlens || p->gate != GDR2_GATE_LOG || p->l2norm || p->neg_eigval)
    reason = "it takes equal lengths and a log decay, and no options in the kernel";
  else if (p->state_layout != GDR2_STATE_KV) reason = "its states are [K, V]";
  strcpy(can->reason, reason);
  can->supported = !*reason;
  can->contract = (gdr2_contract){.operand = GDR2_FORMAT_F32, .solve = GDR2_NOT_ROUNDED,
                                  .state = GDR2_FORMAT_F32, .gate = GDR2_FORMAT_F32,
                                  .accumulator = GDR2_FORMAT_F32};
  can->workspace_bytes = (uint64_t)(p->K * p->V + p->V) * sizeof(float);
  return GDR2_OK;
}

/* S <- Diag(exp g) S;   u = w * v - S^T (b * k);   S <- S + k u^T;   o = scale S^T q */
static void token(const gdr2_problem* p, const gdr2_inputs* in, int64_t i, int64_t t, int64_t hv,
                  float* S, float* u, float* o) {
  const int64_t h = hv / (p->HV / p->H), K = p->K, V = p->V;
  const float *q = at(&in->q, i, t, h), *k = at(&in->k, i, t, h), *g = at(&in->g, i, t, h);
  const float *b = at(&in->b, i, t, h), *v = at(&in->v, i, t, hv), *w = at(&in->w, i, t, hv);
  for (int64_t c = 0; c < V; ++c) u[c] = o[c] = 0;
  for (int64_t d = 0; d < K; ++d)
    for (int64_t c = 0; c < V; ++c) S[d * V + c] *= expf(g[d]), u[c] += b[d] * k[d] * S[d * V + c];
  for (int64_t c = 0; c < V; ++c) u[c] = w[c] * v[c] - u[c];
  for (int64_t d = 0; d < K; ++d)
    for (int64_t c = 0; c < V; ++c)
      S[d * V + c] += k[d] * u[c], o[c] += (float)p->scale * q[d] * S[d * V + c];
}

static gdr2_status forward(const gdr2_problem* p, const gdr2_inputs* in, const gdr2_outputs* out,
                           gdr2_workspace* workspace) {
  float *S = workspace->data, *u = S + p->K * p->V;
  for (int64_t i = 0; i < p->B; ++i)
    for (int64_t hv = 0; hv < p->HV; ++hv) {
      for (int64_t d = 0; d < p->K; ++d) /* a state is [N, HV, K, V]: row d stands at at(., i, hv, d) */
        if (in->h0.data) memcpy(S + d * p->V, at(&in->h0, i, hv, d), p->V * sizeof(float));
        else memset(S + d * p->V, 0, p->V * sizeof(float));
      for (int64_t t = 0; t < p->T; ++t) token(p, in, i, t, hv, S, u, at(&out->o, i, t, hv));
      for (int64_t d = 0; out->ht.data && d < p->K; ++d)
        memcpy(at(&out->ht, i, hv, d), S + d * p->V, p->V * sizeof(float));
    }
  return GDR2_OK;
}

static const gdr2_kernel kernel = {.abi_version = GDR2_ABI_VERSION, .struct_size = sizeof(gdr2_kernel),
                                   .name = "my kernel", .version = "1", .memory = GDR2_HOST,
                                   .query = query, .forward = forward};

const gdr2_kernel* gdr2_kernel_v1(void) { return &kernel; }
