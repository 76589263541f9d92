// SPDX-License-Identifier: Apache-2.0
// ldmatrix and mma, with the fragment layouts of the PTX manual (warp-level matrix instructions).
// Lane l has group = l / 4 and member = l % 4. Sums are formed in double and rounded once: a real
// tensor core keeps a few bits less.
#include "tests/cuda_on_host/cta.hpp"
#include "tests/cuda_on_host/cuda_on_host.hpp"

namespace gdr2::cuda::on_host {
namespace {

constexpr int kLanes = 32;

struct MatrixLoad {
  const uint16_t* row;  // row l % 8 of matrix l / 8
  uint32_t* pair;
};

// Pair j of a lane: row `group`, columns 2 member and 2 member + 1 of matrix j, or of its
// transpose.
template <bool Transposed>
void load_all(void* const (&lanes)[kLanes]) {
  const auto element = [&](int matrix, int row, int column) -> uint32_t {
    return static_cast<const MatrixLoad*>(lanes[8 * matrix + row])->row[column];
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / 4, member = lane % 4;
    for (int j = 0; j < 4; ++j) {
      const uint32_t low =
          Transposed ? element(j, 2 * member, group) : element(j, group, 2 * member);
      const uint32_t high =
          Transposed ? element(j, 2 * member + 1, group) : element(j, group, 2 * member + 1);
      static_cast<MatrixLoad*>(lanes[lane])->pair[j] = low | high << 16;
    }
  }
}

struct MatrixStore {
  uint16_t* row;  // for row l % 8 of matrix l / 8's transpose
  const uint32_t* pair;
};

void store_all_transposed(void* const (&lanes)[kLanes]) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / 4, member = lane % 4;
    for (int j = 0; j < 4; ++j)
      for (int half = 0; half < 2; ++half)
        static_cast<const MatrixStore*>(lanes[8 * j + 2 * member + half])->row[group] =
            static_cast<uint16_t>(static_cast<const MatrixStore*>(lanes[lane])->pair[j] >>
                                  (16 * half));
  }
}

// C [16, 8] += A [16, Depth] B [Depth, 8]; c holds (group, 2 member), (group, 2 member + 1) and
// the same of row group + 8.
template <int Depth, class C>
void add_product(const float (&a)[16][Depth], const float (&b)[Depth][8], const C& c_of) {
  double sum[16][8] = {};
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < Depth; ++k)
      for (int column = 0; column < 8; ++column)
        sum[row][column] += static_cast<double>(a[row][k]) * b[k][column];
  for (int lane = 0; lane < kLanes; ++lane) {
    const int group = lane / 4, member = lane % 4;
    float* c = c_of(lane);
    for (int i = 0; i < 4; ++i)
      c[i] = static_cast<float>(c[i] + sum[group + 8 * (i / 2)][2 * member + i % 2]);
  }
}

struct Mma16 {
  float* c;
  const uint32_t* a;
  uint32_t b[2];
};

// a0..a3: rows group, group + 8, group, group + 8; columns 2 member + {0, 1}, the last two 8
// further. b0, b1: rows 2 member + {0, 1}, 8 further; column group.
template <float (*Decode)(uint16_t)>
void mma16_all(void* const (&lanes)[kLanes]) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto* mma = static_cast<const Mma16*>(lanes[lane]);
    const int group = lane / 4, member = lane % 4;
    for (int half = 0; half < 2; ++half) {
      const auto part = [&](uint32_t pair) {
        return Decode(static_cast<uint16_t>(pair >> (16 * half)));
      };
      for (int j = 0; j < 4; ++j)
        a[group + 8 * (j % 2)][2 * member + half + 8 * (j / 2)] = part(mma->a[j]);
      for (int j = 0; j < 2; ++j) b[2 * member + half + 8 * j][group] = part(mma->b[j]);
    }
  }
  add_product<16>(a, b, [&](int lane) { return static_cast<const Mma16*>(lanes[lane])->c; });
}

struct MmaTf32 {
  float* c;
  const float* a;
  const float* b;
};

// a0..a3: rows group, group + 8, group, group + 8; columns member, member, member + 4, member +
// 4. b0, b1: rows member, member + 4; column group. The hardware reads the upper 19 bits of each
// number.
void mma_tf32_all(void* const (&lanes)[kLanes]) {
  float a[16][8], b[8][8];
  const auto truncated = [](float x) { return float_of(bits_of(x) & 0xffffe000u); };
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto* mma = static_cast<const MmaTf32*>(lanes[lane]);
    const int group = lane / 4, member = lane % 4;
    for (int j = 0; j < 4; ++j) a[group + 8 * (j % 2)][member + 4 * (j / 2)] = truncated(mma->a[j]);
    for (int j = 0; j < 2; ++j) b[member + 4 * j][group] = truncated(mma->b[j]);
  }
  add_product<8>(a, b, [&](int lane) { return static_cast<const MmaTf32*>(lanes[lane])->c; });
}

}  // namespace

void load_matrices(uint32_t (&pair)[4], const void* row, bool transposed) {
  check_aligned(row, 16, "ldmatrix");
  Cta::active()->check_shared(row, 16, "ldmatrix");
  MatrixLoad load{static_cast<const uint16_t*>(row), pair};
  if (transposed) {
    warp_collective("ldmatrix.trans", &load, load_all<true>);
  } else {
    warp_collective("ldmatrix", &load, load_all<false>);
  }
}

void store_matrices_transposed(void* row, const uint32_t (&pair)[4]) {
  check_aligned(row, 16, "stmatrix");
  Cta::active()->check_shared(row, 16, "stmatrix");
  MatrixStore store{static_cast<uint16_t*>(row), pair};
  warp_collective("stmatrix.trans", &store, store_all_transposed);
}

void mma_bf16(float* c, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  Mma16 mma{c, a, {b0, b1}};
  warp_collective("mma.m16n8k16.bf16", &mma, mma16_all<float_from_bf16>);
}

void mma_fp16(float* c, const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  Mma16 mma{c, a, {b0, b1}};
  warp_collective("mma.m16n8k16.f16", &mma, mma16_all<float_from_fp16>);
}

void mma_tf32(float* c, const std::array<float, 4>& a, const std::array<float, 2>& b) {
  MmaTf32 mma{c, a.data(), b.data()};
  warp_collective("mma.m16n8k8.tf32", &mma, mma_tf32_all);
}

}  // namespace gdr2::cuda::on_host
