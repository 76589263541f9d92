// SPDX-License-Identifier: Apache-2.0
// The last stage, one thread a column of 16 rows: adds what tokens of the same block give each
// other, in fp32 with the decays as running products, and finishes dq, db, dk and dg.
//
// dg_r is the sum over all pairs (earlier token or state, later token or state) that have row r
// between them: the decay of r stands in exactly these terms. It is summed as such
// (docs/KERNELS_backward.md), not as a reverse cumulative sum of q dq + e de - k dk, in which the
// pairs on one side of r would have to cancel.
#pragma once

#include "kernels/cuda/gradient_columns.cuh"

namespace gdr2::cuda::gradients {

// A column on its way through its 16 rows i. For earlier rows j: the decay between j and i, that
// times k_j, dk_j as far as rows up to i give it, and dg_j likewise.
struct Walk {
  float decay[kTile], decayed_k[kTile], dk[kTile], dg[kTile];
  float from_start = 1.0f;  // decay from the block's start to row i
};

// A row's inputs and what it has so far; dA and dT are its rows of the diagonal 16-block.
struct Row {
  RowInputs x;
  float decay;
  float dq_sum, de_sum;  // from before the block, to be decayed
  Pack<float, 4> dA[kTile / 4], dT[kTile / 4];
};

template <class P>
__device__ __forceinline__ Row row_of(const Shared<P>& shared, const Column& at, int i,
                                      float twice) {
  Row row;
  row.x = row_inputs(shared, at, i, twice);
  row.decay = decay_of<P>(shared.columns.inputs.g[at.template tile_at<float>(i)]);
  row.dq_sum = shared.columns.rows.q[at.row_at(i)];
  row.de_sum = shared.columns.rows.e[at.row_at(i)];
#pragma unroll
  for (int n = 0; n <= i / 4; ++n) {
    row.dA[n] = shared.dA_diagonal[at.block][i * kTile / 4 + n];
    row.dT[n] = shared.dT_diagonal[at.block][i * kTile / 4 + n];
  }
  return row;
}

struct RowGradients {
  float dq, de;
};

__device__ __forceinline__ RowGradients pass_row(Walk& w, int i, const Row& in) {
#pragma unroll
  for (int j = 0; j < i; ++j) {
    w.decay[j] *= in.decay;
    w.decayed_k[j] *= in.decay;
  }
  w.from_start *= in.decay;
  const float q = in.x.q, e = in.x.b * in.x.k;
  RowGradients d{w.from_start * in.dq_sum, w.from_start * in.de_sum};
  float across = fma_(q, d.dq, e * d.de);  // from before row j to row i
#pragma unroll
  for (int j = 0; j < i; ++j) {
    const float dA = in.dA[j / 4][j % 4], dT = in.dT[j / 4][j % 4];
    w.dg[j] += across;
    const float pair = fma_(dA, q, dT * e);
    d.dq = fma_(dA, w.decayed_k[j], d.dq);
    d.de = fma_(dT, w.decayed_k[j], d.de);
    w.dk[j] = fma_(pair, w.decay[j], w.dk[j]);
    across = fma_(pair, w.decayed_k[j], across);
  }
  w.dg[i] = across;
  const float dA = in.dA[i / 4][i % 4];
  d.dq = fma_(dA, in.x.k, d.dq);
  w.dk[i] = fma_(dA, q, in.x.b * d.de);
  w.decay[i] = 1.0f;
  w.decayed_k[i] = in.x.k;
  return d;
}

// dg contributions that cross the whole of block m: from before it to behind it, states included.
template <class P>
__device__ __forceinline__ float cross_sum(const Shared<P>& shared, int m, int channel) {
  float
      to_later = 1.0f,
      to_end =
          1.0f;  // decays from the start of block m to block b's, from block b's end to the chunk's
  float product = 0.0f, sum = 0.0f;
#pragma unroll 1
  for (int b = m; b < kRowBlocks; ++b) {
    if (b > m) sum = fma_(to_later, shared.later_rows[pair_index(b, m)][channel], sum);
    to_later *= shared.block_decay[b][channel];
  }
#pragma unroll 1
  for (int b = kRowBlocks - 1; b >= 0; --b) {
    if (b < m) sum = fma_(to_end, shared.earlier_rows[b][channel], sum);
    to_end *= shared.block_decay[b][channel];
    product += shared.state_product[b][channel];
  }
  return fma_(to_end, product, sum);
}

// What later blocks give the column's dk and dg, and what crosses the block.
template <class P>
__device__ __forceinline__ void add_outside(Walk& w, const Shared<P>& shared, const Column& at) {
  float across = cross_sum(shared, at.block, at.local);
#pragma unroll
  for (int r = 0; r < kTile; ++r) {
    const float dk_sum = shared.columns.rows.k[at.row_at(r)];
    w.dg[r] += across;
    w.dk[r] = fma_(w.decay[r], dk_sum, w.dk[r]);
    across = fma_(w.decayed_k[r], dk_sum, across);
  }
}

// The column's rows of an output, one after the other.
template <class T>
class ColumnWriter {
 public:
  __device__ __forceinline__ ColumnWriter(const TokenTensor& x, const Column& at)
      : next_(static_cast<T*>(x.data) + at.offset(x)), stride_(x.token) {}
  __device__ __forceinline__ void write(float x, bool valid) {
    if (valid) *next_ = from_float<T>(x);
    next_ += stride_;
  }

