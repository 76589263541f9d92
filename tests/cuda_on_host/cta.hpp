// SPDX-License-Identifier: Apache-2.0
// One CTA under emulation: its threads as fibers, the barriers and warp collectives they wait at,
// its shared memory and their asynchronous copies. Runs the threads until all have returned, or
// fails with the reason.
#pragma once

#include <string>
#include <vector>

#include "tests/cuda_on_host/cuda_on_host.hpp"
#include "tests/cuda_on_host/fiber.hpp"

namespace gdr2::cuda::on_host {

struct Launch {
  const char* kernel;
  dim3 grid;
  int threads;
  size_t shared_bytes;
  const std::function<void()>* body;
  Order order;
  uint64_t seed;
};

struct AsyncCopy {
  void* shared;
  const void* global;
  size_t bytes;
  bool valid;
  int group;
};

struct BulkCopy {
  void* shared;
  const void* global;
  uint32_t bytes;
  const void* transfer;
};

struct Thread {
  Context context;
  bool done = false;
  const char* waits_at = nullptr;  // null while runnable
  int waits_id = 0;
  std::vector<AsyncCopy> copies;
  int groups = 0;  // committed
};

class Cta {
 public:
  Cta(const Launch& launch, dim3 index, FiberStacks& stacks, unsigned char* shared);

  void run();  // throws EmulationError

  // For the running thread.
  void barrier(int id, int threads);
  void collective(const char* name, void* data, void (*body)(void* const (&lanes)[32]));
  [[noreturn]] void fail(const std::string& message);  // ends the CTA with the thread named
  Thread& running() { return threads_[static_cast<size_t>(current_)]; }
  void let_others_run();
  std::vector<BulkCopy>& bulk_copies() { return bulk_copies_; }  // under way
  void check_shared(const void* address, size_t bytes, const char* what);

  const Launch& launch() const { return launch_; }
  dim3 index() const { return index_; }
  int current() const { return current_; }
  unsigned char* shared() const { return shared_; }

  static Cta* active();

 private:
  struct Barrier {
    int expected = 0;
    std::vector<int> waiting;
  };
  struct Warp {
    const char* name = nullptr;
    int arrived = 0;
    void* data[32] = {};
  };

  static void entry();
  void starve();
  int next_runnable();
  bool anyone_runnable();
  void wait(const char* what, int id);
  void release(int thread);
  std::string where(int thread) const;
  std::string stuck() const;

  Launch launch_;
  dim3 index_;
  unsigned char* shared_;
  Context scheduler_;
  std::vector<Thread> threads_;
  std::vector<int> runnable_;
  int turns_ = 0;             // that those who poll have had before a starved thread
  std::vector<int> yielded_;  // run again when nobody else can, whatever the order: they poll
  size_t first_runnable_ = 0;
  std::vector<Barrier> barriers_;
  std::vector<Warp> warps_;
  std::vector<BulkCopy> bulk_copies_;
  int current_ = -1;
  uint64_t draws_ = 0;
  std::string error_;
};

}  // namespace gdr2::cuda::on_host
