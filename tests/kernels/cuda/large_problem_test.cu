// SPDX-License-Identifier: Apache-2.0
// Problems at the edges of what memory holds: a million tokens in one sequence, tensors whose
// elements lie more than 2^31 apart; and what a training loop relies on: the same bits again and
// again, whatever the workspace held, from a captured graph as from a plain call.
#include "tests/kernels/cuda/library_call.cuh"

namespace gdr2::cuda::test {
namespace {

using LargeProblemTest = OnDevice;

void set_inputs(LibraryCall& call, const std::map<std::string, Bits>& rows) {
  for (const auto& [name, bits] : rows) call.set(name, bits);
}

State drawn_state(size_t size, uint64_t tensor) {
  State s(size);
  for (size_t i = 0; i < size; ++i) s[i] = static_cast<float>(uniform(5, tensor, i) - 0.5);
  return s;
}

// Of a call with everything kept, and with everything recomputed.
std::map<std::string, Bits> results(LibraryCall& call, bool keep) {
  call.forward(keep);
  call.backward(keep);
  std::map<std::string, Bits> all;
  for (const std::string name : LibraryCall::kResults) all[name] = call.get(name);
  return all;
}

// The last `count` rows of o from the state before them, in fp64.
std::vector<double> last_outputs(const std::map<std::string, Bits>& rows, int64_t T, int64_t count,
                                 const State& before, int64_t K, int64_t V) {
  const auto at = [&](const char* name, int64_t t, int64_t width, int64_t c) {
    const Bits& bits = rows.at(name);
    return static_cast<double>(
        on_host::float_from_bf16(bits[(t * width + c) % static_cast<int64_t>(bits.size())]));
  };
  std::vector<double> S(before.begin(), before.end()), o;
  for (int64_t t = T - count; t < T; ++t) {
    std::vector<double> u(V), y(V);
    for (int64_t j = 0; j < V; ++j) u[j] = at("w", t, V, j) * at("v", t, V, j);
    for (int64_t i = 0; i < K; ++i)
      for (int64_t j = 0; j < V; ++j) {
        S[i * V + j] *= std::exp(at("g", t, K, i));
        u[j] -= at("b", t, K, i) * at("k", t, K, i) * S[i * V + j];
      }
    for (int64_t i = 0; i < K; ++i)
      for (int64_t j = 0; j < V; ++j) {
        S[i * V + j] += at("k", t, K, i) * u[j];
        y[j] += at("q", t, K, i) / std::sqrt(static_cast<double>(K)) * S[i * V + j];
      }
    o.insert(o.end(), y.begin(), y.end());
  }
  return o;
}

TEST_F(LargeProblemTest, AMillionTokensEqualTheirTwoHalvesAndTheRecurrenceOnASample) {
#if defined(GDR2_CUDA_ON_HOST)
  constexpr int64_t kT = 1024, kWindow = 128;  // the emulation would take hours for the rest
#else
  constexpr int64_t kT = 1 << 20, kWindow = 128;
#endif
  constexpr int64_t kHalf = kT / 2, kK = 64, kV = 64;
  LibraryCall whole({.T = kT, .K = kK, .V = kV});
  const auto rows = draw_rows(whole, std::min<int64_t>(kHalf, 8192), 1);
  const State nothing(kK * kV, 0.0f);
  set_inputs(whole, rows);
  whole.set_h0(nothing), whole.set_dht(drawn_state(kK * kV, 2));
  const auto y = results(whole, true);

  LibraryCall first({.T = kHalf, .K = kK, .V = kV}), second({.T = kHalf, .K = kK, .V = kV});
  set_inputs(first, rows), set_inputs(second, rows);
  first.set_h0(nothing), second.set_dht(drawn_state(kK * kV, 2));
  first.forward(true);
  second.set_h0(first.ht());
  const auto y2 = results(second, true);
  first.set_dht(second.dh0());
  first.backward(true);
  EXPECT_EQ(whole.ht(), second.ht());
  EXPECT_EQ(whole.dh0(), first.dh0());
  for (const std::string name : LibraryCall::kResults) {
    EXPECT_TRUE(rows_of(y.at(name), kK, 0, kHalf) == first.get(name)) << name << ", first half";
    EXPECT_TRUE(rows_of(y.at(name), kK, kHalf, kHalf) == y2.at(name)) << name << ", second half";
  }

  LibraryCall before({.T = kT - kWindow, .K = kK, .V = kV});
  set_inputs(before, rows);
  before.set_h0(nothing);
  before.forward(false);
  const auto wanted = last_outputs(rows, kT, kWindow, before.ht(), kK, kV);
  std::vector<double> got;
  for (const uint16_t bits : rows_of(y.at("o"), kV, kT - kWindow, kWindow))
    got.push_back(on_host::float_from_bf16(bits));
  EXPECT_LE(distance(got, wanted).rms, 1e-2);  // bf16 operands and outputs: 4e-3 as a rule
}

TEST_F(LargeProblemTest, ElementsBeyondTwoToThe31ChangeNoBit) {
  LibraryShape shape{.T = 70, .H = 2, .K = 128, .V = 64};
  LibraryCall near(shape);
  shape.token_stride = (int64_t{1} << 25) + 4096;
  ASSERT_GT((shape.T - 1) * shape.token_stride, int64_t{1} << 31);
  LibraryCall far(shape);
  const auto rows = draw_rows(near, shape.T, 3);
  const size_t size = shape.H * shape.K * shape.V;
  for (LibraryCall* call : {&near, &far}) {
    set_inputs(*call, rows);
    call->set_h0(drawn_state(size, 3)), call->set_dht(drawn_state(size, 4));
  }
  const auto y = results(near, true), z = results(far, true);
  for (const auto& [name, bits] : y) EXPECT_TRUE(bits == z.at(name)) << name;
  EXPECT_EQ(near.ht(), far.ht());
  EXPECT_EQ(near.dh0(), far.dh0());
}

TEST_F(LargeProblemTest, RepeatsLeaveTheSameBitsWhateverTheWorkspaceHeld) {
#if defined(GDR2_CUDA_ON_HOST)
  constexpr int kRepeats = 3;
  const LibraryShape shape{.T = 150, .H = 1, .K = 128, .V = 64, .lens = {70, 0, 80}};
#else
  constexpr int kRepeats = 30;
  const LibraryShape shape{.T = 5000, .H = 4, .K = 128, .V = 128, .lens = {1300, 0, 2600, 1, 1099}};
#endif
  LibraryCall call(shape);
  set_inputs(call, draw_rows(call, shape.T, 4));
  const size_t size = shape.N() * shape.H * shape.K * shape.V;
  call.set_h0(drawn_state(size, 5)), call.set_dht(drawn_state(size, 6));
  call.poison(0);
  const auto y = results(call, true);
  const State ht = call.ht(), dh0 = call.dh0();
  for (int n = 1; n <= kRepeats; ++n) {
    call.poison(n % 2 == 0 ? 0xff : static_cast<unsigned char>(0x3b + n));
    ASSERT_TRUE(y == results(call, n % 3 != 0)) << "repeat " << n;
    ASSERT_TRUE(ht == call.ht() && dh0 == call.dh0()) << "repeat " << n;
  }
}

#if !defined(GDR2_CUDA_ON_HOST)
TEST_F(LargeProblemTest, ACapturedGraphLeavesTheBitsOfAPlainCall) {
  for (const std::vector<int64_t>& lens : {std::vector<int64_t>{}, {300, 0, 129, 71}}) {
    const LibraryShape shape{.T = 500, .H = 2, .K = 128, .V = 96, .lens = lens};
    LibraryCall plain(shape), captured(shape);
    const auto rows = draw_rows(plain, shape.T, 7);
    const size_t size = shape.N() * shape.H * shape.K * shape.V;
    for (LibraryCall* call : {&plain, &captured}) {
      set_inputs(*call, rows);
      call->set_h0(drawn_state(size, 8)), call->set_dht(drawn_state(size, 9));
    }
    const auto y = results(plain, true);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    captured.forward(true, stream);
    captured.backward(true, stream);
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
    for (int replay = 0; replay < 3; ++replay) {
      captured.poison(static_cast<unsigned char>(0x91 + replay));
      check(cudaGraphLaunch(ready, stream), "cudaGraphLaunch");
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      for (const auto& [name, bits] : y) EXPECT_TRUE(bits == captured.get(name)) << name;
      EXPECT_EQ(plain.ht(), captured.ht());
      EXPECT_EQ(plain.dh0(), captured.dh0());
    }
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
  }
}
#endif

}  // namespace
}  // namespace gdr2::cuda::test
