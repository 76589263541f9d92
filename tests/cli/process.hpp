// SPDX-License-Identifier: Apache-2.0
// Runs the gdr2 binary as a shell would, without a shell: words go in as they are, output and exit
// status come back.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace gdr2 {

struct Outcome {
  int status = 0;  ///< exit code, or -signal
  std::string out, err;
};

/// A folder that is gone when it goes out of scope.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

class Process {
 public:
  /// Starts gdr2 with these words behind its name, in the root of the source tree.
  explicit Process(const std::vector<std::string>& words);

  void send(int signal) const;
  Outcome wait();

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
};

inline Outcome gdr2_with(const std::vector<std::string>& words) { return Process(words).wait(); }

/// Writes `text` to a file and returns its path.
std::string write_file(const std::string& path, const std::string& text);
std::string read_file(const std::string& path);

}  // namespace gdr2
