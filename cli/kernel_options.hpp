// SPDX-License-Identifier: Apache-2.0
// Options of every subcommand that runs kernels: in which process, how long, under which contract. They
// hold for the whole run, so they are set once, before a kernel is looked up.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace gdr2 {

class KernelOptions {
 public:
  /// Adds the options, when the subcommand runs kernels: when it has an option --kernel, or is repro.
  void add_to(CLI::App& command);
  bool taken_by(const CLI::App& command) const;

  /// Throws Error naming the option.
  void apply() const;

 private:
  bool isolate_ = false;
  double timeout_s_ = 300;
  int workers_ = 1;
  std::uint64_t memory_mb_ = 0;
  std::string contract_;
};

/// The options as given, as words behind a command that repeats a case; "" when none is.
std::string kernel_option_words();

}  // namespace gdr2
