// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/validate.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>

namespace gdr2::cuda {
namespace {

constexpr int64_t kMaxChannels = 256;
constexpr int64_t kMaxHeads = 1 << 20;
constexpr uint64_t kWorkspaceAlignment = 256;

[[noreturn]] void bad(const std::string& argument, const std::string& fault) {
  throw Refusal(GDR2_BAD_ARGUMENT, argument + ": " + fault);
}
[[noreturn]] void unsupported(const std::string& argument, const std::string& fault) {
  throw Refusal(GDR2_UNSUPPORTED, argument + ": " + fault);
}

std::string dtype_name(int32_t dtype) {
  constexpr const char* kNames[] = {"fp64", "fp32", "bf16", "fp16"};
  return dtype >= 0 && dtype <= GDR2_F16 ? kNames[dtype] : "dtype " + std::to_string(dtype);
}

size_t dtype_bytes(int32_t dtype) { return dtype == GDR2_F64 ? 8 : dtype == GDR2_F32 ? 4 : 2; }

bool is_half(int32_t dtype) { return dtype == GDR2_BF16 || dtype == GDR2_F16; }

void validate_sizes(const gdr2_problem& p) {
  const struct {
    const char* name;
    int64_t value, least;
  } sizes[] = {{"B", p.B, 0},   {"T", p.T, 0}, {"N", p.N, 0}, {"H", p.H, 1},
               {"HV", p.HV, 1}, {"K", p.K, 1}, {"V", p.V, 1}};
  for (const auto& size : sizes) {
    if (size.value < size.least)
      bad(size.name, std::to_string(size.value) + " is less than " + std::to_string(size.least));
  }
  if (p.HV % p.H != 0)
    bad("HV", std::to_string(p.HV) + " is not a multiple of H = " + std::to_string(p.H));
  if (p.HV > kMaxHeads)
    unsupported("HV", std::to_string(p.HV) + " heads; at most " + std::to_string(kMaxHeads));
  if (p.K > kMaxChannels)
    unsupported("K", std::to_string(p.K) + " channels; at most " + std::to_string(kMaxChannels));
  if (p.V > kMaxChannels)
    unsupported("V", std::to_string(p.V) + " channels; at most " + std::to_string(kMaxChannels));
  if (p.T > 0 && p.B > std::numeric_limits<int64_t>::max() / p.T / p.HV / kMaxChannels)
    bad("B", "B * T * HV overflows");
}

void validate_formats(const gdr2_problem& p) {
  if (p.dtype < GDR2_F64 || p.dtype > GDR2_F16)
    bad("dtype", dtype_name(p.dtype) + " does not exist");
  if (p.dtype == GDR2_F64) unsupported("dtype", "fp64");
  const bool fits =
      (p.dtype == GDR2_BF16 && p.products == GDR2_FORMAT_BF16) ||
      (p.dtype == GDR2_F16 && p.products == GDR2_FORMAT_F16) ||
      (p.dtype == GDR2_F32 && (p.products == GDR2_FORMAT_TF32 || p.products == GDR2_FORMAT_F32));
  if (!fits) {
    unsupported("products",
                "format " + std::to_string(p.products) + " with " + dtype_name(p.dtype) +
                    " tensors; bf16 and fp16 go with themselves, fp32 with tf32 or fp32");
  }
  if (p.g_dtype != GDR2_F32 && p.g_dtype != p.dtype) {
    unsupported("g_dtype", dtype_name(p.g_dtype) + "; g is fp32 or of the problem's dtype");
  }
}

void validate_options(const gdr2_problem& p) {
  if (!std::isfinite(p.scale)) bad("scale", "not finite");
  if (p.gate < GDR2_GATE_LOG || p.gate > GDR2_GATE_LOWER_BOUND)
    bad("gate", std::to_string(p.gate) + " does not exist");
  if (p.gate == GDR2_GATE_LOWER_BOUND && !(p.lower_bound < 0 && std::isfinite(p.lower_bound))) {
    bad("lower_bound", std::to_string(p.lower_bound) + " is not below zero");
  }
  if (p.state_layout != GDR2_STATE_KV && p.state_layout != GDR2_STATE_VK) {
    bad("state_layout", std::to_string(p.state_layout) + " does not exist");
  }
  if (p.l2norm && !(p.l2norm_eps >= 0 && std::isfinite(p.l2norm_eps)))
    bad("l2norm_eps", "not a number from zero up");
}

void validate_sequences(const gdr2_problem& p) {
  if (p.cu_seqlens == nullptr) {
    if (p.cu_seqlens_host != nullptr) bad("cu_seqlens", "absent, but cu_seqlens_host is given");
    if (p.N != p.B)
      bad("N",
          std::to_string(p.N) + " differs from B = " + std::to_string(p.B) + " without cu_seqlens");
    return;
  }
  if (p.B != 1) bad("B", std::to_string(p.B) + "; packed sequences have B = 1");
  const int64_t* starts = p.cu_seqlens_host;
  if (starts == nullptr) return;
  if (starts[0] != 0) bad("cu_seqlens", "starts at " + std::to_string(starts[0]) + ", not at 0");
  for (int64_t n = 0; n < p.N; ++n) {
    if (starts[n + 1] < starts[n]) bad("cu_seqlens", "decreases at entry " + std::to_string(n + 1));
  }
  if (starts[p.N] != p.T) {
    bad("cu_seqlens",
        "ends at " + std::to_string(starts[p.N]) + ", not at T = " + std::to_string(p.T));
  }
}

void validate_pointer(const std::string& name, const gdr2_tensor& t) {
  if (reinterpret_cast<uintptr_t>(t.data) % dtype_bytes(t.dtype) != 0)
    bad(name, "data is not aligned to its elements");
}

// [B, T, heads, channels]; absent only when `optional` or empty.
void validate_tokens(const gdr2_problem& p, const std::string& name, const gdr2_tensor& t,
                     int64_t channels, int32_t dtype, bool optional) {
  if (t.data == nullptr) {
    if (optional || p.B * p.T == 0) return;
    bad(name, "data is null");
  }
  if (t.dtype != dtype) bad(name, "is " + dtype_name(t.dtype) + ", not " + dtype_name(dtype));
  if (channels > 1 && t.stride[3] != 1)
    bad(name, "the channels' stride is " + std::to_string(t.stride[3]) + ", not 1");
  validate_pointer(name, t);
}

void validate_state(const std::string& name, const gdr2_tensor& t) {
  if (t.data == nullptr) return;
  if (t.dtype != GDR2_F32) bad(name, "is " + dtype_name(t.dtype) + ", not fp32");
  validate_pointer(name, t);
}

void validate_parameter(const std::string& name, const gdr2_tensor& t, bool needed) {
  if (t.data == nullptr) {
    if (needed) bad(name, "data is null, but the gate is in the kernel");
    return;
  }
  if (t.dtype != GDR2_F32 && !is_half(t.dtype)) bad(name, "is " + dtype_name(t.dtype));
  validate_pointer(name, t);
}

void validate_stages(const gdr2_tensor (&stages)[GDR2_STAGE_COUNT], uint32_t supported) {
  for (uint32_t i = 0; i < GDR2_STAGE_COUNT; ++i) {
    const std::string name = "stage[" + std::to_string(i) + "]";
    if (stages[i].data != nullptr && (supported >> i & 1u) == 0)
      unsupported(name, "this pass does not export it");
    validate_state(name, stages[i]);
  }
}

// What forward, backward and decode read token by token.
template <class Inputs>
void validate_token_inputs(const gdr2_problem& p, const Inputs& in) {
  validate_tokens(p, "q", in.q, p.K, p.dtype, false);
  validate_tokens(p, "k", in.k, p.K, p.dtype, false);
  validate_tokens(p, "v", in.v, p.V, p.dtype, false);
  validate_tokens(p, "g", in.g, p.K, p.g_dtype, false);
  validate_tokens(p, "b", in.b, p.K, p.dtype, false);
  validate_tokens(p, "w", in.w, p.V, p.dtype, false);
  validate_parameter("A_log", in.A_log, p.gate != GDR2_GATE_LOG);
  validate_parameter("dt_bias", in.dt_bias, false);
}

template <class T>
void require(const char* name, const T* pointer) {
  if (pointer == nullptr) bad(name, "null");
}

}  // namespace

void validate(const gdr2_problem* problem) {
  require("problem", problem);
  if (problem->struct_size != sizeof(gdr2_problem)) {
    bad("struct_size",
        std::to_string(problem->struct_size) + ", not " + std::to_string(sizeof(gdr2_problem)));
  }
  validate_sizes(*problem);
  validate_formats(*problem);
  validate_options(*problem);
  validate_sequences(*problem);
}

void validate_decode(const gdr2_problem* problem) {
  validate(problem);
  if (problem->cu_seqlens != nullptr) unsupported("cu_seqlens", "decode takes no packed sequences");
}

void validate(const gdr2_problem& p, const gdr2_inputs* inputs) {
  require("inputs", inputs);
  validate_token_inputs(p, *inputs);
  validate_state("h0", inputs->h0);
}

void validate(const gdr2_problem& p, const gdr2_outputs* outputs, uint32_t stages) {
  require("outputs", outputs);
  validate_tokens(p, "o", outputs->o, p.V, p.dtype, false);
  validate_state("ht", outputs->ht);
  validate_stages(outputs->stage, stages);
}

void validate(const gdr2_problem& p, const gdr2_cotangents* cotangents) {
  require("cotangents", cotangents);
  validate_tokens(p, "d_o", cotangents->d_o, p.V, p.dtype, true);
  validate_state("dht", cotangents->dht);
}

void validate(const gdr2_problem& p, const gdr2_gradients* gradients, uint32_t stages) {
  require("gradients", gradients);
  validate_tokens(p, "dq", gradients->dq, p.K, p.dtype, false);
  validate_tokens(p, "dk", gradients->dk, p.K, p.dtype, false);
  validate_tokens(p, "dv", gradients->dv, p.V, p.dtype, false);
  validate_tokens(p, "dg", gradients->dg, p.K, p.g_dtype, false);
  validate_tokens(p, "db", gradients->db, p.K, p.dtype, false);
  validate_tokens(p, "dw", gradients->dw, p.V, p.dtype, false);
  validate_state("dh0", gradients->dh0);
  validate_parameter("dA_log", gradients->dA_log, false);
  validate_parameter("ddt_bias", gradients->ddt_bias, false);
  validate_stages(gradients->stage, stages);
}

void validate(const gdr2_problem& p, const gdr2_decode* decode) {
  require("decode", decode);
  validate_token_inputs(p, *decode);
  validate_tokens(p, "o", decode->o, p.V, p.dtype, false);
  if (p.B * p.T == 0) return;
  require("slot", decode->slot);
  if (decode->slots < 0) bad("slots", std::to_string(decode->slots) + " is less than 0");
  if (decode->slots > 0) require("pool", static_cast<const char*>(decode->pool.data));
  validate_state("pool", decode->pool);
}

void validate(const gdr2_workspace& workspace, uint64_t needed, uint64_t saved) {
  const auto given = [](const char* name, const void* data, uint64_t bytes, uint64_t least) {
    if (bytes < least)
      bad(name, std::to_string(bytes) + " bytes; " + std::to_string(least) + " are needed");
    if (reinterpret_cast<uintptr_t>(data) % kWorkspaceAlignment != 0)
      bad(name, "is not 256-byte aligned");
  };
  if (needed > 0) {
    if (workspace.data == nullptr)
      bad("workspace.data", "null; " + std::to_string(needed) + " bytes are needed");
    given("workspace.data", workspace.data, workspace.bytes, needed);
  }
  if (workspace.saved != nullptr)
    given("workspace.saved", workspace.saved, workspace.saved_bytes, saved);
}

}  // namespace gdr2::cuda
