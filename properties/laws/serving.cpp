// SPDX-License-Identifier: Apache-2.0
// What a server does to a kernel: the sequences of a case are requests whose states live in slots of
// one pool. A random schedule prefills some tokens, decodes one token of two requests at once, drafts
// tokens of which a part is accepted, parks requests and resumes them in another slot. Free slots are
// full of NaN. The outputs and final states are those of the uninterrupted sequences but for rounding;
// what no call was about keeps its bits; a rejected draft leaves no trace.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "fixtures/random.hpp"
#include "properties/laws/family.hpp"
#include "properties/laws/margin.hpp"

namespace gdr2::laws {
namespace {

constexpr std::int64_t kSpareSlots = 3;
constexpr std::int64_t kLongestPrefill = 80;
constexpr std::int64_t kLongestDraft = 6;

struct Request {
  std::int64_t sequence;
  Sequence tokens;            ///< of the call
  std::int64_t done = 0;      ///< tokens served
  std::int64_t slot = -1;     ///< -1: parked, or not begun
  std::vector<double> state;  ///< while it has no slot

  std::int64_t left() const { return tokens.length() - done; }
};

class Server {
 public:
  Server(const Kernel& kernel, const Call& call, std::uint64_t seed)
      : kernel_(kernel), call_(call), random_(seed) {
    const auto& p = call.problem;
    state_ = p.HV * p.K * p.V;
    pool_ = poisoned(p.N() + kSpareSlots);
    o_.assign(element_count(shape_of(p, Name::o)), NAN);
    for (std::int64_t n = 0; n < p.N(); ++n) {
      Request request{n, p.sequences()[n]};
      request.state.assign(state_, 0);
      if (const auto h0 = call.inputs.find(Name::h0); h0 != call.inputs.end())
        for (std::int64_t i = 0; i < state_; ++i) request.state[i] = h0->second.get(n * state_ + i);
      requests_.push_back(request);
    }
  }

  /// Serves everything; the first thing that is not as it should be.
  Violation serve() {
    while (!violation_ && unfinished() > 0) step();
    return violation_;
  }

  const std::vector<double>& outputs() const { return o_; }

  std::vector<double> final_states() const {
    std::vector<double> states;
    for (const auto& r : requests_) {
      const auto last = r.slot < 0 ? r.state : slot_values(r.slot);
      states.insert(states.end(), last.begin(), last.end());
    }
    return states;
  }

 private:
  std::int64_t below(std::int64_t n) { return random_.below("serving", draws_++, n); }

  std::int64_t unfinished() const {
    return std::ranges::count_if(requests_, [](const auto& r) { return r.left() > 0; });
  }

  Request& any_unfinished() {
    for (auto i = below(std::ssize(requests_));; i = (i + 1) % std::ssize(requests_))
      if (requests_[i].left() > 0) return requests_[i];
  }

  void step() {
    auto& request = any_unfinished();
    if (request.slot < 0) return resume(request);
    switch (below(5)) {
      case 0: return park(request);
      case 1: return prefill(request);
      case 2: return draft(request);
      default: return decode(request);
    }
  }

  Tensor poisoned(std::int64_t slots) const {
    auto shape = shape_of(call_.problem, Name::ht);
    shape[0] = slots;
    Tensor pool(call_.problem.state_dtype(), shape);
    pool.fill_storage(std::byte{0xFF});
    return pool;
  }

  std::vector<double> slot_values(std::int64_t slot) const {
    std::vector<double> values(state_);
    for (std::int64_t i = 0; i < state_; ++i) values[i] = pool_.get(slot * state_ + i);
    return values;
  }

  bool is_free(std::int64_t slot) const {
    return std::ranges::none_of(requests_, [&](const auto& r) { return r.slot == slot; });
  }

  void resume(Request& request) {
    auto slot = below(pool_.shape()[0]);
    while (!is_free(slot)) slot = (slot + 1) % pool_.shape()[0];
    request.slot = slot;
    for (std::int64_t i = 0; i < state_; ++i) pool_.set(slot * state_ + i, request.state[i]);
  }

  void park(Request& request) {
    request.state = slot_values(request.slot);
    for (std::int64_t i = 0; i < state_; ++i) pool_.set(request.slot * state_ + i, NAN);
    request.slot = -1;
  }

  void prefill(Request& request) {
    advance({&request}, 1 + below(std::min(request.left(), kLongestPrefill)));
  }

  /// One token of one request, or of two at once.
  void decode(Request& request) {
    std::vector<Request*> batch{&request};
    for (auto& other : requests_)
      if (batch.size() < 2 && &other != &request && other.slot >= 0 && other.left() > 0)
        batch.push_back(&other);
    std::ranges::sort(batch, {}, &Request::slot);
    advance(batch, 1);
  }

