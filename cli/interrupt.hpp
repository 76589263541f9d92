// SPDX-License-Identifier: Apache-2.0
// A run that is asked to stop (Ctrl-C, or SIGTERM from a scheduler) finishes its report first. The
// first signal is noted; a second one ends the process at once.
#pragma once

namespace gdr2 {

void note_signals();                   ///< from now on SIGINT and SIGTERM are noted
int noted_signal();                    ///< 0: none so far
[[noreturn]] void die_of(int signal);  ///< ends the process as that signal would have

}  // namespace gdr2