 private:
  T* next_;
  int64_t stride_;
};

// g was given as log decay: dg is its gradient.
template <class T>
__device__ __forceinline__ void store_decay_gradient(const DeviceProblem& p, const Column& at,
                                                     const float (&dg)[kTile]) {
  ColumnWriter<T> writer(p.dg, at);
#pragma unroll
  for (int i = 0; i < kTile; ++i) writer.write(dg[i], i < at.rows);
}

// From dg in inputs.g to the gradient of what was given; its sums for ddt_bias and dA_log go to the
// column's first two places in rows.q.
template <class P>
__device__ __forceinline__ void store_gate_gradient(Shared<P>& shared, const DeviceProblem& p,
                                                    const Column& at) {
  const Gate gate = gate_of(p, at);
  int64_t from = at.offset(p.g), to = at.offset(p.dg);
  float bias = 0.0f, log_rate = 0.0f;
#pragma unroll 1
  for (int i = 0; i < kTile; ++i, from += p.g.token, to += p.dg.token) {
    if (i >= at.rows) break;
    const float dg = shared.columns.inputs.g[at.template tile_at<float>(i)];
    const GateGradient d = log_decay_gradient(gate, load_element(p.g, from), dg);
    store_element(p.dg, to, d.dx);
    bias += d.dx;
    log_rate += d.dA_log;
  }
  shared.columns.rows.e[at.row_at(0)] = bias;
  shared.columns.rows.e[at.row_at(1)] = log_rate;
}

// Where dq and dk of a channel block wait for the norms' backward, [64 token, ld]; null without
// l2norm.
struct Waiting {
  float *dq, *dk;
  int ld;
};

template <class P>
__device__ __forceinline__ void finish_columns(Shared<P>& shared, const DeviceProblem& p,
                                               const Column& at, const Waiting& waiting) {
  using T = typename P::Operand;
  const bool waits = waiting.dq != nullptr;
  const float twice = p.neg_eigval ? 2.0f : 1.0f;
  ColumnWriter<T> dq(p.dq, at), db(p.db, at), dk(p.dk, at);
  Walk w;
#pragma unroll
  for (int i = 0; i < kTile; ++i) {
    const Row row = row_of(shared, at, i, twice);
    const RowGradients d = pass_row(w, i, row);
    const bool valid = i < at.rows;
    if (waits) waiting.dq[at.row(i) * waiting.ld + at.local] = d.dq;
    dq.write(d.dq, valid && !waits);
    // e = b k, with b = 2 (given b) for neg_eigval
    db.write(twice * row.x.k * d.de, valid);
  }
  add_outside(w, shared, at);
#pragma unroll
  for (int i = 0; i < kTile; ++i) {
    const bool valid = i < at.rows;
    if (waits) waiting.dk[at.row(i) * waiting.ld + at.local] = w.dk[i];
    dk.write(w.dk[i], valid && !waits);
  }
  if (p.gate == GDR2_GATE_LOG && p.g_dtype == GDR2_F32)
    return store_decay_gradient<float>(p, at, w.dg);
  if (p.gate == GDR2_GATE_LOG)
    return store_decay_gradient<T>(p, at, w.dg);  // g is fp32 or of the problem's type
#pragma unroll
  for (int i = 0; i < kTile; ++i) shared.columns.inputs.g[at.template tile_at<float>(i)] = w.dg[i];
  store_gate_gradient(shared, p, at);
}

}  // namespace gdr2::cuda::gradients