  /// Tokens are tried, the state they leave is thrown away, and the accepted ones are served.
  void draft(Request& request) {
    const auto tried = 1 + below(std::min(request.left(), kLongestDraft));
    const auto accepted = below(tried + 1);
    const auto outputs = call_kernel({&request}, tried).first;
    if (accepted == 0 || violation_) return;
    const auto begin = place(request, 0);
    advance({&request}, accepted);
    const auto V = call_.problem.HV * call_.problem.V;
    for (std::int64_t i = 0; i < accepted * V && !violation_; ++i)
      if (outputs.get(i) != o_[begin + i] &&
          !(std::isnan(outputs.get(i)) && std::isnan(o_[begin + i])))
        violation_ = fmt::format(
            "sequence {}: {} tokens drafted, {} accepted: o of token {} is {:a} in the draft, {:a} "
            "after",
            request.sequence, tried, accepted, request.done - accepted + i / V, outputs.get(i),
            o_[begin + i]);
  }

  /// Element of o where the token of a request begins.
  std::int64_t place(const Request& r, std::int64_t ahead) const {
    return (r.tokens.begin + r.done + ahead) * call_.problem.HV * call_.problem.V;
  }

  void advance(const std::vector<Request*>& batch, std::int64_t tokens) {
    const auto [outputs, pool] = call_kernel(batch, tokens);
    if (violation_) return;
    pool_ = pool;
    const auto size = tokens * call_.problem.HV * call_.problem.V;
    for (std::size_t n = 0; n < batch.size(); ++n) {
      for (std::int64_t i = 0; i < size; ++i)
        o_[place(*batch[n], 0) + i] = outputs.get(std::int64_t(n) * size + i);
      batch[n]->done += tokens;
    }
  }

  /// o of the next tokens, and the pool after them: states are read from one pool and written to a
  /// copy of it, both as views of it.
  std::pair<Tensor, Tensor> call_kernel(const std::vector<Request*>& batch, std::int64_t tokens) {
    auto problem = call_.problem;
    problem.lens.clear();
    problem.B = std::ssize(batch);
    problem.T = tokens;
    problem.h0 = problem.ht = true;
    problem.backward = false;
    if (const auto reason = kernel_.unsupported(problem)) throw Unsupported(*reason);
    Tensors inputs;
    for (const auto name : input_names(problem)) inputs[name] = gathered(problem, name, batch);
    auto after = pool_.clone();
    inputs[Name::h0] = slots(pool_, batch);
    Tensors outputs{{Name::o, Tensor(problem.storage(), shape_of(problem, Name::o))},
                    {Name::ht, slots(after, batch)}};
    outputs[Name::o].fill_storage(std::byte{0xFF});
    kernel_.forward(problem, inputs, outputs);
    check_other_slots(after, batch);
    return {outputs[Name::o], after};
  }

  Tensor gathered(const Problem& problem, Name name, const std::vector<Request*>& batch) const {
    if (is_state(name)) return {};
    const auto& from = call_.inputs.at(name);
    if (is_parameter(name)) return from;
    Tensor to(from.dtype(), shape_of(problem, name));
    const auto size = to.size() / problem.B, row = size / problem.T;
    for (std::int64_t i = 0; i < to.size(); ++i) {
      const auto& r = *batch[i / size];
      to.set(i, from.get((r.tokens.begin + r.done) * row + i % size));
    }
    return to;
  }

  /// The slots of one or two requests as one strided tensor.
  Tensor slots(const Tensor& pool, const std::vector<Request*>& batch) const {
    auto shape = pool.shape();
    auto strides = pool.strides();
    shape[0] = std::ssize(batch);
    if (batch.size() == 2) strides[0] *= batch[1]->slot - batch[0]->slot;
    return Tensor(pool.dtype(), shape, strides, pool.storage(), batch[0]->slot * state_);
  }

  void check_other_slots(const Tensor& after, const std::vector<Request*>& batch) {
    const auto bytes = state_ * std::int64_t(size_of(pool_.dtype()));
    for (std::int64_t slot = 0; slot < pool_.shape()[0]; ++slot) {
      if (std::ranges::any_of(batch, [&](const auto* r) { return r->slot == slot; })) continue;
      if (std::memcmp(pool_.data() + slot * bytes, after.data() + slot * bytes, bytes) != 0)
        violation_ = fmt::format("slot {} changed though the call was about others", slot);
    }
  }

  const Kernel& kernel_;
  const Call& call_;
  Random random_;
  std::int64_t draws_ = 0, state_;
  Tensor pool_;
  std::vector<Request> requests_;
  std::vector<double> o_;
  Violation violation_;
};

Verdict serving(const Kernel& kernel, const Case& c) {
  return judge(c, [&](Call call) -> Violation {
    call.problem.backward = false;
    call.problem.ht = true;
    call.problem.view = View::kDense;
    Server server(kernel, call, c.seed);
    if (auto found = server.serve()) return found;
    const auto single = Margin(kernel, call);
    // Chunks begin elsewhere: an element's error may be that of any place.
    const auto margin = Margin(kernel, call).with(single).with(single.levelled());
    if (auto found = margin.beyond(Name::o, server.outputs(), single.truth(Name::o))) return found;
    return margin.beyond(Name::ht, server.final_states(), single.truth(Name::ht));
  });
}

}  // namespace

std::vector<Law> serving_laws() {
  return {
      {"serving",
       "prefilled, decoded, drafted, parked and resumed over a pool of slots = uninterrupted, but "
       "for rounding; other slots keep their bits",
       serving, Law::Kind::kMargin}};
}

}  // namespace gdr2::laws
