// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>

#include "kernels/cpu/emulated_kernel.hpp"
#include "kernels/kernel.hpp"
#include "kernels/plugin/plugin.hpp"
#include "reference/error.hpp"

#ifdef GDR2_HAVE_CUDA
#include "kernels/abi/abi_kernel.hpp"
#endif

namespace gdr2 {
namespace {

std::vector<std::unique_ptr<Kernel>> make_kernels() {
  std::vector<std::unique_ptr<Kernel>> all;
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
  return all;
}

const Kernel& find_plugin(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Kernel>> loaded;
  const std::lock_guard lock(mutex);
  auto& kernel = loaded[name];
  if (!kernel) kernel = load_plugin(name);
  return *kernel;
}

}  // namespace

const std::vector<std::unique_ptr<Kernel>>& kernels() {
  static const auto all = make_kernels();
  return all;
}

const Kernel& find_kernel(const std::string& name) {
  if (names_plugin(name)) return find_plugin(name);
  std::string known;
  for (const auto& kernel : kernels()) {
    if (kernel->name() == name) return *kernel;
    known += (known.empty() ? "" : ", ") + kernel->name();
  }
  fail("kernel: '{}' is not known; known are {}, or a library PATH.so", name, known);
}

}  // namespace gdr2
