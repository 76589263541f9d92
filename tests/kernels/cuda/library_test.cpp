// SPDX-License-Identifier: Apache-2.0
// The C interface refuses bad arguments by name, and says what it supports and needs. Nothing
// here reaches a kernel.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/abi/gdr2_kernel.h"

namespace gdr2::cuda::test {
namespace {

constexpr int64_t kB = 2, kT = 100, kH = 2, kHV = 4, kK = 48, kV = 32;

gdr2_problem good_problem() {
  gdr2_problem p{};
  p.struct_size = sizeof p;
  p.dtype = GDR2_BF16, p.g_dtype = GDR2_F32, p.products = GDR2_FORMAT_BF16;
  p.B = kB, p.T = kT, p.N = kB, p.H = kH, p.HV = kHV, p.K = kK, p.V = kV;
  p.scale = 0.5, p.l2norm_eps = 1e-6, p.lower_bound = -5;
  return p;
}

// Arguments that would do, over memory that is never read.
struct Arguments {
  alignas(256) unsigned char memory[256] = {};
  gdr2_problem problem = good_problem();
  gdr2_inputs inputs{};
  gdr2_outputs outputs{};
  gdr2_cotangents cotangents{};
  gdr2_gradients gradients{};
  gdr2_decode decode{};
  gdr2_workspace workspace{};

