// SPDX-License-Identifier: Apache-2.0
#include "kernels/abi/library_kernel.hpp"

#include <cstring>

#include "kernels/abi/stopwatch.hpp"
#include "kernels/settings.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

const gdr2_kernel* checked(const gdr2_kernel* table, const std::string& name) {
  if (!table) fail("kernel {}: gdr2_kernel_v1() gave nothing", name);
  if (table->abi_version != GDR2_ABI_VERSION)
    fail("kernel {}: ABI version {}, this suite speaks {}", name, table->abi_version,
         GDR2_ABI_VERSION);
  if (table->struct_size != sizeof(gdr2_kernel))
    fail("kernel {}: its gdr2_kernel has {} bytes, expected {}", name, table->struct_size,
         sizeof(gdr2_kernel));
  if (!table->query) fail("kernel {}: it has no query function", name);
  return table;
}

}  // namespace

LibraryKernel::LibraryKernel(const gdr2_kernel* table, std::string name, std::string description)
    : Kernel(name, std::move(description)), table_(checked(table, name)) {}

bool LibraryKernel::is_resident() { return kernel_settings().resident; }

const MemorySpace& LibraryKernel::do_memory() const {
  return is_resident() ? space() : Kernel::do_memory();
}

gdr2_capability LibraryKernel::query(const Problem& problem, std::int32_t pass) const {
  const AbiProblem abi(problem, space());
  gdr2_capability capability{};
  capability.struct_size = sizeof capability;
  must(table_->query(abi.get(), pass, &capability), "query", capability.reason);
  capability.reason[GDR2_MAX_MESSAGE - 1] = 0;
  return capability;
}

std::optional<std::string> LibraryKernel::refusal(const Problem& problem, std::int32_t pass) const {
  if (const char* reason = why_unavailable(gdr2_memory(table_->memory)); *reason) return reason;
  const auto capability = query(problem, pass);
  if (capability.supported) return std::nullopt;
  return *capability.reason ? capability.reason : "not supported, without a reason";
}

void LibraryKernel::must(gdr2_status status, const char* call, const char* message) {
  if (status == GDR2_UNSUPPORTED && std::strcmp(call, "query") != 0)
    throw KernelFault(KernelFault::Kind::kWrong,
                      fmt::format("{} does not support a problem that query says it supports: {}",
                                  call, *message ? message : "no message"));
  if (status != GDR2_OK)
    fail("{} returned {}: {}", call, int(status), *message ? message : "no message");
}

LibraryKernel::Scratch LibraryKernel::scratch(const gdr2_capability& capability,
                                              bool with_saved) const {
  const auto bytes = with_saved && capability.workspace_bytes_with_saved > 0
                         ? capability.workspace_bytes_with_saved
                         : capability.workspace_bytes;
  Scratch s{make_poisoned(space(), bytes),
            make_poisoned(space(), with_saved ? capability.saved_bytes : 0),
            {}};
  s.abi.data = s.workspace.get();
  s.abi.bytes = bytes;
  s.abi.saved = s.saved.get();
  s.abi.saved_bytes = s.saved.get() ? capability.saved_bytes : 0;
  space().synchronize();
  return s;
}

double LibraryKernel::bytes_of(const Tensors& tensors) {
  double bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += double(tensor.storage()->size());
  return bytes;
}

TimedCall LibraryKernel::timed(const std::function<void()>& call, double memory_bytes) const {
  const auto memory = gdr2_memory(table_->memory);
  call();
  space().synchronize();
  TimedCall ready;
  ready.memory_bytes = memory_bytes;
  ready.copy_gb_per_s = measured_copy_gb_per_s(memory);
  ready.device = device_name(memory);
  ready.run = [memory, call](int repetitions) { return time_calls(memory, repetitions, call); };
  return ready;
}

Contract LibraryKernel::do_contract(const Problem& problem) const {
  return contract_of(query(problem, GDR2_PASS_FORWARD).contract);
}

}  // namespace gdr2
