// SPDX-License-Identifier: Apache-2.0
// A kernel that runs in another process: a command that speaks the protocol of docs/PROTOCOL.md. Inputs
// and poisoned outputs travel there and back whole, so that everything the judge looks for on this side
// (stray writes, changed inputs, what was not written) is seen from there too. A worker that crashed,
// hung, grew or spoke nonsense costs the call, a KernelFault; the next call starts another one.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.hpp"

namespace gdr2 {

/// "exec:COMMAND" or "NAME=exec:COMMAND" rather than the name of a kernel.
bool names_command(const std::string& name);

/// The kernel of such a command, under its short name if it has one. As many processes serve it as the settings say, by default one:
/// loading a framework and compiling kernels is what takes time. Throws Error when it does not start and greet.
std::unique_ptr<Kernel> make_command_kernel(const std::string& address);

/// The kernel of a library (kernels/plugin/plugin.hpp), and one built in, in worker processes of the
/// settings' command, one for each thread that calls. Throws Error when a library does not load.
std::unique_ptr<Kernel> make_isolated_library(const std::string& path);
std::unique_ptr<Kernel> make_isolated(const Kernel& kernel);

}  // namespace gdr2