  gdr2_tensor tokens(int64_t heads, int64_t channels, int32_t dtype) {
    return {memory, {kT * heads * channels, heads * channels, channels, 1}, dtype, 0};
  }
  Arguments() {
    const auto key = tokens(kH, kK, GDR2_BF16), value = tokens(kHV, kV, GDR2_BF16),
               gate = tokens(kH, kK, GDR2_F32);
    inputs.q = inputs.k = inputs.b = gradients.dq = gradients.dk = gradients.db = decode.q =
        decode.k = decode.b = key;
    inputs.v = inputs.w = outputs.o = gradients.dv = gradients.dw = decode.v = decode.w = decode.o =
        value;
    inputs.g = gradients.dg = decode.g = gate;
    decode.pool = {memory, {kHV * kK * kV, kK * kV, kV, 1}, GDR2_F32, 0};
    decode.slot = reinterpret_cast<const int32_t*>(memory);
    decode.slots = 7;
    workspace.data = memory;
    workspace.bytes = std::numeric_limits<uint64_t>::max();
  }
};

using Change = std::function<void(Arguments&)>;

void expect_refused(gdr2_status (*call)(Arguments&), gdr2_status wanted, const char* argument,
                    const Change& change) {
  Arguments a;
  change(a);
  EXPECT_EQ(call(a), wanted) << argument;
  EXPECT_EQ(std::string(a.workspace.error).rfind(std::string(argument) + ":", 0), 0u)
      << "message: " << a.workspace.error;
}

gdr2_status forward(Arguments& a) {
  return gdr2_kernel_v1()->forward(&a.problem, &a.inputs, &a.outputs, &a.workspace);
}
gdr2_status backward(Arguments& a) {
  return gdr2_kernel_v1()->backward(&a.problem, &a.inputs, &a.cotangents, &a.gradients,
                                    &a.workspace);
}
gdr2_status decode(Arguments& a) {
  return gdr2_kernel_v1()->decode(&a.problem, &a.decode, &a.workspace);
}

void expect_bad(const char* argument, const Change& change) {
  expect_refused(forward, GDR2_BAD_ARGUMENT, argument, change);
}
void expect_unsupported(const char* argument, const Change& change) {
  expect_refused(forward, GDR2_UNSUPPORTED, argument, change);
}

TEST(CudaLibraryTest, TheTableIsComplete) {
  const gdr2_kernel* table = gdr2_kernel_v1();
  EXPECT_EQ(table->abi_version, static_cast<uint32_t>(GDR2_ABI_VERSION));
  EXPECT_EQ(table->struct_size, sizeof(gdr2_kernel));
  EXPECT_TRUE(table->query && table->forward && table->backward && table->decode);
}

TEST(CudaLibraryTest, SizesAreJudged) {
  expect_bad("struct_size", [](Arguments& a) { a.problem.struct_size = 8; });
  expect_bad("B", [](Arguments& a) { a.problem.B = -1; });
  expect_bad("T", [](Arguments& a) { a.problem.T = -1; });
  expect_bad("H", [](Arguments& a) { a.problem.H = 0; });
  expect_bad("K", [](Arguments& a) { a.problem.K = 0; });
  expect_bad("HV", [](Arguments& a) { a.problem.HV = 3; });
  expect_bad("N", [](Arguments& a) { a.problem.N = 3; });
  expect_bad("B", [](Arguments& a) {
    a.problem.B = a.problem.N = int64_t{1} << 50, a.problem.T = int64_t{1} << 40;
  });
  expect_unsupported("K", [](Arguments& a) { a.problem.K = 257; });
  expect_unsupported("V", [](Arguments& a) { a.problem.V = 257; });
}

TEST(CudaLibraryTest, FormatsAndOptionsAreJudged) {
  expect_bad("dtype", [](Arguments& a) { a.problem.dtype = 9; });
  expect_unsupported("dtype", [](Arguments& a) { a.problem.dtype = GDR2_F64; });
  expect_unsupported("products", [](Arguments& a) { a.problem.products = GDR2_FORMAT_F16; });
  expect_unsupported("g_dtype", [](Arguments& a) { a.problem.g_dtype = GDR2_F16; });
  expect_bad("scale",
             [](Arguments& a) { a.problem.scale = std::numeric_limits<double>::quiet_NaN(); });
  expect_bad("gate", [](Arguments& a) { a.problem.gate = 3; });
  expect_bad("lower_bound", [](Arguments& a) {
    a.problem.gate = GDR2_GATE_LOWER_BOUND, a.problem.lower_bound = 0;
  });
  expect_bad("state_layout", [](Arguments& a) { a.problem.state_layout = -1; });
  expect_bad("l2norm_eps", [](Arguments& a) { a.problem.l2norm = 1, a.problem.l2norm_eps = -1; });
}

TEST(CudaLibraryTest, SequenceStartsAreJudgedByTheirHostCopy) {
  static int64_t starts[4];
  const auto packed = [](std::vector<int64_t> values) {
    return [values](Arguments& a) {
      std::copy(values.begin(), values.end(), starts);
      a.problem.B = 1, a.problem.N = 3, a.problem.cu_seqlens = a.problem.cu_seqlens_host = starts;
    };
  };
  expect_bad("cu_seqlens", packed({1, 5, 9, kT}));
  expect_bad("cu_seqlens", packed({0, 60, 50, kT}));
  expect_bad("cu_seqlens", packed({0, 60, 60, kT - 1}));
  expect_bad("B", [](Arguments& a) { a.problem.cu_seqlens = starts; });
  expect_bad("cu_seqlens", [](Arguments& a) { a.problem.cu_seqlens_host = starts; });
}

TEST(CudaLibraryTest, TensorsAreJudgedByName) {
  expect_bad("q", [](Arguments& a) { a.inputs.q.data = nullptr; });
  expect_bad("k", [](Arguments& a) { a.inputs.k.dtype = GDR2_F32; });
  expect_bad("g", [](Arguments& a) { a.inputs.g.dtype = GDR2_BF16; });
  expect_bad("v", [](Arguments& a) { a.inputs.v.stride[3] = 2; });
  expect_bad("w", [](Arguments& a) { a.inputs.w.data = a.memory + 1; });
  expect_bad("h0", [](Arguments& a) { a.inputs.h0 = {a.memory, {}, GDR2_BF16, 0}; });
  expect_bad("A_log", [](Arguments& a) { a.problem.gate = GDR2_GATE_SOFTPLUS; });
  expect_bad("o", [](Arguments& a) { a.outputs.o.data = nullptr; });
  expect_bad("ht", [](Arguments& a) { a.outputs.ht = {a.memory, {}, GDR2_F16, 0}; });
  expect_unsupported("stage[5]", [](Arguments& a) {
    a.outputs.stage[GDR2_STAGE_U] = {a.memory, {}, GDR2_F32, 0};
  });
  expect_refused(backward, GDR2_BAD_ARGUMENT, "d_o",
                 [](Arguments& a) { a.cotangents.d_o = a.inputs.g; });
  expect_refused(backward, GDR2_BAD_ARGUMENT, "dg",
                 [](Arguments& a) { a.gradients.dg.data = nullptr; });
  expect_refused(decode, GDR2_BAD_ARGUMENT, "pool",
                 [](Arguments& a) { a.decode.pool.data = nullptr; });
  expect_refused(decode, GDR2_BAD_ARGUMENT, "slot", [](Arguments& a) { a.decode.slot = nullptr; });
}

TEST(CudaLibraryTest, WorkspaceIsJudged) {
  expect_bad("workspace.data", [](Arguments& a) { a.workspace.data = nullptr; });
  expect_bad("workspace.data", [](Arguments& a) { a.workspace.bytes = 255; });
  expect_bad("workspace.data", [](Arguments& a) { a.workspace.data = a.memory + 16; });
  expect_bad("workspace.saved", [](Arguments& a) { a.workspace.saved = a.memory; });
}

TEST(CudaLibraryTest, NullStructsAreRefused) {
  const gdr2_kernel* table = gdr2_kernel_v1();
  Arguments a;
  EXPECT_EQ(table->forward(&a.problem, &a.inputs, &a.outputs, nullptr), GDR2_BAD_ARGUMENT);
  EXPECT_EQ(table->forward(nullptr, &a.inputs, &a.outputs, &a.workspace), GDR2_BAD_ARGUMENT);
  EXPECT_EQ(table->forward(&a.problem, nullptr, &a.outputs, &a.workspace), GDR2_BAD_ARGUMENT);
  EXPECT_EQ(table->query(&a.problem, GDR2_PASS_FORWARD, nullptr), GDR2_BAD_ARGUMENT);
}

gdr2_capability asked(const gdr2_problem& problem, int32_t passes) {
  gdr2_capability capability{};
  capability.struct_size = sizeof capability;
  EXPECT_EQ(gdr2_kernel_v1()->query(&problem, passes, &capability), GDR2_OK) << capability.reason;
  return capability;
}

TEST(CudaLibraryTest, AQueryGivesTheContractAndTheSizes) {
  const gdr2_capability both = asked(good_problem(), GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD);
  const gdr2_capability forward = asked(good_problem(), GDR2_PASS_FORWARD);
  EXPECT_TRUE(both.supported && forward.supported);
  EXPECT_EQ(forward.contract.operand, GDR2_FORMAT_BF16);
  EXPECT_EQ(forward.contract.auxiliary, GDR2_FORMAT_F32);
  EXPECT_EQ(forward.contract.solve, GDR2_FORMAT_F32);
  EXPECT_GT(forward.workspace_bytes, 0u);
  EXPECT_GT(forward.saved_bytes, 0u);
  EXPECT_GE(both.workspace_bytes, forward.workspace_bytes);
  EXPECT_LE(both.workspace_bytes_with_saved + both.saved_bytes, both.workspace_bytes);
  EXPECT_TRUE(forward.stages >> GDR2_STAGE_H & 1u);
  EXPECT_TRUE(both.stages >> GDR2_STAGE_DH & 1u);
}

TEST(CudaLibraryTest, ADecodeQueryPromisesFp32) {
  const gdr2_capability capability = asked(good_problem(), GDR2_PASS_DECODE);
  EXPECT_TRUE(capability.supported);
  EXPECT_EQ(capability.contract.operand, GDR2_FORMAT_F32);
  EXPECT_EQ(capability.workspace_bytes, 0u);
}

TEST(CudaLibraryTest, AQueryForAnUnsupportedProblemGivesTheReason) {
  gdr2_problem problem = good_problem();
  problem.K = 300;
  const gdr2_capability capability = asked(problem, GDR2_PASS_FORWARD);
  EXPECT_FALSE(capability.supported);
  EXPECT_EQ(std::string(capability.reason), "K: 300 channels; at most 256");
}

}  // namespace
}  // namespace gdr2::cuda::test
