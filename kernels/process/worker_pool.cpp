// SPDX-License-Identifier: Apache-2.0
#include "kernels/process/worker_pool.hpp"

#include <fmt/format.h>

#include "kernels/settings.hpp"

namespace gdr2 {
namespace {

using protocol::Json;
using Kind = KernelFault::Kind;

constexpr std::size_t kShownNonsense = 80;

/// What can be printed of a line that may hold anything.
std::string shown(const std::string& line) {
  return Json(line.substr(0, kShownNonsense)).dump(-1, ' ', true, Json::error_handler_t::replace);
}

Child::Limits limits() { return {kernel_settings().timeout_s, kernel_settings().memory}; }

}  // namespace

Worker::Worker(const std::string& command) : child_(command, file_.descriptor()) {
  greeting_ = ask({{"call", "hello"}, {"protocol", protocol::kVersion}});
  if (!greeting_["ok"]) protocol::throw_failure(greeting_);
  if (greeting_.value("protocol", Json()) != protocol::kVersion)
    throw KernelFault(Kind::kCrashed,
                      fmt::format("it speaks protocol {}, this suite {}",
                                  greeting_.value("protocol", Json()).dump(), protocol::kVersion));
}

Json Worker::ask(const Json& request) {
  const auto line = child_.ask(request.dump(), limits());
  auto answer = Json::parse(line, nullptr, false);
  if (!answer.is_object() || !answer.contains("ok") || !answer["ok"].is_boolean())
    throw KernelFault(
        Kind::kCrashed,
        fmt::format("the kernel's process sent something that is no answer: {}", shown(line)));
  return answer;
}

std::unique_ptr<Worker> WorkerPool::take() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return !idle_.empty() || most_ == 0 || busy_ < most_; });
  ++busy_;
  if (!idle_.empty()) {
    auto worker = std::move(idle_.back());
    idle_.pop_back();
    return worker;
  }
  lock.unlock();
  try {
    return std::make_unique<Worker>(command_);
  } catch (...) {
    give_back(nullptr);
    throw;
  }
}

void WorkerPool::give_back(std::unique_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  --busy_;
  if (worker) idle_.push_back(std::move(worker));
  returned_.notify_one();
}

Json WorkerLease::ask(const Json& request) {
  if (!worker_) throw KernelFault(Kind::kCrashed, "the kernel's process is gone");
  Json answer;
  try {
    answer = worker_->ask(request);
  } catch (...) {
    worker_.reset();
    throw;
  }
  if (answer["ok"]) return answer;
  if (answer.value("last", Json(true)) != false) worker_.reset();
  protocol::throw_failure(answer);
}

}  // namespace gdr2
