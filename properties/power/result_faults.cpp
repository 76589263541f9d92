// SPDX-License-Identifier: Apache-2.0
// Faults in what a right kernel hands back: memory not written or written elsewhere, runs that differ,
// values that are no numbers, one element; and arithmetic other than the contract declares.
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include "properties/laws/law_run.hpp"
#include "properties/power/spoil.hpp"

namespace gdr2::power {
namespace {

using At = laws::Index;
using After = std::function<void(const Answer&)>;

Fault after(const char* name, const char* kind, const char* what, After change,
            Pass pass = Pass::kBoth) {
  return {.name = std::string("result.") + name,
          .kind = kind,
          .what = what,
          .pass = pass,
          .change = OnCall{{}, std::move(change)}};
}

/// Elements of a tensor that `which` picks are changed in place.
void edit(const Answer& answer, Name name, const std::function<bool(const At&, const Shape&)>& which,
          const std::function<double(std::int64_t, double)>& to) {
  auto* x = answer.find(name);
  if (!x) return;
  const auto strides = dense_strides(x->shape());
  for (std::int64_t i = 0; i < x->size(); ++i) {
    At at{};
    for (std::size_t d = 0; d < strides.size(); ++d) at[d] = i / strides[d] % x->shape()[d];
    if (which(at, x->shape())) x->set(i, to(i, x->get(i)));
  }
}

/// Elements left as the caller had them.
Fault unwritten(const char* name, const char* what, Name tensor,
                std::function<bool(const At&, const Shape&)> which) {
  return after(name, "uninitialised or out of bounds", what, [=](const Answer& answer) {
    if (!answer.find(tensor)) return;
    const auto& was = answer.untouched.at(tensor);
    edit(answer, tensor, which, [&](std::int64_t i, double) { return was.get(i); });
  });
}

/// One element at a place that depends on the size alone.
Fault one_element(const char* name, const char* kind, const char* what, Name tensor,
                  std::function<double(double)> to) {
  return after(name, kind, what, [=](const Answer& answer) {
    auto* x = answer.find(tensor);
    if (!x || x->empty()) return;
    const auto i = std::int64_t(double(x->size()) * 0.618);
    x->set(i, to(x->get(i)));
  });
}

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

std::vector<Fault> of_memory() {
  const auto last = [](std::size_t axis) {
    return [axis](const At& at, const Shape& shape) { return at[axis] == shape[axis] - 1; };
  };
  constexpr const char* kBounds = "uninitialised or out of bounds";
  return {
      unwritten("o_last_token", "the last token's output is not written", Name::o, last(1)),
      unwritten("o_last_head", "the last head's output is not written", Name::o, last(2)),
      unwritten("o_last_channel", "the last channel of o is not written", Name::o, last(3)),
      unwritten("ht_last_sequence", "the last sequence's state is not written", Name::ht, last(0)),
      unwritten("ht_last_column", "the last column of ht is not written", Name::ht, last(3)),
      unwritten("dq_last_token", "the last token's dq is not written", Name::dq, last(1)),
      unwritten("dg_last_channel", "the last channel of dg is not written", Name::dg, last(3)),
      unwritten("dh0_last_head", "the last head's dh0 is not written", Name::dh0, last(1)),
      after("o_accumulated", kBounds, "o is added to what was there",
            [](const Answer& answer) {
              if (auto* o = answer.find(Name::o))
                for (std::int64_t i = 0; i < o->size(); ++i)
                  o->set(i, o->get(i) + answer.untouched.at(Name::o).get(i));
            }),
      after("past_the_end", kBounds, "an element past the end of o is written",
            [](const Answer& answer) {
              if (auto* o = answer.find(Name::o); o && o->data() + o->size() * size_of(o->dtype()) < o->storage()->data() + o->storage()->size())
                o->data()[o->size() * std::int64_t(size_of(o->dtype()))] = std::byte{0};
            }),
      after("before_the_start", kBounds, "an element before the start of dk is written",
            [](const Answer& answer) {
              if (auto* dk = answer.find(Name::dk); dk && dk->offset() > 0)
                dk->data()[-1] = std::byte{0};
            }),
      after("input_written", kBounds, "an element of q is written",
            [](const Answer& answer) {
              auto& q = answer.inputs.at(Name::q);
              if (q.size()) q.data()[0] ^= std::byte{1};
            }),
      after("padded_state_written", "state lifecycle",
            "the state of a padded entry is written: slot -1, before the first state",
            [](const Answer& answer) {
              auto* ht = answer.find(Name::ht);
              if (!ht || ht->empty()) return;
              const auto state = ht->size() / ht->shape()[0];
              const auto width = std::int64_t(size_of(ht->dtype()));
              for (std::int64_t i = 1; i <= std::min(state, ht->offset()); ++i)
                store_element(ht->data() - i * width, ht->dtype(), ht->get(state - i));
            }),
      after("h0_written", kBounds, "the state is updated in place",
            [](const Answer& answer) {
              const auto h0 = answer.inputs.find(Name::h0);
              const auto* ht = answer.find(Name::ht);
              if (h0 == answer.inputs.end() || !ht || ht->empty()) return;
              store_element(h0->second.data(), h0->second.dtype(), ht->get(0));
            }),
  };
}

std::vector<Fault> of_numbers() {
  constexpr const char* kPractice = "test practice";
  const auto all = [](const At&, const Shape&) { return true; };
  return {
      one_element("nan_in_o", kPractice, "one NaN in o", Name::o, [](double) { return kNaN; }),
      one_element("nan_in_dk", kPractice, "one NaN in dk", Name::dk, [](double) { return kNaN; }),
      one_element("inf_in_ht", kPractice, "one infinity in ht", Name::ht, [](double) { return kInf; }),
      one_element("inf_in_dg", kPractice, "one infinity in dg", Name::dg, [](double) { return -kInf; }),
      after("nan_everywhere", kPractice, "o is NaN throughout",
            [=](const Answer& a) { edit(a, Name::o, all, [](std::int64_t, double) { return kNaN; }); }),
      after("zero", kPractice, "every result is zero",
            [=](const Answer& a) {
              for (auto& [name, x] : a.results) edit(a, name, all, [](std::int64_t, double) { return 0; });
            }),
      after("constant", kPractice, "o is a constant",
            [=](const Answer& a) { edit(a, Name::o, all, [](std::int64_t, double) { return 0.125; }); }),
      after("copy_of_v", kPractice, "o is v",
            [](const Answer& a) {
              if (auto* o = a.find(Name::o)) o->assign(a.inputs.at(Name::v).to_doubles());
            }),
      one_element("o_element", "one element", "one element of o 1/8 off", Name::o,
                  [](double x) { return 1.125 * x; }),
      one_element("ht_element", "one element", "one element of ht 1/8 off", Name::ht,
                  [](double x) { return 1.125 * x; }),
      one_element("dq_element", "one element", "one element of dq 1/8 off", Name::dq,
                  [](double x) { return 1.125 * x; }),
      one_element("dw_element", "one element", "one element of dw 1/8 off", Name::dw,
                  [](double x) { return 1.125 * x; }),
      one_element("dh0_element", "one element", "one element of dh0 1/64 off", Name::dh0,
                  [](double x) { return (1 + 0x1p-6) * x; }),
      one_element("dA_log_element", "one element", "one element of dA_log 1/8 off", Name::dA_log,
                  [](double x) { return 1.125 * x; }),
      one_element("ddt_bias_element", "one element", "one element of ddt_bias 1/8 off",
                  Name::ddt_bias, [](double x) { return 1.125 * x; }),
      after("truncated_o", "precision", "o rounded towards zero",
            [](const Answer& a) {
              auto* o = a.find(Name::o);
              if (!o) return;
              const Format format = format_of(o->dtype());
              edit(a, Name::o, [](const At&, const Shape&) { return true; },
                   [=](std::int64_t, double x) { return x - std::copysign(ulp(x, format), x); });
            }),
  };
}

/// Runs that differ: every second call changes one element by one step of its format.
Fault unsteady(const char* name, const char* what, Name tensor) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  return after(name, "races", what, [=](const Answer& answer) {
    auto* x = answer.find(tensor);
    if (!x || x->empty() || ++*calls % 2) return;
    const double y = x->get(0);
    x->set(0, y + ulp(y, format_of(x->dtype())));
  });
}

/// Results of an earlier call of the same problem.
Fault cached() {
  struct Cache {
    std::mutex mutex;
    std::map<std::string, std::map<Name, std::vector<double>>> results;
  };
  const auto cache = std::make_shared<Cache>();
  return after("cached_by_shape", "autotuning and caches",
               "a call with sizes seen before returns the earlier results",
               [=](const Answer& answer) {
                 const std::lock_guard lock(cache->mutex);
                 auto key = to_string(answer.problem);
                 for (const auto& [name, x] : answer.results) key += ' ' + std::string(to_string(name));
                 auto& kept = cache->results[key];
                 for (auto& [name, x] : answer.results)
                   if (kept.contains(name)) x.assign(kept[name]);
                   else kept[name] = x.to_doubles();
               });
}

/// Results of some problems alone 1/32 off: a configuration that is not the tuned one.
Fault configuration(const char* name, const char* what, bool (*which)(const Problem&)) {
  return after(name, "configuration", what, [=](const Answer& a) {
    if (!which(a.problem)) return;
    for (auto& [result, x] : a.results)
      edit(a, result, [](const At&, const Shape&) { return true; },
           [](std::int64_t, double y) { return (1 + 0x1p-5) * y; });
  });
}

std::vector<Fault> of_behaviour() {
  return {
      unsteady("unsteady_o", "o differs from run to run by one step", Name::o),
      unsteady("unsteady_dk", "dk differs from run to run by one step", Name::dk),
      unsteady("unsteady_dA_log", "dA_log differs from run to run by one step", Name::dA_log),
      cached(),
      configuration("K_128", "K = 128 is wrong", [](const Problem& p) { return p.K == 128; }),
      configuration("K_100", "K = 100 is wrong", [](const Problem& p) { return p.K == 100; }),
      configuration("V_256", "V = 256 is wrong", [](const Problem& p) { return p.V == 256; }),
      configuration("group_3", "three value heads a key head are wrong",
                    [](const Problem& p) { return p.group() == 3; }),
      configuration("short", "calls of one token are wrong", [](const Problem& p) { return p.T == 1; }),
      configuration("whole_chunks", "calls of whole chunks are wrong",
                    [](const Problem& p) { return p.lens.empty() && p.T % 64 == 0; }),
      configuration("no_final_state", "calls that do not ask for the final state are wrong",
                    [](const Problem& p) { return !p.ht; }),
      configuration("scale_one", "scale = 1 is wrong",
                    [](const Problem& p) { return p.scale == 1.0; }),
      after("split_by_batch", "batch invariance",
            "o of several sequences at once 1/128 too large: a sum split by the batch",
            [](const Answer& a) {
              if (a.problem.N() > 1)
                edit(a, Name::o, [](const At&, const Shape&) { return true; },
                     [](std::int64_t, double x) { return (1 + 0x1p-7) * x; });
            }),
      after("db_not_doubled", "gradient terms", "db not doubled with neg_eigval",
            [](const Answer& a) {
              if (a.problem.neg_eigval)
                edit(a, Name::db, [](const At&, const Shape&) { return true; },
                     [](std::int64_t, double x) { return x / 2; });
            }),
      after("dA_log_zero", "gradient terms", "dA_log = 0",
            [](const Answer& a) {
              edit(a, Name::dA_log, [](const At&, const Shape&) { return true; },
                   [](std::int64_t, double) { return 0; });
            }),
      after("ddt_bias_last_head", "head mapping", "ddt_bias of the last head is zero",
            [](const Answer& a) {
              edit(a, Name::ddt_bias,
                   [](const At& at, const Shape& shape) { return at[0] == shape[0] - 1; },
                   [](std::int64_t, double) { return 0; });
            }),
      after("empty_state_zero", "packed sequences", "an empty sequence returns zero for its state",
            [](const Answer& a) {
              const auto lengths = a.problem.lens;
              for (auto name : {Name::ht, Name::dh0})
                edit(a, name,
                     [&](const At& at, const Shape&) { return !lengths.empty() && lengths[at[0]] == 0; },
                     [](std::int64_t, double) { return 0; });
            }),
      after("one_token_skipped", "packed sequences", "packed sequences of one token are skipped",
            [](const Answer& a) {
              for (auto s : a.problem.sequences())
                if (!a.problem.lens.empty() && s.length() == 1)
                  edit(a, Name::o, [&](const At& at, const Shape&) { return at[1] == s.begin; },
                       [](std::int64_t, double) { return 0; });
            }),
  };
}

Fault contract(Form form, const char* name, const char* what, std::function<void(Contract&)> change) {
  return {.name = std::string(form == Form::kChunk ? "contract." : "decode.contract.") + name,
          .kind = "precision",
          .what = what,
          .form = form,
          .change = OnContract{std::move(change)}};
}

}  // namespace

