// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels behind the C interface: validate, translate, launch. No exception leaves it: a
// refusal or a CUDA error becomes a status and a message.
#include <algorithm>
#include <cstdio>
#include <string>

#include "kernels/cuda/backward.hpp"
#include "kernels/cuda/device_problem.hpp"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/forward.hpp"
#include "kernels/cuda/recurrent.hpp"
#include "kernels/cuda/reverse_scan.hpp"
#include "kernels/cuda/scan.hpp"
#include "kernels/cuda/validate.hpp"

namespace gdr2::cuda {
namespace {

// Runs `body`; what it throws goes into `message`.
template <class Body>
gdr2_status guarded(char (*message)[GDR2_MAX_MESSAGE], const Body& body) {
  const auto failed = [message](gdr2_status status, const char* what) {
    if (message != nullptr) std::snprintf(*message, GDR2_MAX_MESSAGE, "%s", what);
    return status;
  };
  try {
    body();
    return GDR2_OK;
  } catch (const Refusal& refusal) {
    return failed(refusal.status(), refusal.what());
  } catch (const std::exception& error) {
    return failed(GDR2_DEVICE_ERROR, error.what());
  }
}

template <class Body>
gdr2_status guarded(gdr2_workspace* workspace, const Body& body) {
  if (workspace == nullptr) return GDR2_BAD_ARGUMENT;
  workspace->error[0] = '\0';
  return guarded(&workspace->error, body);
}

// Products are the only rounding inside a chunk pass; decoding has no matrix products and rounds
// nothing below fp32.
gdr2_contract contract_of(const gdr2_problem& problem, int32_t passes) {
  const bool chunked = passes != GDR2_PASS_DECODE;
  gdr2_contract contract{};
  contract.operand = chunked ? problem.products : GDR2_FORMAT_F32;
  contract.auxiliary = chunked ? GDR2_FORMAT_F32 : GDR2_NOT_ROUNDED;
  contract.solve = chunked ? GDR2_FORMAT_F32 : GDR2_NOT_ROUNDED;
  contract.state = GDR2_FORMAT_F32;
  contract.gate = GDR2_FORMAT_F32;
  contract.accumulator = GDR2_FORMAT_F32;
  contract.direct_rows = 0;
  return contract;
}

// What all the asked passes need. Decoding needs nothing.
void set_sizes(gdr2_capability& capability, const DeviceProblem& p, int32_t passes) {
  const auto add = [&](int32_t pass, uint64_t (*bytes)(const DeviceProblem&, bool),
                       uint32_t (*stages)()) {
    if ((passes & pass) == 0) return;
    capability.saved_bytes = saved_bytes(p);
    capability.workspace_bytes = std::max(capability.workspace_bytes, bytes(p, false));
    capability.workspace_bytes_with_saved =
        std::max(capability.workspace_bytes_with_saved, bytes(p, true));
    capability.stages |= stages();
  };
  add(GDR2_PASS_FORWARD, forward_workspace_bytes, forward_stages);
  add(GDR2_PASS_BACKWARD, backward_workspace_bytes, backward_stages);
}

// The scans ask for most of a CTA's shared memory, and not every device has it.
void validate_shared_memory(const DeviceProblem& p, int32_t passes) {
  size_t needed = 0;
  dispatch_products(p, [&](auto policy) {
    using P = decltype(policy);
    const int32_t chunked = GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD;
    if ((passes & chunked) != 0) needed = scan_shared_bytes<P>(p);
    if ((passes & GDR2_PASS_BACKWARD) != 0)
      needed = std::max(needed, reverse_scan_shared_bytes<P>(p));
  });
  if (needed <= shared_memory_limit()) return;
  std::string reason = "products: these need ";
  reason += std::to_string(needed);
  reason += " bytes of shared memory a block, the device has ";
  reason += std::to_string(shared_memory_limit());
  throw Refusal(GDR2_UNSUPPORTED, reason);
}

constexpr int32_t kPasses = GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD | GDR2_PASS_DECODE;

// `passes`: one pass or several together.
gdr2_status query(const gdr2_problem* problem, int32_t passes, gdr2_capability* capability) {
  if (capability == nullptr || capability->struct_size != sizeof(gdr2_capability))
    return GDR2_BAD_ARGUMENT;
  *capability = gdr2_capability{};
  capability->struct_size = sizeof(gdr2_capability);
  const gdr2_status status = guarded(&capability->reason, [&] {
    if (passes == 0 || (passes & ~kPasses) != 0) {
      throw Refusal(GDR2_BAD_ARGUMENT, "pass: " + std::to_string(passes) + " does not exist");
    }
    (passes & GDR2_PASS_DECODE) != 0 ? validate_decode(problem) : validate(problem);
    capability->contract = contract_of(*problem, passes);
    const DeviceProblem p = device_problem(*problem);
    validate_shared_memory(p, passes);
    set_sizes(*capability, p, passes);
    capability->supported = 1;
  });
  return status == GDR2_UNSUPPORTED ? GDR2_OK : status;
}

gdr2_status forward(const gdr2_problem* problem, const gdr2_inputs* inputs,
                    const gdr2_outputs* outputs, gdr2_workspace* workspace) {
  return guarded(workspace, [&] {
    validate(problem);
    validate(*problem, inputs);
    validate(*problem, outputs, forward_stages());
    DeviceProblem p = device_problem(*problem);
    validate_shared_memory(p, GDR2_PASS_FORWARD);
    validate(*workspace, forward_workspace_bytes(p, workspace->saved != nullptr), saved_bytes(p));
    set_inputs(p, *problem, *inputs);
    set_outputs(p, *problem, *outputs);
    p.stream = static_cast<Stream>(workspace->stream);
    launch_forward(p, *outputs, *workspace);
  });
}

gdr2_status backward(const gdr2_problem* problem, const gdr2_inputs* inputs,
                     const gdr2_cotangents* cotangents, const gdr2_gradients* gradients,
                     gdr2_workspace* workspace) {
  return guarded(workspace, [&] {
    validate(problem);
    validate(*problem, inputs);
    validate(*problem, cotangents);
    validate(*problem, gradients, backward_stages());
    DeviceProblem p = device_problem(*problem);
    validate_shared_memory(p, GDR2_PASS_BACKWARD);
    validate(*workspace, backward_workspace_bytes(p, workspace->saved != nullptr), saved_bytes(p));
    set_inputs(p, *problem, *inputs);
    set_cotangents(p, *problem, *cotangents);
    set_gradients(p, *problem, *gradients);
    p.stream = static_cast<Stream>(workspace->stream);
    launch_backward(p, *gradients, *workspace);
  });
}

gdr2_status decode(const gdr2_problem* problem, const gdr2_decode* arguments,
                   gdr2_workspace* workspace) {
  return guarded(workspace, [&] {
    validate_decode(problem);
    validate(*problem, arguments);
    DeviceProblem p = device_problem(*problem);
    const DecodePool pool = set_decode(p, *problem, *arguments);
    p.stream = static_cast<Stream>(workspace->stream);
    launch_decode(p, pool);
  });
}

#if defined(GDR2_CUDA_ON_HOST)
constexpr const char* kName = "cuda-on-host";
constexpr gdr2_memory kMemory = GDR2_HOST;
#else
constexpr const char* kName = "cuda";
constexpr gdr2_memory kMemory = GDR2_CUDA;
#endif

constexpr gdr2_kernel kKernel = {GDR2_ABI_VERSION,
                                 sizeof(gdr2_kernel),
                                 kName,
                                 GDR2_CUDA_VERSION,
                                 kMemory,
                                 0,
                                 query,
                                 forward,
                                 backward,
                                 decode};

}  // namespace
}  // namespace gdr2::cuda

extern "C" __attribute__((visibility("default"))) const gdr2_kernel* gdr2_kernel_v1(void) {
  return &gdr2::cuda::kKernel;
}
