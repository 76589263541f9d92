// SPDX-License-Identifier: Apache-2.0
// The problem as kernels see it: plain data passed by value. Validation has been done on the host
// (validate.hpp): sizes fit, strides are as the C interface says, HV = group * H, cu_seqlens is
// right. Offsets are 64-bit throughout.
#pragma once

#include "kernels/abi/gdr2_kernel.h"
#include "kernels/cuda/device/convert.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/math.cuh"

namespace gdr2::cuda {

constexpr int kChunk = GDR2_CHUNK;
constexpr int kMaxChannels = 256;  // K and V

// [B, T, heads, channels], channels contiguous.
struct TokenTensor {
  void* data;  // null: absent
  int64_t batch, token, head;
  int32_t dtype;    // gdr2_dtype
  int32_t vector;   // rows are 16-byte aligned and whole 16-byte packs: the vector path is allowed
  int32_t aligned;  // 8 or 4: likewise for so many bytes; 0: for single elements only, or not known

  // May two neighbouring channels (the first even) be accessed at once?
  __host__ __device__ __forceinline__ bool pairs() const {
    return vector != 0 || aligned >= (dtype == GDR2_F32 ? 8 : 4);
  }

  // Channel 0 of a row.
  template <class T>
  __host__ __device__ __forceinline__ T* row(int64_t b, int64_t t, int64_t h) const {
    return static_cast<T*>(data) + b * batch + t * token + h * head;
  }
};

// [N, HV, K, V] in fp32 under either layout, by its strides for K and V.
struct StateTensor {
  float* data;  // null: absent
  int64_t sequence, head, k, v;

  __host__ __device__ __forceinline__ float* matrix(int64_t n, int64_t hv) const {
    return data + n * sequence + hv * head;
  }
};

// A_log and dA_log [H], dt_bias and ddt_bias [H, K]; fp32 or 16 bits.
struct ParameterTensor {
  void* data;  // null: absent
  int64_t head, channel;
  int32_t dtype;
};

// 64 tokens of one sequence.
struct Chunk {
  int64_t batch;
  int64_t token;     // the first token, counted within its batch entry
  int64_t sequence;  // 0 .. N-1
  int32_t index;     // 0, 1, .. within the sequence
  int32_t rows;      // 1 .. 64 tokens; 0: no such chunk (past the last one of a packed batch)
};

struct Sequence {
  int64_t batch, token;  // the first token
  int64_t length;
  int64_t first_chunk;  // global index; the sequence's chunks follow each other
  int64_t chunks;
};

// Which of every sequence's chunks a kernel works on: one of `count` parts that follow each other.
struct Part {
  int32_t index = 0, count = 1;

  __host__ __device__ __forceinline__ bool whole() const { return count == 1; }
};

// Chunks first .. past - 1 of a sequence's.
struct ChunkRange {
  int64_t first, past;
};
__host__ __device__ __forceinline__ ChunkRange range_of(Part part, int64_t chunks) {
  return {ceil_div(chunks * part.index, part.count),
          ceil_div(chunks * (part.index + 1), part.count)};
}

struct DeviceProblem {
  int64_t B, T, N;
  int32_t H, HV, group, K, V;
  int32_t dtype, g_dtype, products;
  int32_t gate, l2norm, neg_eigval;
  float scale, lower_bound, l2norm_eps;

  const int64_t* cu_seqlens;  // device memory, null for a batch of equal lengths
  int64_t chunk_bound;        // chunks; packed: a bound on them, known without reading cu_seqlens
  Chunk* chunk_table;         // [chunk_bound], packed only; filled by build_chunk_index
  int64_t* first_chunk;       // [N + 1], packed only
  Part part;

  TokenTensor q, k, v, g, b, w, o;
  StateTensor h0, ht;
  ParameterTensor A_log, dt_bias;
  // backward
  TokenTensor d_o, dq, dk, dv, dg, db, dw;
  StateTensor dht, dh0;
  ParameterTensor dA_log, ddt_bias;

  Stream stream;
};

// Global chunk `c`, 0 <= c < chunk_bound.
__device__ __forceinline__ Chunk chunk_at(const DeviceProblem& p, int64_t c) {
  if (p.cu_seqlens != nullptr) return p.chunk_table[c];
  // A grid holds less than 2^31 chunks: 32-bit division will do.
  const auto index = static_cast<uint32_t>(c),
             per_sequence = static_cast<uint32_t>(ceil_div(p.T, kChunk));
  Chunk chunk;
  chunk.batch = chunk.sequence = index / per_sequence;
  chunk.index = static_cast<int32_t>(index % per_sequence);
  chunk.token = static_cast<int64_t>(chunk.index) * kChunk;
  const int64_t left = p.T - chunk.token;
  chunk.rows = static_cast<int32_t>(left < kChunk ? left : kChunk);
  return chunk;
}

__device__ __forceinline__ Sequence sequence_at(const DeviceProblem& p, int64_t n) {
  const int64_t per_sequence = ceil_div(p.T, kChunk);
  if (p.cu_seqlens == nullptr) return {n, 0, p.T, n * per_sequence, per_sequence};
  const int64_t start = p.cu_seqlens[n], length = p.cu_seqlens[n + 1] - start;
  return {0, start, length, p.first_chunk[n], ceil_div(length, kChunk)};
}

// As many places as chunks of the part can have; what stands at place i is global chunk
// chunk_at_place(p, i), if in_part says so.
__host__ __device__ __forceinline__ int64_t places(const DeviceProblem& p) {
  if (p.cu_seqlens != nullptr) return p.chunk_bound;
  const ChunkRange range = range_of(p.part, ceil_div(p.T, kChunk));
  return p.B * (range.past - range.first);
}
__device__ __forceinline__ int64_t chunk_at_place(const DeviceProblem& p, int64_t i) {
  if (p.part.whole() || p.cu_seqlens != nullptr) return i;
  const auto place = static_cast<uint32_t>(i);
  const int64_t chunks = ceil_div(p.T, kChunk);
  const ChunkRange range = range_of(p.part, chunks);
  const auto count = static_cast<uint32_t>(range.past - range.first);
  return place / count * chunks + range.first + place % count;
}
__device__ __forceinline__ bool in_part(const DeviceProblem& p, const Chunk& chunk) {
  if (p.part.whole()) return true;
  const ChunkRange range = range_of(p.part, sequence_at(p, chunk.sequence).chunks);
  return chunk.index >= range.first && chunk.index < range.past;
}

// The part of a sequence, as a sequence.
__device__ __forceinline__ Sequence part_of(const DeviceProblem& p, const Sequence& s) {
  if (p.part.whole()) return s;
  const ChunkRange range = range_of(p.part, s.chunks);
  const int64_t before = range.first * kChunk,
                length = (range.past < s.chunks ? range.past * kChunk : s.length) - before;
  return {s.batch, s.token + before, length > 0 ? length : 0, s.first_chunk + range.first,
          range.past - range.first};
}

// The chunk `index` of a sequence.
__device__ __forceinline__ Chunk chunk_of(const Sequence& s, int64_t n, int64_t index) {
  const int64_t left = s.length - index * kChunk;
  return {s.batch, s.token + index * kChunk, n, static_cast<int32_t>(index),
          static_cast<int32_t>(left < kChunk ? left : kChunk)};
}

}  // namespace gdr2::cuda
