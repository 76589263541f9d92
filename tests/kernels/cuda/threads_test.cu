// SPDX-License-Identifier: Apache-2.0
// Barriers, shared memory and warp collectives against plain loops.
#include <numeric>

#include "kernels/cuda/device/warp.cuh"
#include "tests/kernels/cuda/device_buffer.cuh"

namespace gdr2::cuda::test {
namespace {

class ThreadsTest : public OnDevice {};

__global__ void reverse_in_shared(const int* in, int* out) {
  int* shared = &shared_as<int>();
  const int t = thread_index(), n = block_size();
  const int64_t first = static_cast<int64_t>(block_index().x) * n;
  shared[t] = in[first + t];
  sync_threads();
  out[first + t] = shared[n - 1 - t];
}

TEST_F(ThreadsTest, ABarrierOrdersSharedMemoryBetweenAllThreads) {
  constexpr int kThreads = 192, kBlocks = 3;
  std::vector<int> in(kThreads * kBlocks);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(7 * i + 1);
  const DeviceBuffer<int> from(in), to(in.size(), -1);
  launch("reverse_in_shared", reverse_in_shared, dim3(kBlocks), kThreads, kThreads * sizeof(int),
         nullptr, from.data(), to.data());
  const auto out = to.read();
  for (int b = 0; b < kBlocks; ++b)
    for (int t = 0; t < kThreads; ++t)
      EXPECT_EQ(out[b * kThreads + t], in[b * kThreads + kThreads - 1 - t]);
}

// Warps 0 and 1 pass a value on to warps 2 and 3 through barrier 1; warps 4 and 5 never meet it.
__global__ void hand_over(int* out) {
  int* shared = &shared_as<int>();
  const int t = thread_index();
  if (t < 64) shared[t] = 100 + t;
  if (t < 128) sync_named(1, 128);
  if (t >= 64 && t < 128) out[t - 64] = shared[127 - t];
}

TEST_F(ThreadsTest, ANamedBarrierOrdersTheThreadsThatMeetThere) {
  const DeviceBuffer<int> to(64, -1);
  launch("hand_over", hand_over, dim3(1), 192, 64 * sizeof(int), nullptr, to.data());
  const auto out = to.read();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], 100 + 63 - i);
}

struct WarpResults {
  int shuffled, up, down, crossed;
  int64_t prefix;
  float sum, sum_of_8, largest, smallest;
  int any, all;
};

__global__ void collect(const int* in, WarpResults* out) {
  const int t = thread_index(), x = in[t];
  WarpResults r;
  r.shuffled = shuffle(x, (5 * lane_index() + 3) % kWarp);
  r.up = shuffle_up(x, 3);
  r.down = shuffle_down(x, 5);
  r.crossed = shuffle_xor(x, 9);
  r.prefix = warp_inclusive_sum(static_cast<int64_t>(x));
  r.sum = warp_sum(static_cast<float>(x));
  r.sum_of_8 = warp_sum<8>(static_cast<float>(x));
  r.largest = warp_max(static_cast<float>(x));
  r.smallest = warp_min(static_cast<float>(x));
  r.any = warp_any(x == in[32]);
  r.all = warp_all(x > -100);
  out[t] = r;
}

TEST_F(ThreadsTest, WarpCollectivesExchangeWhatTheirLoopsSay) {
  std::vector<int> in(64);
  for (int i = 0; i < 64; ++i)
    in[i] = static_cast<int>(small_integer(i, 101)) + (i == 40 ? -200 : 0);
  in[32] = 77;
  const DeviceBuffer<int> from(in);
  const DeviceBuffer<WarpResults> to(64);
  launch("collect", collect, dim3(1), 64, 0, nullptr, from.data(), to.data());
  const auto out = to.read();
  for (int t = 0; t < 64; ++t) {
    const int lane = t % 32, base = t - lane;
    const auto first = in.begin() + base, last = first + 32;
    EXPECT_EQ(out[t].shuffled, in[base + (5 * lane + 3) % 32]);
    EXPECT_EQ(out[t].up, in[lane < 3 ? t : t - 3]);
    EXPECT_EQ(out[t].down, in[lane + 5 > 31 ? t : t + 5]);
    EXPECT_EQ(out[t].crossed, in[base + (lane ^ 9)]);
    EXPECT_EQ(out[t].prefix, std::accumulate(first, first + lane + 1, 0));
    EXPECT_EQ(out[t].sum, static_cast<float>(std::accumulate(first, last, 0)));
    EXPECT_EQ(out[t].sum_of_8, static_cast<float>(std::accumulate(first + lane / 8 * 8,
                                                                  first + lane / 8 * 8 + 8, 0)));
    EXPECT_EQ(out[t].largest, static_cast<float>(*std::max_element(first, last)));
    EXPECT_EQ(out[t].smallest, static_cast<float>(*std::min_element(first, last)));
    EXPECT_EQ(out[t].any, t >= 32);
    EXPECT_EQ(out[t].all, t < 32);
  }
}

}  // namespace
}  // namespace gdr2::cuda::test
