// SPDX-License-Identifier: Apache-2.0
// Text against a file of tests/reports/golden. With GDR2_UPDATE_GOLDEN set in the environment the file
// is rewritten and the test is skipped: look at the difference before you keep it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace gdr2 {

inline std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void expect_golden(const std::string& text, const std::string& name) {
  const auto path = std::string(GDR2_SOURCE_DIR "/tests/reports/golden/") + name;
  if (std::getenv("GDR2_UPDATE_GOLDEN")) {
    std::ofstream(path) << text;
    GTEST_SKIP() << path << " rewritten";
  }
  EXPECT_EQ(text, read_file(path)) << "golden file " << path;
}

}  // namespace gdr2
