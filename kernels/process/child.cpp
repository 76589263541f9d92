// SPDX-License-Identifier: Apache-2.0
#include "kernels/process/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "kernels/fault.hpp"
#include "reference/error.hpp"

extern char** environ;

namespace gdr2 {
namespace {

using Kind = KernelFault::Kind;

constexpr int kPollMs = 20;                        // between looks at the child's memory
constexpr std::size_t kLongestAnswer = 64u << 20;  // bytes; more is no answer
constexpr std::size_t kComplaint = 400;            // characters of standard error in a reason
constexpr auto kGrace = std::chrono::milliseconds(5000);  // for a killed process to go

void must(int error, const char* call) {
  if (error != 0) fail("worker: {}: {}", call, std::strerror(error));
}

/// A socket, since writing to a pipe whose reader is gone would be a signal to this process.
struct Channel {
  int ends[2] = {-1, -1};
  Channel() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      fail("worker: socketpair: {}", std::strerror(errno));
  }
};

/// Spawns `sh -c command` with the descriptors 0 .. 3 given and all else closed.
pid_t spawn(const std::string& command, int in, int out, int errors, int shared) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  must(posix_spawn_file_actions_init(&actions), "file actions");
  must(posix_spawnattr_init(&attributes), "attributes");
  // First up, out of the way of 0 .. 3: the numbers given may be among them.
  const int given[] = {in, out, errors, shared};
  std::vector<int> high;
  for (int descriptor : given) high.push_back(fcntl(descriptor, F_DUPFD_CLOEXEC, 16));
  for (int i = 0; i < 4; ++i)
    must(posix_spawn_file_actions_adddup2(&actions, high[i], i), "file actions");
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  std::string text = "exec " + command;
  char shell[] = "sh", option[] = "-c";
  char* const argv[] = {shell, option, text.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv, environ);
  for (int descriptor : high) close(descriptor);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  must(error, "/bin/sh");
  return pid;
}

std::string described(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("the kernel's process ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  return fmt::format("the kernel's process exited with code {}", WEXITSTATUS(status));
}

}  // namespace

Child::Child(const std::string& command, int shared) {
  const Channel in, out;
  to_ = in.ends[1];
  from_ = out.ends[0];
  errors_ = memfd_create("gdr2-stderr", MFD_CLOEXEC);
  if (errors_ < 0) fail("worker: memfd: {}", std::strerror(errno));
  fcntl(errors_, F_SETFL, O_APPEND);
  fcntl(to_, F_SETFL, O_NONBLOCK);
  fcntl(from_, F_SETFL, O_NONBLOCK);
  pid_ = spawn(command, in.ends[0], out.ends[1], errors_, shared);
  close(in.ends[0]);
  close(out.ends[1]);
}

Child::~Child() {
  close(to_);  // a child in order ends at the end of its input
  if (pid_ > 0) {
    const auto end = Clock::now() + std::chrono::milliseconds(200);
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0 && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    kill(-pid_, SIGKILL);
    if (Clock::now() >= end) kill_and_wait();
  }
  close(from_);
  close(errors_);
}

std::string Child::ask(const std::string& line, const Limits& limits) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(limits.timeout_s));
  send(line + "\n", deadline, limits);
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      auto answer = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      if (ftruncate(errors_, 0) != 0) fail("worker: standard error: {}", std::strerror(errno));
      return answer;
    }
    if (unread_.size() > kLongestAnswer) {
      kill_and_wait();
      throw KernelFault(Kind::kCrashed, "the kernel's process sent 64 MB without an end of line");
    }
    wait_for(from_, POLLIN, deadline, limits);
    char buffer[65536];
    const auto count = read(from_, buffer, sizeof buffer);
    if (count == 0 || (count < 0 && errno == ECONNRESET)) report_end();
    if (count > 0) unread_.append(buffer, std::size_t(count));
  }
}

void Child::send(const std::string& line, Clock::time_point deadline, const Limits& limits) {
  for (std::size_t done = 0; done < line.size();) {
    const auto count = ::send(to_, line.data() + done, line.size() - done, MSG_NOSIGNAL);
    if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) report_end();
    if (count > 0) done += std::size_t(count);
    if (count < 0) wait_for(to_, POLLOUT, deadline, limits);
  }
}

void Child::wait_for(int descriptor, short event, Clock::time_point deadline,
                     const Limits& limits) {
  for (;;) {
    pollfd what{descriptor, event, 0};
    if (poll(&what, 1, kPollMs) > 0) return;
    if (limits.memory && own_memory() > limits.memory) {
      kill_and_wait();
      throw KernelFault(
          Kind::kCrashed,
          fmt::format("the kernel's process grew past {} MB of memory", limits.memory >> 20));
    }
    if (Clock::now() >= deadline) {
      kill_and_wait();
      throw KernelFault(Kind::kTimedOut,
                        fmt::format("the kernel did not answer within {:g} s", limits.timeout_s));
    }
  }
}

std::uint64_t Child::own_memory() const {
  std::ifstream status(fmt::format("/proc/{}/status", pid_));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) << 10;
  return 0;
}

int Child::kill_and_wait() {
  kill(-pid_, SIGKILL);
  const auto end = Clock::now() + kGrace;
  int status = 0;
  // A process that the driver holds may not go; then it is left behind rather than waited for.
  while (waitpid(pid_, &status, WNOHANG) == 0 && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  pid_ = -1;
  return status;
}

void Child::report_end() {
  // Its output is closed: it ends now, or it has closed it and is killed.
  const auto end = Clock::now() + std::chrono::milliseconds(500);
  int status = 0;
  pid_t gone = 0;
  while ((gone = waitpid(pid_, &status, WNOHANG)) == 0 && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::string reason = "the kernel's process closed its output";
  if (gone == pid_) {
    reason = described(status);
    kill(-pid_, SIGKILL);  // what it may have started
    pid_ = -1;
  } else {
    kill_and_wait();
  }
  const auto said = complaint();
  throw KernelFault(Kind::kCrashed, said.empty() ? reason : reason + "; it said: " + said);
}

std::string Child::complaint() const {
  const auto size = lseek(errors_, 0, SEEK_END);
  const auto begin = std::max<off_t>(0, size - off_t(kComplaint));
  std::string text(std::size_t(std::max<off_t>(0, size - begin)), '\0');
  const auto count = pread(errors_, text.data(), text.size(), begin);
  text.resize(std::size_t(std::max<ssize_t>(0, count)));
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (const auto last = text.rfind('\n'); last != std::string::npos) text.erase(0, last + 1);
  return text;
}

}  // namespace gdr2
