// SPDX-License-Identifier: Apache-2.0
#include "cli/shell.hpp"

#include <gtest/gtest.h>

namespace gdr2 {
namespace {

TEST(ShellQuoted, IsOneWordWhateverIsInIt) {
  EXPECT_EQ(shell_quoted("T=8 recipe=slow"), "'T=8 recipe=slow'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace gdr2
