// SPDX-License-Identifier: Apache-2.0
// Worker processes of one command: started when needed, lent to one caller at a time, and not used again
// once they failed. A caller that finds all of them lent waits.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/process/child.hpp"
#include "kernels/process/protocol.hpp"
#include "kernels/process/shared_tensors.hpp"

namespace gdr2 {

/// A worker process and the memory shared with it.
class Worker {
 public:
  /// Starts it and greets it. Throws KernelFault.
  explicit Worker(const std::string& command);

  const protocol::Json& greeting() const { return greeting_; }
  SharedFile& file() { return file_; }

  /// The answer to a request, whatever it tells; throws KernelFault when there is none.
  protocol::Json ask(const protocol::Json& request);

 private:
  SharedFile file_;
  Child child_;
  protocol::Json greeting_;
};

/// At most `most` workers of a command; 0: any number.
class WorkerPool {
 public:
  WorkerPool(std::string command, int most) : command_(std::move(command)), most_(most) {}

  /// An idle worker or a new one.
  std::unique_ptr<Worker> take();
  /// nullptr: the worker is no more.
  void give_back(std::unique_ptr<Worker> worker);

 private:
  std::string command_;
  int most_, busy_ = 0;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

/// A worker in use. One that gives no answer, or says that it is its last, is not used again.
class WorkerLease {
 public:
  explicit WorkerLease(std::shared_ptr<WorkerPool> pool)
      : pool_(std::move(pool)), worker_(pool_->take()) {}
  ~WorkerLease() { pool_->give_back(std::move(worker_)); }
  WorkerLease(const WorkerLease&) = delete;
  WorkerLease& operator=(const WorkerLease&) = delete;

  SharedFile& file() { return worker_->file(); }
  const protocol::Json& greeting() const { return worker_->greeting(); }

  /// Throws KernelFault when there is no answer, and when it tells of a failure.
  protocol::Json ask(const protocol::Json& request);

 private:
  std::shared_ptr<WorkerPool> pool_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace gdr2
