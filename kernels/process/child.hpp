// SPDX-License-Identifier: Apache-2.0
// A child process that answers lines with lines. Whatever it does - end, hang, grow, talk nonsense -
// comes out as a KernelFault that says so, after the child and its group have been killed; the child is
// then of no further use. It never outlives its Child.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace gdr2 {

class Child {
 public:
  struct Limits {
    double timeout_s = 300;
    std::uint64_t memory = 0;  ///< bytes of its own; 0: no limit
  };

  /// The descriptor number under which the child finds `shared`.
  static constexpr int kShared = 3;

  /// Starts `command` in a shell, in a process group of its own, with lines on its standard input and
  /// output. Throws Error when it cannot be started.
  Child(const std::string& command, int shared);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Sends a line and waits for the answer. Throws KernelFault.
  std::string ask(const std::string& line, const Limits& limits);

  /// The last line that it wrote to its standard error since its last answer.
  std::string complaint() const;

 private:
  using Clock = std::chrono::steady_clock;

  void send(const std::string& line, Clock::time_point deadline, const Limits& limits);
  void wait_for(int descriptor, short event, Clock::time_point deadline, const Limits& limits);
  std::uint64_t own_memory() const;
  int kill_and_wait();
  [[noreturn]] void report_end();

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1, errors_ = -1;
  std::string unread_;
};

}  // namespace gdr2
