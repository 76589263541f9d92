// SPDX-License-Identifier: Apache-2.0
#include "kernels/process/process_kernel.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <variant>
#include <vector>

#include "kernels/process/worker_pool.hpp"
#include "kernels/settings.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

using protocol::Json;
using Kind = KernelFault::Kind;

constexpr std::string_view kCommand = "exec:";

/// What a kernel says of a problem; asked once, since planning and judging both ask.
struct Said {
  std::optional<std::string> unsupported;
  Contract contract;
  std::vector<Name> omitted, exports;
};

class ProcessKernel : public Kernel {
 public:
  /// `foreign`: not built in, so held to the contract of the settings when there is one.
  ProcessKernel(std::string name, std::string description, std::string address,
                std::shared_ptr<WorkerPool> pool, bool foreign)
      : Kernel(std::move(name), std::move(description), std::move(address)),
        pool_(std::move(pool)),
        foreign_(foreign) {}

 private:
  std::optional<std::string> do_unsupported(const Problem& problem) const override {
    return said_of(problem).unsupported;
  }

  Contract do_contract(const Problem& problem) const override {
    if (const auto& given = kernel_settings().contract; given && foreign_) return given(problem);
    return said_of(problem).contract;
  }

  std::vector<Name> do_omitted(const Problem& problem) const override {
    return said_of(problem).omitted;
  }

  std::vector<Name> do_exports(const Problem& problem) const override {
    return said_of(problem).exports;
  }

  void do_forward(const Problem& problem, const Tensors& inputs, Tensors& outputs) const override {
    call("forward", problem, inputs, outputs);
  }

  void do_backward(const Problem& problem, const Tensors& inputs,
                   Tensors& gradients) const override {
    call("backward", problem, inputs, gradients);
  }

  void call(const char* pass, const Problem& problem, const Tensors& inputs,
            Tensors& results) const {
    WorkerLease worker(pool_);
    const auto descriptions = worker.file().put({&inputs, &results});
    auto request = request_of(pass, problem);
    request["inputs"] = chosen(descriptions, inputs);
    request["outputs"] = chosen(descriptions, results);
    const auto answer = worker.ask(request);
    worker.file().get_back();
    const auto wrong =
        protocol::difference(answer.value("results", Json()), protocol::signature_of(results));
    if (!wrong.empty()) throw KernelFault(Kind::kWrong, wrong);
  }

  static Json request_of(const char* call, const Problem& problem) {
    return {{"call", call},
            {"problem", protocol::to_json(problem)},
            {"file", fmt::format("/proc/self/fd/{}", Child::kShared)}};
  }

  static Json chosen(const Json& descriptions, const Tensors& tensors) {
    auto group = Json::object();
    for (const auto& [name, tensor] : tensors) {
      const std::string text(to_string(name));
      group[text] = descriptions.at(text);
    }
    return group;
  }

  Said said_of(const Problem& problem) const {
    const auto line = to_string(problem);
    std::unique_lock lock(mutex_);
    auto known = said_.find(line);
    if (known == said_.end()) {
      lock.unlock();
      auto said = query(problem);
      lock.lock();
      known = said_.emplace(line, std::move(said)).first;
    }
    if (const auto* fault = std::get_if<KernelFault>(&known->second)) throw *fault;
    return std::get<Said>(known->second);
  }

  std::variant<Said, KernelFault> query(const Problem& problem) const {
    try {
      const auto answer =
          WorkerLease(pool_).ask({{"call", "query"}, {"problem", protocol::to_json(problem)}});
      Said said;
      if (!answer.at("supported").get<bool>())
        said.unsupported = answer.value("reason", "not supported, without a reason");
      said.contract = answer.contains("contract")
                          ? parse_contract(answer.at("contract").get<std::string>(), "contract")
                          : standard_contract(problem.dtype);
      said.omitted = names_in(answer, "omits");
      said.exports = names_in(answer, "exports");
      return said;
    } catch (const KernelFault& fault) {
      return fault;
    } catch (const std::exception& error) {
      return KernelFault(Kind::kCrashed, fmt::format("its answer to a query: {}", error.what()));
    }
  }

