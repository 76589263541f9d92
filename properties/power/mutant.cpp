// SPDX-License-Identifier: Apache-2.0
#include "properties/power/mutant.hpp"

#include "reference/emulate.hpp"

namespace gdr2::power {
namespace {

/// The emulated arithmetic of the CPU kernels, with a fault at a site.
class Faulty : public Emulated<float> {
 public:
  Faulty(const Contract& contract, const Fault& fault, float scale)
      : Emulated<float>(contract), fault_(fault) {
    seen_.scale = scale;
  }

  void at(chunk::Site site, Stages& s) const {
    if (const auto* fault = std::get_if<OnStages>(&fault_.change); fault && fault->site == site)
      fault->change(s);
  }

  void at(chunk::Site site, const Stages& s, M& x) const {
    if (const auto* fault = std::get_if<OnChunk>(&fault_.change)) {
      if (fault->site == site) fault->change(s, seen_, x);
      seen_.at[site] = x;
    }
  }

  void at(token::Site site, const Head<float>& head, Index t, M& x) const {
    if (const auto* fault = std::get_if<OnToken>(&fault_.change); fault && fault->site == site)
      fault->change(head, t, x);
  }

  Head<float> spoiled(Head<float> head) const {
    if (const auto* fault = std::get_if<OnHead>(&fault_.change)) fault->change(head);
    return head;
  }

 private:
  const Fault& fault_;
  mutable Seen seen_;
};

/// A rule of reference/run.hpp on spoiled inputs.
template <class Form>
struct FaultyRule {
  HeadOutputs<float> forward(const Faulty& ar, const Head<float>& x) const {
    const auto head = ar.spoiled(x);
    return Form(ar, head).forward();
  }
  HeadGradients<float> backward(const Faulty& ar, const Head<float>& x,
                                const HeadCotangents<float>& dy) const {
    const auto head = ar.spoiled(x);
    return Form(ar, head).backward(dy, nullptr);
  }
};

/// body(rule) for the form of a fault.
template <class Body>
Values<double> with_rule(Form form, const Body& body) {
  return convert<double>(form == Form::kChunk ? body(FaultyRule<chunk::ChunkForm<Faulty>>())
                                              : body(FaultyRule<token::TokenForm<Faulty>>()));
}

class Mutant : public Kernel {
 public:
  explicit Mutant(const Fault& fault) : Kernel(fault.name, fault.what), fault_(fault) {}

 private:
  std::optional<std::string> do_unsupported(const Problem& p) const override {
    if (p.dtype == Format::kF64) return "faults are planted in the arithmetic of at most 32 bits";
    return right_kernel(fault_.form).unsupported(p);
  }
  Contract do_contract(const Problem& p) const override {
    return right_kernel(fault_.form).contract(p);
  }

  /// A call with another problem than asked has other chunks: its stages would mean nothing.
  std::vector<Name> do_exports(const Problem& p) const override {
    if (std::holds_alternative<OnCall>(fault_.change)) return {};
    return right_kernel(fault_.form).exports(p);
  }

  void do_forward(const Problem& p, const Tensors& in, Tensors& out) const override {
    if (fault_.pass == Pass::kBackward) return right_kernel(fault_.form).forward(p, in, out);
    call(p, in, out, false);
  }
  void do_backward(const Problem& p, const Tensors& in, Tensors& out) const override {
    if (fault_.pass == Pass::kForward) return right_kernel(fault_.form).backward(p, in, out);
    call(p, in, out, true);
  }

  void call(const Problem& p, const Tensors& in, Tensors& out, bool backward) const {
    if (const auto* fault = std::get_if<OnCall>(&fault_.change))
      return call_around(*fault, p, in, out, backward);
    std::vector<Name> stages;
    for (const auto& [name, tensor] : out)
      if (is_stage(name)) stages.push_back(name);
    auto problem = p;
    problem.backward = backward;
    auto contract = do_contract(p);
    const auto values = to_values<double>(in);
    if (const auto* fault = std::get_if<OnContract>(&fault_.change)) {
      fault->change(contract);
      return fill(emulate(problem, values, contract, RoundingMode::kNearest, 0, stages), out);
    }
    const Faulty ar(contract, fault_, float(p.scale_value()));
    fill(with_rule(fault_.form,
                   [&](const auto& rule) {
                     return backward ? run_backward(problem, values, ar, rule, stages)
                                     : run_forward(problem, values, ar, rule, stages);
                   }),
         out);
  }

  void call_around(const OnCall& fault, const Problem& p, const Tensors& in, Tensors& out,
                   bool backward) const {
    auto problem = p;
    auto inputs = in;
    Tensors untouched;
    if (fault.after)
      for (const auto& [name, tensor] : out) untouched[name] = tensor.clone();
    if (fault.before) fault.before(problem, inputs);
    const auto& kernel = right_kernel(fault_.form);
    backward ? kernel.backward(problem, inputs, out) : kernel.forward(problem, inputs, out);
    if (fault.after) fault.after({p, in, untouched, out});
  }

  static void fill(const Values<double>& values, Tensors& tensors) {
    for (auto& [name, tensor] : tensors) tensor.assign(values.at(name));
  }

  const Fault& fault_;
};

}  // namespace

const Kernel& right_kernel(Form form) {
  return find_kernel(form == Form::kChunk ? "cpu.chunk" : "cpu.recurrent");
}

std::unique_ptr<Kernel> make_mutant(const Fault& fault) { return std::make_unique<Mutant>(fault); }

}  // namespace gdr2::power
