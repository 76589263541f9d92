// SPDX-License-Identifier: Apache-2.0
#include "reports/environment.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "reports/build_info.hpp"

namespace gdr2 {
namespace {

/// What stands after `key` and `separator` on the first line that starts with `key`; "" when none does.
std::string field_of_file(const std::filesystem::path& path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(separator);
    if (!line.starts_with(key) || at == std::string::npos) continue;
    const auto first = line.find_first_not_of(" \t\"", at + 1);
    const auto last = line.find_last_not_of(" \t\"");
    return first == std::string::npos ? "" : line.substr(first, last - first + 1);
  }
  return "";
}

/// "NVIDIA H200" or "2 x NVIDIA H200"; "" without an NVIDIA driver.
std::string nvidia_devices() {
  std::map<std::string, int> models;
  std::error_code ignored;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", ignored))
    ++models[field_of_file(gpu.path() / "information", "Model", ':')];
  std::string text;
  for (const auto& [model, count] : models)
    text += (text.empty() ? "" : ", ") + (count > 1 ? fmt::format("{} x {}", count, model) : model);
  return text;
}

}  // namespace

std::map<std::string, std::string> environment() {
  utsname system{};
  uname(&system);
  std::map<std::string, std::string> facts{
      {"host", system.nodename},
      {"os", field_of_file("/etc/os-release", "PRETTY_NAME", '=')},
      {"kernel", fmt::format("{} {}", system.sysname, system.release)},
      {"cpu", field_of_file("/proc/cpuinfo", "model name", ':')},
      {"cores", std::to_string(std::thread::hardware_concurrency())},
      {"compiler", build_info::compiler},
      {"flags", build_info::flags},
      {"build", build_info::build_type},
      {"cuda", build_info::cuda},
      {"kernel_sources", build_info::kernel_sources},
      {"device", nvidia_devices()},
      {"driver", field_of_file("/proc/driver/nvidia/version", "NVRM version", ':')},
  };
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

RunRecord new_run(std::vector<std::string> argv) {
  RunRecord run;
  run.version = build_info::version;
  run.git_sha = build_info::git_sha;
  run.git_dirty = build_info::git_dirty;
  run.argv = std::move(argv);
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  run.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  run.environment = environment();
  return run;
}

}  // namespace gdr2
