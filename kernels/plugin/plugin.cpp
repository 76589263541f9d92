// SPDX-License-Identifier: Apache-2.0
#include "kernels/plugin/plugin.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "kernels/abi/abi_kernel.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

constexpr const char* kSymbol = "gdr2_kernel_v1";

struct PluginName {
  std::string path, entry;
};

PluginName split(const std::string& name) {
  const auto end = name.rfind(".so");
  if (end == std::string::npos) return {name, ""};
  const auto rest = name.substr(end + 3);
  return {name.substr(0, end + 3), rest.starts_with(':') ? rest.substr(1) : rest};
}

const gdr2_kernel* load_table(const std::string& path) {
  if (!std::filesystem::exists(path)) fail("kernel library {}: no such file", path);
  // Without a slash dlopen would search the system's folders instead.
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail("kernel library {}: {}", path, dlerror());
  auto* entry = reinterpret_cast<const gdr2_kernel* (*)()>(dlsym(library, kSymbol));
  if (!entry) fail("kernel library {}: it does not export {}", path, kSymbol);
  return entry();
}

}  // namespace

bool names_plugin(const std::string& name) {
  const auto [path, entry] = split(name);
  return path.ends_with(".so");
}

std::unique_ptr<Kernel> load_plugin(const std::string& name) {
  const auto [path, entry] = split(name);
  if (!entry.empty() && entry != "recompute" && entry != "decode")
    fail("kernel {}: after the library's path comes nothing, :recompute or :decode", name);
  const auto* table = load_table(path);
  const std::string description = table && table->name ? table->name : "kernel library";
  if (entry == "decode") return make_abi_decode_kernel(table, name, description);
  return make_abi_chunk_kernel(
      table, name, description,
      entry == "recompute" ? Intermediates::kRecomputed : Intermediates::kSaved);
}

}  // namespace gdr2