  static std::vector<Name> names_in(const Json& answer, const char* field) {
    std::vector<Name> names;
    for (const auto& text : answer.value(field, std::vector<std::string>())) {
      const auto name = find_name(text);
      if (!name) fail("{}: '{}' is no tensor", field, text);
      names.push_back(*name);
    }
    return names;
  }

  TimedCall do_prepare_timing(const Problem& problem, const Tensors& inputs,
                              Pass pass) const override {
    const auto worker =
        std::make_shared<WorkerLease>(pool_);  // keeps the tensors between the rounds
    auto request = request_of("prepare_timing", problem);
    request["backward"] = pass == Pass::kForwardBackward;
    request["inputs"] = worker->file().put({&inputs});
    const auto answer = worker->ask(request);
    TimedCall timed;
    timed.kernels_ms = answer.value("kernels_ms", 0.0);
    timed.memory_bytes = answer.value("memory_bytes", 0.0);
    timed.copy_gb_per_s = answer.value("copy_gb_per_s", 0.0);
    timed.tensor_tflop_per_s = answer.value("tensor_tflop_per_s", 0.0);
    timed.device = answer.value("device", "");
    timed.run = [worker](int repetitions) {
      const auto times = worker->ask({{"call", "time"}, {"repetitions", repetitions}});
      auto ms = times.at("ms").get<std::vector<double>>();
      if (int(ms.size()) != repetitions)
        throw KernelFault(Kind::kWrong,
                          fmt::format("{} times for {} calls", ms.size(), repetitions));
      return ms;
    };
    return timed;
  }

  std::shared_ptr<WorkerPool> pool_;
  bool foreign_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::variant<Said, KernelFault>> said_;
};

/// A word of the shell, whatever is in it.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

/// The first greeting: a kernel that cannot even start is an error of whoever named it.
Json greet(const std::shared_ptr<WorkerPool>& pool, const std::string& name) {
  try {
    return WorkerLease(pool).greeting();
  } catch (const KernelFault& fault) {
    fail("kernel {}: {}", name, fault.what());
  }
}

std::unique_ptr<Kernel> make_greeted(const std::string& name, const std::string& address,
                                     std::shared_ptr<WorkerPool> pool) {
  const auto greeting = greet(pool, address);
  return std::make_unique<ProcessKernel>(name, greeting.value("description", "kernel of a process"),
                                         address, std::move(pool), true);
}

std::string worker_command(const std::string& name) {
  return kernel_settings().worker + ' ' + quoted(name);
}

/// "NAME=exec:COMMAND" or "exec:COMMAND": where "exec:" begins; npos: nowhere.
std::size_t command_begin(const std::string& address) {
  const auto equals = address.find_first_of("= ");
  const auto begin = equals == std::string::npos || address[equals] == ' ' ? 0 : equals + 1;
  return address.compare(begin, kCommand.size(), kCommand) == 0 ? begin : std::string::npos;
}

}  // namespace

bool names_command(const std::string& name) { return command_begin(name) != std::string::npos; }

std::unique_ptr<Kernel> make_command_kernel(const std::string& address) {
  const auto begin = command_begin(address);
  const auto command = address.substr(begin + kCommand.size());
  if (command.find_first_not_of(' ') == std::string::npos) fail("kernel {}: no command", address);
  return make_greeted(begin ? address.substr(0, begin - 1) : address, address,
                      std::make_shared<WorkerPool>(command, kernel_settings().workers));
}

std::unique_ptr<Kernel> make_isolated_library(const std::string& path) {
  return make_greeted(path, path, std::make_shared<WorkerPool>(worker_command(path), 0));
}

std::unique_ptr<Kernel> make_isolated(const Kernel& kernel) {
  return std::make_unique<ProcessKernel>(
      kernel.name(), kernel.description(), kernel.address(),
      std::make_shared<WorkerPool>(worker_command(kernel.name()), 0), false);
}

}  // namespace gdr2
