// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/cta.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gdr2::cuda::on_host {
namespace {

constexpr int kBarriers = 16;
thread_local Cta* active_cta = nullptr;

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Cta* Cta::active() { return active_cta; }

Cta::Cta(const Launch& launch, dim3 index, FiberStacks& stacks, unsigned char* shared)
    : launch_(launch), index_(index), shared_(shared) {
  const auto count = static_cast<size_t>(launch.threads);
  threads_.resize(count);
  barriers_.resize(kBarriers);
  warps_.resize(count / 32);
  runnable_.reserve(2 * count);
  for (int t = 0; t < launch.threads; ++t) {
    threads_[static_cast<size_t>(t)].context = stacks.start(t, &Cta::entry);
    runnable_.push_back(t);
  }
}

void Cta::entry() {
  Cta& cta = *active_cta;
  enter_fiber(cta.scheduler_);
  try {
    (*cta.launch_.body)();
  } catch (const std::exception& error) {
    cta.error_ = cta.where(cta.current_) + ": " + error.what();
  }
  cta.running().done = true;
  switch_context(cta.running().context, cta.scheduler_);
  std::abort();  // a finished fiber is never resumed
}

// To the back: the latest of the runnable threads that is not starved. Those that poll get some turns
// before a starved one gets its own.
void Cta::starve() {
  constexpr int kTurns = 8;
  const auto of_others = [this](int thread) {
    return static_cast<uint64_t>(thread / 32) != launch_.seed;
  };
  auto other = std::find_if(runnable_.rbegin(), runnable_.rend(), of_others);
  if (other == runnable_.rend() && !yielded_.empty() && turns_ < kTurns) {
    ++turns_;
    runnable_.insert(runnable_.end(), yielded_.begin(), yielded_.end());
    yielded_.clear();
    other = std::find_if(runnable_.rbegin(), runnable_.rend(), of_others);
  }
  if (other != runnable_.rend()) return std::iter_swap(other, runnable_.rbegin());
  turns_ = 0;  // any of them, since they may wait for each other
  std::swap(runnable_[mix(draws_++) % runnable_.size()], runnable_.back());
}

int Cta::next_runnable() {
  int thread = -1;
  if (launch_.order == Order::kStarved) starve();
  if (launch_.order == Order::kForward) {
    thread = runnable_[first_runnable_++];
  } else {
    if (launch_.order == Order::kShuffled) {
      const size_t pick = first_runnable_ +
                          mix(launch_.seed ^ mix(draws_++)) % (runnable_.size() - first_runnable_);
      std::swap(runnable_[pick], runnable_.back());
    }
    thread = runnable_.back();
    runnable_.pop_back();
  }
  if (first_runnable_ == runnable_.size()) {
    runnable_.clear();
    first_runnable_ = 0;
  }
  return thread;
}

bool Cta::anyone_runnable() {
  if (runnable_.empty()) runnable_.swap(yielded_);
  return !runnable_.empty();
}

void Cta::run() {
  active_cta = this;
  int left = launch_.threads;
  while (error_.empty() && anyone_runnable()) {
    current_ = next_runnable();
    switch_context(scheduler_, running().context);
    if (running().done) --left;
  }
  active_cta = nullptr;
  if (error_.empty() && left > 0) error_ = stuck();
  if (!error_.empty()) throw EmulationError(error_);
}

void Cta::wait(const char* what, int id) {
  running().waits_at = what;
  running().waits_id = id;
  Context& self = running().context;
  if (!anyone_runnable()) return switch_context(self, scheduler_);
  current_ = next_runnable();
  if (&self != &running().context) switch_context(self, running().context);
}

void Cta::release(int thread) {
  threads_[static_cast<size_t>(thread)].waits_at = nullptr;
  runnable_.push_back(thread);
}

void Cta::let_others_run() {
  yielded_.push_back(current_);
  wait("transfer", 0);
  running().waits_at = nullptr;
}

void Cta::barrier(int id, int threads) {
  if (id < 0 || id >= kBarriers) fail("barrier " + std::to_string(id) + " does not exist");
  if (threads <= 0 || threads % 32 != 0 || threads > launch_.threads) {
    fail("barrier " + std::to_string(id) + " waits for " + std::to_string(threads) + " threads");
  }
  Barrier& b = barriers_[static_cast<size_t>(id)];
  if (!b.waiting.empty() && b.expected != threads) {
    fail("barrier " + std::to_string(id) + " waits for " + std::to_string(b.expected) +
         " threads and for " + std::to_string(threads));
  }
  b.expected = threads;
  if (static_cast<int>(b.waiting.size()) + 1 == threads) {
    for (const int t : b.waiting) release(t);
    b.waiting.clear();
    return;
  }
  b.waiting.push_back(current_);
  wait("barrier", id);
}

void Cta::collective(const char* name, void* data, void (*body)(void* const (&lanes)[32])) {
  Warp& warp = warps_[static_cast<size_t>(current_ / 32)];
  if (warp.arrived == 0) {
    warp.name = name;
  } else if (warp.name != name && std::strcmp(warp.name, name) != 0) {
    fail(std::string("lanes of one warp are in different collectives: ") + warp.name + " and " +
         name);
  }
  warp.data[current_ % 32] = data;
  if (++warp.arrived < 32) return wait(name, 0);
  warp.arrived = 0;
  const int last = current_;
  if (body != nullptr) body(warp.data);
  for (int t = last / 32 * 32; t < last / 32 * 32 + 32; ++t) {
    if (t != last) release(t);
  }
}

void Cta::fail(const std::string& message) { throw EmulationError(message); }

void Cta::check_shared(const void* address, size_t bytes, const char* what) {
  const auto* at = static_cast<const unsigned char*>(address);
  if (at < shared_ || at + bytes > shared_ + launch_.shared_bytes) {
    fail(std::string(what) + ": address is not in the " + std::to_string(launch_.shared_bytes) +
         " bytes of shared memory");
  }
}

std::string Cta::where(int thread) const {
  return std::string(launch_.kernel) + ", block (" + std::to_string(index_.x) + ", " +
         std::to_string(index_.y) + ", " + std::to_string(index_.z) + "), thread " +
         std::to_string(thread);
}

std::string Cta::stuck() const {
  std::string first_waiting, first_done;
  int waiting = 0;
  for (int t = 0; t < launch_.threads; ++t) {
    const Thread& thread = threads_[static_cast<size_t>(t)];
    if (thread.done && first_done.empty())
      first_done = "; thread " + std::to_string(t) + " has returned";
    if (thread.done) continue;
    ++waiting;
    if (first_waiting.empty()) {
      first_waiting = where(t) + " waits at " + thread.waits_at + " " +
                      std::to_string(thread.waits_id) + " for ever";
    }
  }
  return first_waiting + ", as do " + std::to_string(waiting - 1) + " others" + first_done;
}

}  // namespace gdr2::cuda::on_host
