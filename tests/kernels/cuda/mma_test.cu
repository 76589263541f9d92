// SPDX-License-Identifier: Apache-2.0
// Fragments and tile products under every product policy. Operands are small integers, so every
// sum is exact in fp32 whatever its order, and the answers must match a plain loop bit for bit.
#include "kernels/cuda/device/mma.cuh"
#include "tests/kernels/cuda/device_buffer.cuh"

namespace gdr2::cuda::test {
namespace {

constexpr int kLd = padded_ld(48);  // of the shared tiles: [48, 48]

template <class P>
class MmaTest : public OnDevice {};
using Policies = testing::Types<Bf16Products, Fp16Products, Tf32Products, Fp32Products>;
TYPED_TEST_SUITE(MmaTest, Policies);

template <class T>
__device__ void copy_square(T* shared, const T* global) {
  for (int i = thread_index(); i < 48 * 48; i += block_size())
    shared[i / 48 * kLd + i % 48] = global[i];
}

// The tile at (16, 32) of a [48, 48] matrix, as stored, transposed, and straight from global
// memory.
template <class T>
__global__ void move_tile(const T* in, float* rows, float* transposed, T* back, float* global,
                          float* elements) {
  T* shared = &shared_as<T>();
  copy_square(shared, in);
  sync_threads();
  const T* tile = shared + 16 * kLd + 32;
  const Accumulator straight = to_accumulator<T>(load(tile, kLd));
  store(rows, kTile, straight);
  store(transposed, kTile, to_accumulator<T>(load_transposed(tile, kLd)));
  store(global, kTile, to_accumulator<T>(load_global(in + 16 * 48 + 32, 48)));
  store_transposed(back, kTile, straight);
  for (int i = 0; i < 8; ++i)
    elements[tile_row(i) * kTile + tile_col(i)] = to_accumulator(to_operand<T>(straight)).x[i];
}

TYPED_TEST(MmaTest, LoadsAndStoresMoveATileAsItsLayoutSays) {
  using T = typename TypeParam::Operand;
  const auto values = small_integers(48 * 48, 201, 1);
  const DeviceBuffer<T> in(numbers<T>(values)), back(256);
  const DeviceBuffer<float> rows(256, -1.0f), transposed(256, -1.0f), global(256, -1.0f),
      elements(256, -1.0f);
  launch("move_tile", move_tile<T>, dim3(1), 32, 48 * kLd * sizeof(T), nullptr, in.data(),
         rows.data(), transposed.data(), back.data(), global.data(), elements.data());
  const auto r = rows.read(), t = transposed.read(), g = global.read(), e = elements.read();
  const auto b = back.read();
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      const float wanted = values[(16 + i) * 48 + 32 + j];
      EXPECT_EQ(r[i * 16 + j], wanted);
      EXPECT_EQ(t[j * 16 + i], wanted);
      EXPECT_EQ(g[i * 16 + j], wanted);
      EXPECT_EQ(e[i * 16 + j], wanted);
      EXPECT_EQ(value(b[j * 16 + i]), wanted);
    }
}

// Warp w computes the 16 rows from 16 w on of a 48 x 48 product, added to what `out` holds.
template <class P, Storage SA, Storage SB>
__global__ void multiply_squares(const typename P::Operand* a, const typename P::Operand* b,
                                 float* out) {
  auto* left = &shared_as<typename P::Operand>();
  auto* right = left + 48 * kLd;
  copy_square(left, a);
  copy_square(right, b);
  sync_threads();
  const int row = 16 * warp_index();
  Accumulator c[1][3];
  for (int n = 0; n < 3; ++n) c[0][n] = load_accumulator<float>(out + row * 48 + 16 * n, 48);
  multiply_shared<P, SA, SB>(c, left + (SA == Storage::kRows ? row * kLd : row), kLd, right, kLd,
                             48);
  for (int n = 0; n < 3; ++n) store(out + row * 48 + 16 * n, 48, c[0][n]);
}

template <class P, Storage SA, Storage SB>
void expect_product() {
  using T = typename P::Operand;
  const auto a = small_integers(48 * 48, 31, 2), b = small_integers(48 * 48, 29, 3),
             c = small_integers(48 * 48, 1001, 4);
  const DeviceBuffer<T> left(numbers<T>(a)), right(numbers<T>(b));
  const DeviceBuffer<float> out(c);
  launch("multiply_squares", multiply_squares<P, SA, SB>, dim3(1), 96, 2 * 48 * kLd * sizeof(T),
         nullptr, left.data(), right.data(), out.data());
  const auto got = out.read();
  for (int m = 0; m < 48; ++m)
    for (int n = 0; n < 48; ++n) {
      float wanted = c[m * 48 + n];
      for (int k = 0; k < 48; ++k) {
        wanted += (SA == Storage::kRows ? a[m * 48 + k] : a[k * 48 + m]) *
                  (SB == Storage::kRows ? b[n * 48 + k] : b[k * 48 + n]);
      }
      EXPECT_EQ(got[m * 48 + n], wanted) << m << ", " << n;
    }
}

TYPED_TEST(MmaTest, ProductsMatchAPlainLoopForEveryStorage) {
  expect_product<TypeParam, Storage::kRows, Storage::kRows>();
  expect_product<TypeParam, Storage::kRows, Storage::kTransposed>();
  expect_product<TypeParam, Storage::kTransposed, Storage::kRows>();
  expect_product<TypeParam, Storage::kTransposed, Storage::kTransposed>();
}

// out0 = (A B) D with the product as left operand, out1 = D (A B)^T with it as right operand.
template <class P>
__global__ void chain(const typename P::Operand* a, const typename P::Operand* bt,
                      const typename P::Operand* d, float* out0, float* out1) {
  using T = typename P::Operand;
  Accumulator product, left, right;
  clear(product);
  clear(left);
  clear(right);
  multiply<P>(product, load_global(a, kTile), load_global(bt, kTile));
  multiply<P>(left, to_operand<T>(product), load_global(d, kTile));
  multiply<P>(right, load_global(d, kTile), to_operand<T>(product));
  store(out0, kTile, left);
  store(out1, kTile, right);
}

TYPED_TEST(MmaTest, AnAccumulatorServesAsLeftOperandAndAsTransposedRightOperand) {
  using T = typename TypeParam::Operand;
  const auto a = small_integers(256, 3, 5), b = small_integers(256, 5, 6),
             d = small_integers(256, 7, 7);
  const DeviceBuffer<T> left(numbers<T>(a)), right(numbers<T>(b)), other(numbers<T>(d));
  const DeviceBuffer<float> out0(256, -1.0f), out1(256, -1.0f);
  launch("chain", chain<TypeParam>, dim3(1), 32, 0, nullptr, left.data(), right.data(),
         other.data(), out0.data(), out1.data());
  const auto got0 = out0.read(), got1 = out1.read();
  float product[16][16] = {};
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n)
      for (int k = 0; k < 16; ++k) product[m][n] += a[m * 16 + k] * b[n * 16 + k];
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      float as_left = 0, as_right = 0;
      for (int k = 0; k < 16; ++k) {
        as_left += product[m][k] * d[n * 16 + k];
        as_right += d[m * 16 + k] * product[n][k];
      }
      EXPECT_EQ(got0[m * 16 + n], as_left);
      EXPECT_EQ(got1[m * 16 + n], as_right);
    }
}

// x = 1 + 2^-11 + 2^-13 is between tf32's neighbours 1 and 1 + 2^-10.
TEST_F(OnDevice, OnlyTheTf32ProductRoundsItsFp32Operands) {
  const float x = 1.0f + 0x1p-11f + 0x1p-13f;
  const DeviceBuffer<float> a(256, x), b(256, 1.0f), zero(256, 0.0f), out(512, 0.0f);
  launch("chain", chain<Tf32Products>, dim3(1), 32, 0, nullptr, a.data(), b.data(), b.data(),
         out.data(), out.data() + 256);
  EXPECT_EQ(out.read()[0], 256.0f * (1.0f + 0x1p-10f));
  launch("chain", chain<Fp32Products>, dim3(1), 32, 0, nullptr, a.data(), b.data(), b.data(),
         out.data(), out.data() + 256);
  EXPECT_EQ(out.read()[0], 256.0f * x);
}

}  // namespace
}  // namespace gdr2::cuda::test