std::vector<Fault> result_faults() {
  std::vector<Fault> all;
  for (auto* part : {of_memory, of_numbers, of_behaviour})
    for (auto& fault : part()) all.push_back(std::move(fault));
  return all;
}

std::vector<Fault> contract_faults() {
  using C = Contract;
  constexpr auto kChunk = Form::kChunk, kToken = Form::kToken;
  return {
      contract(kChunk, "state_bf16", "state in bf16", [](C& c) { c.state = Format::kBF16; }),
      contract(kChunk, "state_fp16", "state in fp16", [](C& c) { c.state = Format::kF16; }),
      contract(kChunk, "state_tf32", "state in tf32", [](C& c) { c.state = Format::kTF32; }),
      contract(kChunk, "gate_bf16", "cumulative gates in bf16",
               [](C& c) { c.gate = Format::kBF16; }),
      contract(kChunk, "gate_fp16", "cumulative gates in fp16",
               [](C& c) { c.gate = Format::kF16; }),
      contract(kChunk, "solve_bf16", "the solve in bf16", [](C& c) { c.solve = Format::kBF16; }),
      contract(kChunk, "solve_fp16", "the solve in fp16", [](C& c) { c.solve = Format::kF16; }),
      contract(kChunk, "solve_tf32", "the solve in tf32", [](C& c) { c.solve = Format::kTF32; }),
      contract(kChunk, "operand_bf16", "operands in bf16", [](C& c) { c.operand = Format::kBF16; }),
      contract(kChunk, "operand_fp16", "operands in fp16", [](C& c) { c.operand = Format::kF16; }),
      contract(kChunk, "operand_tf32", "operands in tf32", [](C& c) { c.operand = Format::kTF32; }),
      contract(kChunk, "auxiliary_bf16", "Y and U stored in bf16",
               [](C& c) { c.auxiliary = Format::kBF16; }),
      contract(kChunk, "auxiliary_tf32", "Y and U stored in tf32",
               [](C& c) { c.auxiliary = Format::kTF32; }),
      contract(kChunk, "accumulator_bf16", "sums in bf16",
               [](C& c) { c.accumulator = Format::kBF16; }),
      contract(kChunk, "accumulator_fp16", "sums in fp16",
               [](C& c) { c.accumulator = Format::kF16; }),
      contract(kChunk, "normalized_bf16", "normalised q and k in bf16",
               [](C& c) { c.normalized = Format::kBF16; }),
      contract(kChunk, "direct_rows_0", "no score is formed directly",
               [](C& c) { c.direct_rows = 0; }),
      contract(kToken, "state_bf16", "state in bf16", [](C& c) { c.state = Format::kBF16; }),
      contract(kToken, "state_tf32", "state in tf32", [](C& c) { c.state = Format::kTF32; }),
      contract(kToken, "operand_bf16", "operands in bf16", [](C& c) { c.operand = Format::kBF16; }),
      contract(kToken, "operand_tf32", "operands in tf32", [](C& c) { c.operand = Format::kTF32; }),
      contract(kToken, "accumulator_bf16", "sums in bf16",
               [](C& c) { c.accumulator = Format::kBF16; }),
      contract(kToken, "normalized_bf16", "normalised q and k in bf16",
               [](C& c) { c.normalized = Format::kBF16; }),
  };
}

}  // namespace gdr2::power
