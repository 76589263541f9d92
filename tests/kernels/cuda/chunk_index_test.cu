// SPDX-License-Identifier: Apache-2.0
// Which tokens a global chunk holds, for equal lengths and for packed sequences.
#include "kernels/cuda/chunk_index.hpp"
#include "kernels/cuda/device/thread.cuh"
#include "tests/kernels/cuda/device_buffer.cuh"

namespace gdr2::cuda::test {
namespace {

class ChunkIndexTest : public OnDevice {};

__global__ void read_index(DeviceProblem p, Chunk* chunks, Sequence* sequences) {
  for (int64_t c = thread_index(); c < p.chunk_bound; c += block_size()) chunks[c] = chunk_at(p, c);
  for (int64_t n = thread_index(); n < p.N; n += block_size()) sequences[n] = sequence_at(p, n);
}

void expect_index(const gdr2_problem& problem, const std::vector<int64_t>& starts, bool packed) {
  DeviceProblem p{};
  p.B = problem.B, p.T = problem.T, p.N = problem.N;
  p.cu_seqlens = problem.cu_seqlens;
  p.chunk_bound = chunk_bound(problem);
  Workspace size(nullptr);
  place_chunk_index(p, size);
  const DeviceBuffer<unsigned char> memory(size.bytes() + 1, 0xa5);
  Workspace workspace(memory.data());
  place_chunk_index(p, workspace);
  build_chunk_index(p);
  const DeviceBuffer<Chunk> chunks(static_cast<size_t>(p.chunk_bound) + 1);
  const DeviceBuffer<Sequence> sequences(static_cast<size_t>(p.N) + 1);
  launch("read_index", read_index, dim3(1), 64, 0, nullptr, p, chunks.data(), sequences.data());

  const auto got = chunks.read();
  const auto got_sequences = sequences.read();
  int64_t c = 0;
  for (int64_t n = 0; n < p.N; ++n) {
    const int64_t length = starts[static_cast<size_t>(n) + 1] - starts[static_cast<size_t>(n)];
    const int64_t batch = packed ? 0 : n, token = packed ? starts[static_cast<size_t>(n)] : 0;
    const Sequence& s = got_sequences[static_cast<size_t>(n)];
    EXPECT_EQ(s.batch, batch);
    EXPECT_EQ(s.token, token);
    EXPECT_EQ(s.length, length);
    EXPECT_EQ(s.first_chunk, c);
    EXPECT_EQ(s.chunks, (length + 63) / 64);
    for (int64_t first = 0; first < length; first += 64, ++c) {
      ASSERT_LT(c, p.chunk_bound);
      const Chunk& chunk = got[static_cast<size_t>(c)];
      EXPECT_EQ(chunk.batch, batch);
      EXPECT_EQ(chunk.sequence, n);
      EXPECT_EQ(chunk.token, token + first);
      EXPECT_EQ(chunk.index, first / 64);
      EXPECT_EQ(chunk.rows, std::min<int64_t>(64, length - first));
    }
  }
  for (; c < p.chunk_bound; ++c) EXPECT_EQ(got[static_cast<size_t>(c)].rows, 0);
}

gdr2_problem sized(int64_t B, int64_t T, int64_t N) {
  gdr2_problem problem{};
  problem.B = B, problem.T = T, problem.N = N;
  return problem;
}

TEST_F(ChunkIndexTest, EqualLengthsNeedNoTable) {
  for (const int64_t T : {1, 63, 64, 65, 200}) {
    std::vector<int64_t> starts;
    for (int64_t n = 0; n <= 3; ++n) starts.push_back(n * T);
    expect_index(sized(3, T, 3), starts, false);
  }
}

void expect_packed(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> starts{0};
  for (const int64_t length : lengths) starts.push_back(starts.back() + length);
  const DeviceBuffer<int64_t> cu_seqlens(starts);
  gdr2_problem problem = sized(1, starts.back(), static_cast<int64_t>(lengths.size()));
  problem.cu_seqlens = cu_seqlens.data();
  expect_index(problem, starts, true);
}

TEST_F(ChunkIndexTest, EveryPackedSequenceStartsANewChunk) {
  expect_packed({64});
  expect_packed({1});
  expect_packed({5, 64, 1, 129});
}

TEST_F(ChunkIndexTest, EmptySequencesHaveNoChunk) {
  expect_packed({0, 5, 0, 64, 1, 0});
  expect_packed({0});
  expect_packed({0, 0, 0});
}

TEST_F(ChunkIndexTest, ManySequencesAndManyChunksCrossTheKernelsSteps) {
  std::vector<int64_t> lengths;
  for (int64_t n = 0; n < 700; ++n) lengths.push_back((n * 37) % 150);
  expect_packed(lengths);
  expect_packed({1, 300 * 64 + 7, 3});
}

}  // namespace
}  // namespace gdr2::cuda::test
