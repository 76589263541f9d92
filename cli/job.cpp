// SPDX-License-Identifier: Apache-2.0
#include "cli/job.hpp"

#include <chrono>
#include <utility>

#include "cli/interrupt.hpp"
#include "properties/judge/check.hpp"

namespace gdr2 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSignalPoll = std::chrono::milliseconds(50);

Verdict judge_or_crash(const Job& job) {
  try {
    return job.judge();
  } catch (const KernelFault& fault) {
    return verdict_of(fault);
  } catch (const std::exception& error) {
    return {.state = State::kCrashed, .reason = error.what()};
  } catch (...) {
    return {.state = State::kCrashed, .reason = "threw something that is not a std::exception"};
  }
}

CaseRecord run_job(const Job& job) {
  auto record = job.record;
  const auto start = Clock::now();
  record.verdict = judge_or_crash(job);
  record.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return record;
}

}  // namespace

Crew::Crew(const std::vector<Job>& jobs, int threads, Started started, Finished finished)
    : jobs_(jobs),
      started_(std::move(started)),
      finished_(std::move(finished)),
      records_(jobs.size()) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    next_to_start_ = jobs_.size();
  }
  for (auto& thread : threads_) thread.join();
}

void Crew::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (next_to_start_ >= jobs_.size()) return;
    const auto index = next_to_start_++;
    started_(jobs_[index].record);
    lock.unlock();
    auto record = run_job(jobs_[index]);
    finished_(record);
    lock.lock();
    records_[index] = std::move(record);
    done_.notify_all();
  }
}

std::optional<CaseRecord> Crew::next() {
  std::unique_lock lock(mutex_);
  if (next_to_return_ == jobs_.size()) return std::nullopt;
  auto& record = records_[next_to_return_];
  while (!record && noted_signal() == 0) done_.wait_for(lock, kSignalPoll);
  if (noted_signal() != 0) return std::nullopt;
  ++next_to_return_;
  return std::exchange(record, std::nullopt);
}

}  // namespace gdr2
