// SPDX-License-Identifier: Apache-2.0
// Faults around a right kernel: sequences, heads, strides. What a wrapper, a launch grid or an index
// computation gets wrong.
#include <cmath>

#include "properties/laws/law_run.hpp"
#include "properties/power/mutant.hpp"
#include "properties/power/spoil.hpp"

namespace gdr2::power {
namespace {

using laws::changed;
using At = laws::Index;

/// The tensor with element i taken from where(index).
template <class Where>
Tensor taken(const Tensor& x, const Where& where) {
  const auto strides = dense_strides(x.shape());
  return changed(x, [&](const At& index, double) {
    const At from = where(index);
    std::int64_t i = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) i += from[d] * strides[d];
    return x.get(i);
  });
}

void take(Tensors& tensors, std::initializer_list<Name> names,
          const std::function<At(const Tensor&, At)>& where) {
  for (auto name : names)
    if (const auto found = tensors.find(name); found != tensors.end())
      found->second = taken(found->second, [&](const At& i) { return where(found->second, i); });
}

/// Index along one axis replaced.
std::function<At(const Tensor&, At)> along(std::size_t axis,
                                           std::function<std::int64_t(std::int64_t, std::int64_t)> to) {
  return [=](const Tensor& x, At i) {
    i[axis] = to(i[axis], x.shape()[axis]);
    return i;
  };
}

constexpr auto kFirst = [](std::int64_t, std::int64_t) { return std::int64_t{0}; };
constexpr auto kNext = [](std::int64_t i, std::int64_t n) { return (i + 1) % n; };
constexpr auto kNotLast = [](std::int64_t i, std::int64_t n) { return i + 1 == n && n > 1 ? i - 1 : i; };

/// Each packed sequence begins with the state that the one before it leaves.
void run_on(Problem& p, Tensors& in) {
  if (p.lens.empty()) return;
  auto asked = p;
  asked.h0 = asked.ht = true;
  asked.backward = false;
  if (!p.h0) in[Name::h0] = Tensor(dtype_of(asked, Name::h0), shape_of(asked, Name::h0));
  p.h0 = true;
  for (std::int64_t n = 1; n < p.N(); ++n) {
    auto out = allocated(asked, {Name::o, Name::ht});
    right_kernel(Form::kChunk).forward(asked, in, out);
    const auto& left = out.at(Name::ht);
    const auto state = left.size() / p.N();
    in[Name::h0] =
        changed(in.at(Name::h0), [&, e = std::int64_t{0}](const At& i, double x) mutable {
          const auto before = e++ - state;
          return i[0] == n ? left.get(before) : x;
        });
  }
}

/// The state that enters a packed sequence, decayed by what stands before it in a chunk of 64 tokens too.
void decay_from_chunk(Problem& p, Tensors& in) {
  if (p.lens.empty() || !p.h0 || p.gate != Gate::kLog) return;
  const auto& g = in.at(Name::g);
  const auto sequences = p.sequences();
  in[Name::h0] = changed(in.at(Name::h0), [&](const At& i, double x) {
    const auto begin = sequences[i[0]].begin, c = p.layout == StateLayout::kKV ? i[2] : i[3];
    double sum = 0;
    for (auto t = begin / 64 * 64; t < begin; ++t)
      sum += g.get((t * p.H + i[1] / p.group()) * p.K + c);
    return std::exp(sum) * x;
  });
}

std::vector<Fault> of_sequences() {
  constexpr const char* kPacked = "packed sequences";
  constexpr const char* kState = "state lifecycle";
  return {
      before("boundary_late", kPacked, "each boundary of packed sequences a token late",
             [](Problem& p, Tensors&) {
               for (std::size_t n = 0; n + 1 < p.lens.size(); ++n)
                 if (p.lens[n + 1] > 0) ++p.lens[n], --p.lens[n + 1];
             }),
      before("boundary_early", kPacked, "each boundary of packed sequences a token early",
             [](Problem& p, Tensors&) {
               for (std::size_t n = 0; n + 1 < p.lens.size(); ++n)
                 if (p.lens[n] > 0) --p.lens[n], ++p.lens[n + 1];
             }),
      before("boundary_at_chunk", kPacked, "boundaries moved to multiples of 16",
             [](Problem& p, Tensors&) {
               std::int64_t carry = 0;
               for (std::size_t n = 0; n + 1 < p.lens.size(); ++n) {
                 const auto whole = (p.lens[n] + carry) / 16 * 16;
                 carry = p.lens[n] + carry - whole;
                 p.lens[n] = whole;
               }
               if (!p.lens.empty()) p.lens.back() += carry;
             }),
      before("no_reset", kPacked,
             "no reset at a boundary: a sequence begins with the state of the one before", run_on,
             Pass::kForward),
      before("decay_from_chunk", kPacked,
             "decays of a packed sequence summed from the start of a chunk, not its own",
             decay_from_chunk),
      before("lengths_reversed", kPacked, "lengths of packed sequences read backwards",
             [](Problem& p, Tensors&) { std::reverse(p.lens.begin(), p.lens.end()); }),
      before("h0_of_next", kState, "the state of another sequence",
             [](Problem&, Tensors& in) { take(in, {Name::h0}, along(0, kNext)); }),
      before("h0_of_first", kState, "the state of the first sequence for all",
             [](Problem&, Tensors& in) { take(in, {Name::h0}, along(0, kFirst)); }),
      before("h0_of_next_head", "head mapping", "the state of another head",
             [](Problem&, Tensors& in) { take(in, {Name::h0}, along(1, kNext)); }),
      before(
          "dht_of_next", kState, "the state's cotangent of another sequence",
          [](Problem&, Tensors& in) { take(in, {Name::dht}, along(0, kNext)); }, Pass::kBackward),
      before("layout_ignored", "layout", "states read and written in the other layout",
             [](Problem& p, Tensors&) {
               p.layout = p.layout == StateLayout::kKV ? StateLayout::kVK : StateLayout::kKV;
             }),
      before("batch_stride_0", "strides", "every batch entry reads the keys of the first",
             [](Problem&, Tensors& in) { take(in, {Name::k}, along(0, kFirst)); }),
      before("last_batch_skipped", "index width", "the last batch entry is that before it",
             [](Problem&, Tensors& in) {
               take(in, {Name::q, Name::k, Name::v, Name::g, Name::b, Name::w}, along(0, kNotLast));
             }),
      before("tokens_wrap_128", "index width", "token offsets wrap at 128",
             [](Problem&, Tensors& in) {
               take(in, {Name::q, Name::k, Name::v}, along(1, [](std::int64_t t, std::int64_t) { return t % 128; }));
             }),
      before("gate_of_next_token", "causality", "each token sees the decay of the next",
             [](Problem&, Tensors& in) {
               take(in, {Name::g}, along(1, [](std::int64_t t, std::int64_t n) { return std::min(t + 1, n - 1); }));
             }),
      before("last_gate_not_read", "tail chunk", "the last token's decay is that of the one before",
             [](Problem&, Tensors& in) { take(in, {Name::g}, along(1, kNotLast)); }),
  };
}

/// Value heads in the order in which hv % H, not hv / group, finds the key head.
void heads_by_remainder(const Problem& p, Tensors& in) {
  take(in, {Name::v, Name::w, Name::do_}, along(2, [&](std::int64_t hv, std::int64_t) {
         return hv % p.group() * p.H + hv / p.group();
       }));
  take(in, {Name::h0, Name::dht}, along(1, [&](std::int64_t hv, std::int64_t) {
         return hv % p.group() * p.H + hv / p.group();
       }));
}

Fault head_remainder() {
  auto fault = before("head_mod", "head mapping", "value head hv reads key head hv mod H", {});
  const auto back = [](const Answer& answer) {
    const auto& p = answer.problem;
    const auto home = [&](std::int64_t hv, std::int64_t) { return hv % p.H * p.group() + hv / p.H; };
    take(answer.results, {Name::o, Name::dv, Name::dw}, along(2, home));
    take(answer.results, {Name::ht, Name::dh0}, along(1, home));
  };
  fault.change = OnCall{[](Problem& p, Tensors& in) { heads_by_remainder(p, in); },
                        [back](const Answer& answer) {
                          Tensors moved = answer.results;
                          const Answer on_copy{answer.problem, answer.inputs, answer.untouched, moved};
                          back(on_copy);
                          for (auto& [name, tensor] : answer.results)
                            tensor.assign(moved.at(name).to_doubles());
                        }};
  return fault;
}

std::vector<Fault> of_heads() {
  constexpr const char* kKind = "head mapping";
  const auto heads = [](const char* name, const char* what, std::initializer_list<Name> names,
                        auto to, Pass pass = Pass::kBoth) {
    const std::vector<Name> list(names);
    return before(name, kKind, what,
                  [=](Problem&, Tensors& in) {
                    for (auto n : list)
                      take(in, {n}, along(is_parameter(n) ? 0 : 2, to));
                  },
                  pass);
  };
  return {
      head_remainder(),
      heads("gate_of_head_0", "the decay of head 0 for all", {Name::g}, kFirst),
      heads("parameters_of_head_0", "A_log of head 0 for all", {Name::A_log}, kFirst),
      heads("dt_bias_of_head_0", "dt_bias of head 0 for all", {Name::dt_bias}, kFirst),
      heads("b_of_head_0", "b of head 0 for all", {Name::b}, kFirst),
      heads("w_of_head_0", "w of head 0 for all", {Name::w}, kFirst),
      heads("k_of_next_head", "k of the next head", {Name::k}, kNext),
      heads("v_of_next_head", "v of the next head", {Name::v}, kNext),
      heads("w_of_next_head", "w of the next head", {Name::w}, kNext),
      heads("do_of_head_0", "do of head 0 for all", {Name::do_}, kFirst, Pass::kBackward),
      before("group_not_summed", kKind, "gradients of shared heads from one value head alone",
             [](Problem& p, Tensors& in) {
               const auto group = p.group();
               for (auto name : {Name::do_, Name::dht})
                 if (const auto found = in.find(name); found != in.end())
                   found->second = changed(found->second, [&](const At& i, double x) {
                     return i[is_state(name) ? 1 : 2] % group == 0 ? x : 0;
                   });
             },
             Pass::kBackward),
  };
}

/// The input read as if it were dense, from its first element on.
void read_dense(Tensors& in, Name name, std::int64_t offset_by) {
  auto& x = in.at(name);
  if (x.is_dense() && offset_by == 0) return;
  const auto width = std::int64_t(size_of(x.dtype()));
  const auto last = std::int64_t(x.storage()->size()) / width - 1;
  Tensor y(x.dtype(), x.shape());
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const auto at = std::clamp<std::int64_t>(x.offset() + offset_by + i, 0, last);
    y.set(i, load_element(x.storage()->data() + at * width, x.dtype()));
  }
  x = y;
}

