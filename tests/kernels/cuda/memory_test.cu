// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, 16-byte accesses and tiles of strided tensors with masks.
#include "kernels/cuda/tile.cuh"
#include "tests/kernels/cuda/device_buffer.cuh"

namespace gdr2::cuda::test {
namespace {

class MemoryTest : public OnDevice {};

// Three stages of 128 packs in flight; the middle one is masked.
__global__ void copy_in_stages(const Pack16* in, Pack16* out) {
  Pack16* shared = &shared_as<Pack16>();
  const int t = thread_index(), n = block_size();
  for (int stage = 0; stage < 3; ++stage) {
    copy_async_16(shared + stage * n + t, in + stage * n + t, stage != 1);
    copy_commit();
  }
  copy_wait<2>();
  sync_threads();
  store_streaming_16(out + t, shared[n - 1 - t]);
  copy_wait<0>();
  sync_threads();
  out[n + t] = shared[n + t];
  out[2 * n + t] = shared[2 * n + (t + 1) % n];
  out[3 * n + t] = load_once_16(in + t);
}

TEST_F(MemoryTest, AsynchronousCopiesArriveByTheirGroups) {
  constexpr int kThreads = 128;
  std::vector<Pack16> in(3 * kThreads);
  for (size_t i = 0; i < in.size(); ++i)
    for (int j = 0; j < 4; ++j)
      in[i][j] = static_cast<uint32_t>(1000 * i + static_cast<size_t>(j) + 1);
  const DeviceBuffer<Pack16> from(in), to(4 * kThreads);
  launch("copy_in_stages", copy_in_stages, dim3(1), kThreads, 3 * kThreads * sizeof(Pack16),
         nullptr, from.data(), to.data());
  const auto out = to.read();
  for (int t = 0; t < kThreads; ++t)
    for (int j = 0; j < 4; ++j) {
      EXPECT_EQ(out[t][j], in[kThreads - 1 - t][j]);
      EXPECT_EQ(out[kThreads + t][j], 0u);
      EXPECT_EQ(out[2 * kThreads + t][j], in[2 * kThreads + (t + 1) % kThreads][j]);
      EXPECT_EQ(out[3 * kThreads + t][j], in[t][j]);
    }
}

constexpr int kRows = 16, kColumns = 64, kLd = 72;

template <class T>
__global__ void copy_tile(const T* in, int64_t stride, int rows, int channels, bool vector,
                          T* out) {
  T* tile = &shared_as<T>();
  copy_tile_async<kRows, kColumns, 64>(tile, kLd, in, stride, rows, channels, vector,
                                       thread_index());
  copy_commit();
  copy_wait<0>();
  sync_threads();
  for (int i = thread_index(); i < kRows * kColumns; i += block_size())
    out[i] = tile[i / kColumns * kLd + i % kColumns];
}

template <class T>
void expect_tile(int64_t stride, int offset, int rows, int channels, bool vector) {
  const auto values = small_integers(2048, 251, 9);
  const DeviceBuffer<T> in(numbers<T>(values)), out(kRows * kColumns, number<T>(99.0f));
  launch("copy_tile", copy_tile<T>, dim3(1), 64, kRows * kLd * sizeof(T), nullptr,
         in.data() + offset, stride, rows, channels, vector, out.data());
  const auto got = out.read();
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c) {
      const float wanted =
          r < rows && c < channels ? values[static_cast<size_t>(offset + r * stride + c)] : 0.0f;
      EXPECT_EQ(value(got[r * kColumns + c]), wanted) << r << ", " << c;
    }
}

TEST_F(MemoryTest, ATileKeepsItsValidPartAndIsZeroElsewhere) {
  expect_tile<Bf16>(96, 0, 16, 64, true);
  expect_tile<Bf16>(96, 8, 5, 48, true);
  expect_tile<Fp16>(101, 3, 11, 37, false);
  expect_tile<float>(68, 4, 7, 60, true);
  expect_tile<float>(65, 1, 16, 63, false);
  expect_tile<float>(64, 0, 0, 64, true);
}

template <class T>
__global__ void round_trip(TokenTensor in, TokenTensor out, int channels) {
  float x[8];
  const int c = 8 * thread_index();
  load_any_channels(x, in, 1, 2, 1, c, channels);
  store_any_channels(out, x, 1, 2, 1, c, channels);
}

// [B = 2, T = 3, heads = 2] with odd or aligned strides: only the row (1, 2, 1) is written.
template <class T>
void expect_round_trip(int32_t dtype, int channels, int64_t head, bool vector) {
  const int64_t token = 2 * head, batch = 3 * token, row = batch + 2 * token + head;
  const auto values = small_integers(static_cast<size_t>(2 * batch + 64), 251, 10);
  const DeviceBuffer<T> from(numbers<T>(values)), to(values.size(), number<T>(77.0f));
  const TokenTensor in{from.data(), batch, token, head, dtype, vector},
      out{to.data(), batch, token, head, dtype, vector};
  launch("round_trip", round_trip<T>, dim3(1), 32, 0, nullptr, in, out, channels);
  const auto got = to.read();
  for (int64_t i = 0; i < static_cast<int64_t>(got.size()); ++i) {
    const bool inside = i >= row && i < row + channels;
    EXPECT_EQ(value(got[static_cast<size_t>(i)]), inside ? values[static_cast<size_t>(i)] : 77.0f)
        << i;
  }
}

TEST_F(MemoryTest, RowsOfAnyTypeAreReadAndWrittenWithinTheirChannels) {
  expect_round_trip<float>(GDR2_F32, 100, 100, true);
  expect_round_trip<float>(GDR2_F32, 61, 63, false);
  expect_round_trip<Bf16>(GDR2_BF16, 128, 128, true);
  expect_round_trip<Bf16>(GDR2_BF16, 13, 17, false);
  expect_round_trip<Fp16>(GDR2_F16, 48, 56, true);
  expect_round_trip<Fp16>(GDR2_F16, 1, 1, false);
}

}  // namespace
}  // namespace gdr2::cuda::test
