// SPDX-License-Identifier: Apache-2.0
#include "tests/reports/sample_run.hpp"

#include <limits>

namespace gdr2 {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

ErrorStats stats(Name name, double max_z, double rel_norm) {
  return {.name = name,
          .dtype = DType::kBF16,
          .shape = {1, 128, 2, 64},
          .count = 16384,
          .max_abs = 0.0078125,
          .rel_norm = rel_norm,
          .max_ulp = 1.5,
          .rms_z = 0.53125,
          .max_z = max_z,
          .z50 = 0.375,
          .z90 = 0.875,
          .z99 = 1.5,
          .z999 = 2.25,
          .reference_rms = 0.25,
          .worst = {{.index = 4354,
                     .where = "b=0 t=34 h=0 c=2",
                     .value = -0.125,
                     .reference = -0.1328125,
                     .sigma = 0.0078125 / max_z,
                     .z = max_z}},
          .profile = {.histogram = {8192, 4096, 2048, 2047, 0, 1},
                      .growth_z = {0.25, 0.5, 0.5, 0.75},
                      .growth_rel = {0.001, 0.001, 0.002, 0.0025},
                      .batches = {0.25, 0.28, 0.31, 0.27}}};
}

/// The maps and the window of a tensor whose worst element is that of stats().
void add_maps(ErrorStats& s) {
  s.window = {.first = 4352,
              .value = {0.25, 0.5, -0.125, 0.75},
              .reference = {0.25, 0.5, -0.1328125, 0.75},
              .sigma = {0.001, 0.001, 0.00048828125, 0.001}};
  s.profile.maps = {{.rows = "token",
                     .columns = "head",
                     .row_count = 128,
                     .column_count = 2,
                     .height = 4,
                     .width = 2,
                     .rms_z = {0.5, 0.5, 1.25, 0.5, 0.5, 0.75, 0.5, 0.5},
                     .max_z = {2, 2, 16, 3, 2, 2.5, 2, kInf}},
                    {.rows = "chunk row",
                     .columns = "channel",
                     .row_count = 64,
                     .column_count = 64,
                     .height = 2,
                     .width = 3,
                     .rms_z = {0.5, 0.5, 0.5, 1.5, 0.5, 0.5},
                     .max_z = {2, 2, 2, 16, 3, 2}}};
}

CaseRecord record(std::int64_t index, const std::string& line, double seconds) {
  return {.index = index,
          .kernel = "cpu_chunk",
          .line = line,
          .dtype = "bf16",
          .contract = "operand=bf16 solve=fp32",
          .repro = "gdr2 repro 'kernel=cpu_chunk " + line + "'",
          .seconds = seconds};
}

CaseRecord passed_case() {
  auto c = record(0, "T=128 H=2 recipe=plain seed=1", 0.5);
  c.verdict.tensors = {{.stats = stats(Name::o, 2.5, 0.002)}, {.stats = stats(Name::dg, 4, 0.003)}};
  return c;
}

CaseRecord failed_case() {
  auto c = record(1, "T=128 H=2 recipe=slow seed=1", 0.75);
  c.verdict = {
      .state = State::kFailed,
      .leg = "global",
      .reason = "dk: z = 16.0 at b=0 t=34 h=0 c=2",
      .tensors = {{.stats = stats(Name::o, 3, 0.002)},
                  {.stats = stats(Name::dk, 16, 0.04),
                   .state = State::kFailed,
                   .reason = "z = 16.0 at b=0 t=34 h=0 c=2, allowed 9",
                   .census = {.subnormal = 1, .flushed = 2, .cancelled = 3, .headroom = 120}},
                  {.stats = stats(Name::R, 17, 0.04),
                   .state = State::kFailed,
                   .reason = "R: z = 17.0",
                   .leg = "local"}},
      .figures = {{"global", "dk b=0 t=34 h=0 c=2", 16, 9}, {"local", "R row 34", 17, 9}},
      .diagnosis = Diagnosis{.where = "R: 1 elements in sequence 0, head 0, chunk 0, row 34",
                             .stage = "R",
                             .site = "solve in bf16",
                             .likeness = 0.97,
                             .variance = {{"operands", 0.75}, {"gate", 0.25}}},
      .difficulty = {.decay_span = 3.5, .condition = 120}};
  add_maps(c.verdict.tensors[1].stats);
  return c;
}

CaseRecord not_finite_case() {
  auto c = record(2, "T=128 H=2 recipe=spike seed=18446744073709551615", 12.25);
  c.note = "A note on this case.";
  TensorVerdict dg{
      .stats = stats(Name::dg, 1, kInf), .state = State::kFailed, .reason = "3 elements are NaN"};
  dg.stats.nan = 3;
  dg.stats.inf = 1;
  dg.stats.missing = 2;
  dg.stats.worst = {{.index = 7,
                     .where = "b=0 t=0 h=0 c=7",
                     .value = kNaN,
                     .reference = -kInf,
                     .sigma = 0,
                     .z = kNaN}};
  c.verdict = {
      .state = State::kFailed, .leg = "exact", .reason = "dg: not finite", .tensors = {dg}};
  return c;
}

CaseRecord without_tensors(std::int64_t index, State state, const std::string& reason) {
  auto c = record(index, "T=1 dtype=fp16", 0);
  c.dtype = "fp16";
  c.verdict = {.state = state, .reason = reason};
  return c;
}

CaseRecord waived_case() {
  auto c = record(6, "T=64 | odd <line> & \"quotes\"", 0.25);
  c.kernel = "other_kernel";
  c.waiver = "known (#12, waivers.txt:3)";
  c.verdict = {.state = State::kFailed, .leg = "global", .reason = "dk is wrong", .tensors = {}};
  return c;
}

}  // namespace

RunRecord sample_run() {
  return {.version = "1.2.3",
          .git_sha = "0123456789abcdef0123456789abcdef01234567",
          .git_dirty = true,
          .argv = {"gdr2", "verify", "--set", "smoke"},
          .started = "2026-01-02T03:04:05Z",
          .environment = {{"cpu", "Some CPU"}, {"host", "somewhere"}, {"os", "Some \"OS\" 1"}},
          .seeds = {1, 18446744073709551615u},
          .plan = "0123456789abcdef",
          .planned = 8,
          .complete = false,
          .seconds = 13.5,
          .cases = {passed_case(), failed_case(), not_finite_case(),
                    without_tensors(3, State::kMistrusted, "a tensor of zeros would pass"),
                    without_tensors(4, State::kSkipped, "fp16 is not supported"),
                    without_tensors(5, State::kCrashed, "std::bad_alloc"), waived_case()}};
}

}  // namespace gdr2