/// The last element read from behind the tensor, where anything lies there.
void read_past_the_end(Tensors& in, Name name) {
  auto& x = in.at(name);
  if (x.empty()) return;
  const auto width = std::int64_t(size_of(x.dtype()));
  const auto behind = x.offset() + x.position(x.size() - 1) + 1;
  if ((behind + 1) * width > std::ssize(*x.storage())) return;
  const double y = load_element(x.storage()->data() + behind * width, x.dtype());
  x = x.clone();
  x.set(x.size() - 1, y);
}

std::vector<Fault> of_strides() {
  const auto contiguous = [](const char* name, const char* what, Name tensor) {
    return before(name, "strides", what,
                  [=](Problem&, Tensors& in) { read_dense(in, tensor, 0); });
  };
  return {
      contiguous("q_contiguous", "the strides of q taken as contiguous", Name::q),
      contiguous("k_contiguous", "the strides of k taken as contiguous", Name::k),
      contiguous("v_contiguous", "the strides of v taken as contiguous", Name::v),
      contiguous("g_contiguous", "the strides of g taken as contiguous", Name::g),
      before("k_off_by_one", "strides", "k read from one element further on",
             [](Problem&, Tensors& in) { read_dense(in, Name::k, 1); }),
      before("v_past_the_end", "uninitialised or out of bounds",
             "the last element of v is read from behind the tensor",
             [](Problem&, Tensors& in) { read_past_the_end(in, Name::v); }),
  };
}

}  // namespace

std::vector<Fault> call_faults() {
  std::vector<Fault> all;
  for (auto* part : {of_sequences, of_heads, of_strides})
    for (auto& fault : part()) {
      auto in_loop = fault;
      all.push_back(std::move(fault));
      const auto& name = in_loop.name;
      if (name != "call.h0_of_next" && name != "call.h0_of_first" && name != "call.boundary_late" &&
          name != "call.head_mod" && name != "call.layout_ignored")
        continue;
      in_loop.name = "decode." + name;
      in_loop.form = Form::kToken;
      all.push_back(std::move(in_loop));
    }
  return all;
}

}  // namespace gdr2::power
