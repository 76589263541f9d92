// SPDX-License-Identifier: Apache-2.0
#include "kernels/process/serve.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <thread>

#include "kernels/process/protocol.hpp"
#include "kernels/process/shared_tensors.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

using protocol::Json;

/// Ends the process when the other side is gone, even while a kernel hangs.
void end_with_input() {
  std::thread([] {
    pollfd input{STDIN_FILENO, 0, 0};  // asks for nothing: only the end of the pipe wakes it
    while (poll(&input, 1, -1) <= 0 || !(input.revents & (POLLHUP | POLLERR))) continue;
    _exit(1);
  }).detach();
}

/// Takes standard output away from everybody else; returns where answers go.
std::FILE* claim_output() {
  const int answers = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return fdopen(answers, "w");
}

class Server {
 public:
  explicit Server(const Kernel& kernel) : kernel_(kernel) {}

  Json answer(const Json& request) {
    const auto call = request.at("call").get<std::string>();
    if (call == "query") return query(problem_of(request));
    if (call == "forward" || call == "backward") return run(call == "forward", request);
    if (call == "prepare_timing") return prepare_timing(request);
    if (call == "time") return {{"ok", true}, {"ms", timed_.run(request.at("repetitions"))}};
    fail("'{}' is no call of protocol {}", call, protocol::kVersion);
  }

 private:
  static Problem problem_of(const Json& request) {
    return parse_problem(request.at("problem").at("line").get<std::string>());
  }

  Json query(const Problem& problem) const {
    if (const auto reason = kernel_.unsupported(problem))
      return {{"ok", true}, {"supported", false}, {"reason", *reason}};
    auto omits = Json::array(), exports = Json::array();
    for (const auto name : kernel_.omitted(problem)) omits.push_back(to_string(name));
    for (const auto name : kernel_.exports(problem)) exports.push_back(to_string(name));
    return {{"ok", true},
            {"supported", true},
            {"contract", protocol::contract_text(kernel_.contract(problem))},
            {"omits", omits},
            {"exports", exports}};
  }

  Json run(bool forward, const Json& request) const {
    MappedTensors file(request.at("file").get<std::string>());
    const auto inputs = file.tensors(request.at("inputs"));
    auto outputs = file.tensors(request.at("outputs"));
    const auto problem = problem_of(request);
    forward ? kernel_.forward(problem, inputs, outputs)
            : kernel_.backward(problem, inputs, outputs);
    file.write_back();
    return {{"ok", true}, {"results", protocol::signature_of(outputs)}};
  }

  Json prepare_timing(const Json& request) {
    MappedTensors file(request.at("file").get<std::string>());
    timed_ = {};
    timed_ = kernel_.prepare_timing(
        problem_of(request), file.tensors(request.at("inputs")),
        request.at("backward").get<bool>() ? Pass::kForwardBackward : Pass::kForward);
    return {{"ok", true},
            {"kernels_ms", timed_.kernels_ms},
            {"memory_bytes", timed_.memory_bytes},
            {"copy_gb_per_s", timed_.copy_gb_per_s},
            {"tensor_tflop_per_s", timed_.tensor_tflop_per_s},
            {"device", timed_.device}};
  }

  const Kernel& kernel_;
  TimedCall timed_;
};

void send(std::FILE* to, const Json& answer) {
  const auto line = answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fputs(line.c_str(), to);
  std::fflush(to);
}

/// False: the answer tells of a failure.
bool respond(Server& server, const std::string& line, std::FILE* to) {
  Json answer;
  try {
    answer = server.answer(Json::parse(line));
  } catch (const KernelFault& fault) {
    answer = protocol::failure(fault.what(), fault.kind());
  } catch (const std::exception& error) {
    answer = protocol::failure(error.what(), KernelFault::Kind::kCrashed);
  } catch (...) {
    answer = protocol::failure("threw something that is not a std::exception",
                               KernelFault::Kind::kCrashed);
  }
  send(to, answer);
  return answer["ok"];
}

}  // namespace

int serve(const std::function<const Kernel&(const std::string&)>& find, const std::string& name) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  end_with_input();
  auto* answers = claim_output();
  std::string line;
  if (!std::getline(std::cin, line)) return 1;  // the greeting
  try {
    const auto& kernel = find(name);
    send(answers, {{"ok", true},
                   {"protocol", protocol::kVersion},
                   {"name", kernel.name()},
                   {"description", kernel.description()}});
    Server server(kernel);
    while (std::getline(std::cin, line))
      if (!respond(server, line, answers)) return 1;
  } catch (const std::exception& error) {
    send(answers, protocol::failure(error.what(), KernelFault::Kind::kWrong));
    return 1;
  }
  return 0;
}

}  // namespace gdr2
