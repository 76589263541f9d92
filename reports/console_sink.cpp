// SPDX-License-Identifier: Apache-2.0
#include "reports/console_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace gdr2 {
namespace {

constexpr int kBarWidth = 24;
constexpr const char* kClearLine = "\r\x1b[K";

double steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string value_or(const std::map<std::string, std::string>& facts, const char* key,
                     const char* otherwise) {
  const auto fact = facts.find(key);
  return fact == facts.end() ? otherwise : fact->second;
}

}  // namespace

ConsoleOptions console_options(bool verbose) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  return {.color = terminal && !std::getenv("NO_COLOR") ? Color::kAnsi : Color::kNever,
          .progress = terminal,
          .verbose = verbose,
          .clock = steady_seconds};
}

std::string progress_line(std::int64_t done, std::int64_t planned, double elapsed_seconds) {
  const int filled = planned > 0 ? int(kBarWidth * done / planned) : kBarWidth;
  auto line = fmt::format("[{}{}]  {}/{}", std::string(filled, '#'),
                          std::string(kBarWidth - filled, '-'), done, planned);
  if (done > 0) {
    const auto left = std::int64_t(elapsed_seconds / double(done) * double(planned - done) + 0.5);
    line += fmt::format("  {}:{:02} left", left / 60, left % 60);
  }
  return line;
}

void ConsoleSink::do_begin(const RunRecord& run) {
  planned_ = run.planned;
  if (options_.progress) start_ = options_.clock();
  out_ << fmt::format("gdr2 {} ({}{}), {} cases, on {}, {}\n\n", run.version,
                      run.git_sha.substr(0, 10), run.git_dirty ? ", modified" : "", planned_,
                      value_or(run.environment, "cpu", "unknown CPU"),
                      value_or(run.environment, "device", "no GPU"))
       << table_header();
  draw_progress();
}

void ConsoleSink::do_case_started(const std::string& repro) {
  if (!options_.verbose) return;
  clear_progress();
  out_ << "started     " << repro << '\n';
  draw_progress();
}

void ConsoleSink::do_case_done(const CaseRecord& record) {
  ++done_;
  clear_progress();
  out_ << table_row(record, options_.color) << details(record, options_.verbose, options_.color);
  draw_progress();
}

void ConsoleSink::do_end(const RunRecord& run) {
  clear_progress();
  out_ << summary(run, options_.color) << std::flush;
}

void ConsoleSink::clear_progress() {
  if (options_.progress) out_ << kClearLine;
}

void ConsoleSink::draw_progress() {
  if (options_.progress) out_ << progress_line(done_, planned_, options_.clock() - start_);
  out_ << std::flush;
}

}  // namespace gdr2
