// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace gdr2 {
namespace {

/// In the child: becomes gdr2. Only async-signal-safe calls.
[[noreturn]] void become_gdr2(char* const* argv, const char* out, const char* err) {
  constexpr int kMode = 0600, kFlags = O_CREAT | O_TRUNC | O_WRONLY;
  if (chdir(GDR2_SOURCE_DIR) != 0 || dup2(open(out, kFlags, kMode), STDOUT_FILENO) < 0 ||
      dup2(open(err, kFlags, kMode), STDERR_FILENO) < 0)
    _exit(126);
  execv(GDR2_BINARY, argv);
  _exit(127);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = std::filesystem::temp_directory_path() / "gdr2_cli_XXXXXX";
  if (!mkdtemp(name.data())) std::abort();
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code kept;
  std::filesystem::remove_all(path_, kept);
}

Process::Process(const std::vector<std::string>& words) {
  std::vector<std::string> strings{"gdr2"};
  strings.insert(strings.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (auto& string : strings) argv.push_back(string.data());
  argv.push_back(nullptr);
  const auto out = folder_.path("out"), err = folder_.path("err");
  pid_ = fork();
  if (pid_ == 0) become_gdr2(argv.data(), out.c_str(), err.c_str());
}

void Process::send(int signal) const { kill(pid_, signal); }

Outcome Process::wait() {
  int status = 0;
  if (pid_ < 0 || waitpid(pid_, &status, 0) != pid_) std::abort();
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
          .out = read_file(folder_.path("out")),
          .err = read_file(folder_.path("err"))};
}

std::string write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace gdr2
