// SPDX-License-Identifier: Apache-2.0
// gdr2 worker: one kernel in a process of its own, for the other subcommands (docs/PROTOCOL.md).
#include <cstdlib>
#include <memory>

#include "cli/commands.hpp"
#include "kernels/process/serve.hpp"

namespace gdr2 {

Command add_worker(CLI::App& app) {
  auto* command =
      app.add_subcommand("worker", "Serve a kernel on standard input and output")->group("");
  auto name = std::make_shared<std::string>();
  command->add_option("KERNEL", *name, "Its name, or PATH.so")->required();
  // Whatever the kernel left registered for the end of the process does not run.
  return {command, [name]() -> int { std::_Exit(serve(find_kernel, *name)); }};
}

}  // namespace gdr2
