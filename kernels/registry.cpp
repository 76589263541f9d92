// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>

#include "kernels/cpu/emulated_kernel.hpp"
#include "kernels/kernel.hpp"
#include "kernels/plugin/plugin.hpp"
#include "kernels/process/process_kernel.hpp"
#include "kernels/settings.hpp"
#include "reference/error.hpp"

#ifdef GDR2_HAVE_CUDA
#include "kernels/abi/abi_kernel.hpp"
#endif

namespace gdr2 {
namespace {

using Kernels = std::vector<std::unique_ptr<Kernel>>;

KernelSettings& settings() {
  static KernelSettings all;
  return all;
}

Kernels make_kernels() {
  Kernels all;
  all.push_back(make_cpu_chunk_kernel());
  all.push_back(make_cpu_recurrent_kernel());
#ifdef GDR2_HAVE_CUDA
  const auto* cuda = gdr2_kernel_v1();
  all.push_back(make_abi_chunk_kernel(cuda, "cuda.chunk", "CUDA chunk kernels",
                                      Intermediates::kSaved));
  all.push_back(make_abi_chunk_kernel(cuda, "cuda.chunk.recompute",
                                      "CUDA chunk kernels, backward without saved intermediates",
                                      Intermediates::kRecomputed));
  all.push_back(make_abi_decode_kernel(cuda, "cuda.recurrent", "CUDA decode kernel over a pool"));
#endif
  if (settings().isolate)
    for (auto& kernel : all) kernel = make_isolated(*kernel);
  return all;
}

bool is_foreign(const std::string& name) { return names_command(name) || names_plugin(name); }

std::unique_ptr<Kernel> make_foreign(const std::string& name) {
  if (names_command(name)) return make_command_kernel(name);
  return settings().worker.empty() ? load_plugin(name) : make_isolated_library(name);
}

const Kernel& find_foreign(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Kernel>> found;
  const std::lock_guard lock(mutex);
  auto& kernel = found[name];
  if (!kernel) kernel = make_foreign(name);
  return *kernel;
}

}  // namespace

void configure_kernels(KernelSettings wanted) { settings() = std::move(wanted); }
const KernelSettings& kernel_settings() { return settings(); }

const Kernels& kernels() {
  static const auto all = make_kernels();
  return all;
}

const Kernel& find_kernel(const std::string& name) {
  if (is_foreign(name)) return find_foreign(name);
  std::string known;
  for (const auto& kernel : kernels()) {
    if (kernel->name() == name) return *kernel;
    known += (known.empty() ? "" : ", ") + kernel->name();
  }
  fail("kernel: '{}' is not known; known are {}, a library PATH.so, or exec:COMMAND", name, known);
}

}  // namespace gdr2
