// SPDX-License-Identifier: Apache-2.0
// The chunk entry points, forward and backward.
#include "kernels/abi/abi_kernel.hpp"
#include "kernels/abi/library_kernel.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

constexpr std::pair<gdr2_stage, Name> kStages[] = {
    {GDR2_STAGE_H, Name::H},     {GDR2_STAGE_T, Name::T},   {GDR2_STAGE_A, Name::A},
    {GDR2_STAGE_AQK, Name::Aqk}, {GDR2_STAGE_Y, Name::Y},   {GDR2_STAGE_U, Name::U},
    {GDR2_STAGE_R, Name::R},     {GDR2_STAGE_DH, Name::dH}, {GDR2_STAGE_DR, Name::dR},
    {GDR2_STAGE_P, Name::P}};
static_assert(std::size(kStages) == GDR2_STAGE_COUNT);

class AbiChunkKernel : public LibraryKernel {
 public:
  AbiChunkKernel(const gdr2_kernel* table, std::string name, std::string description,
                 Intermediates intermediates)
      : LibraryKernel(table, std::move(name), std::move(description)),
        intermediates_(intermediates) {
    if (!table->forward) fail("kernel {}: it has no forward function", this->name());
  }

 private:
  std::optional<std::string> do_unsupported(const Problem& problem) const override {
    if (problem.backward && !table().backward) return "it has no backward";
    return refusal(problem,
                   problem.backward ? GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD : GDR2_PASS_FORWARD);
  }

  /// Stages are fp32 in the C interface: too coarse for an fp64 kernel's.
  std::vector<Name> do_exports(const Problem& problem) const override {
    if (problem.state_dtype() != DType::kF32) return {};
    const auto passes =
        problem.backward ? GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD : GDR2_PASS_FORWARD;
    std::vector<Name> names;
    for (const auto& [stage, name] : kStages)
      if (query(problem, passes).stages >> stage & 1u) names.push_back(name);
    return names;
  }

  static gdr2_inputs inputs_of(const Describe& get) {
    return {get(Name::q), get(Name::k),  get(Name::v),     get(Name::g),      get(Name::b),
            get(Name::w), get(Name::h0), get(Name::A_log), get(Name::dt_bias)};
  }

  static gdr2_outputs outputs_of(const Describe& get) {
    gdr2_outputs out{};
    out.o = get(Name::o);
    out.ht = get(Name::ht);
    for (const auto& [stage, name] : kStages) out.stage[stage] = get(name);
    return out;
  }

  static gdr2_gradients gradients_of(const Describe& get) {
    gdr2_gradients d{};
    d.dq = get(Name::dq);
    d.dk = get(Name::dk);
    d.dv = get(Name::dv);
    d.dg = get(Name::dg);
    d.db = get(Name::db);
    d.dw = get(Name::dw);
    d.dh0 = get(Name::dh0);
    d.dA_log = get(Name::dA_log);
    d.ddt_bias = get(Name::ddt_bias);
    for (const auto& [stage, name] : kStages) d.stage[stage] = get(name);
    return d;
  }

  void do_forward(const Problem& problem, const Tensors& inputs, Tensors& outputs) const override {
    Mirror mirror(space());
    auto s = scratch(query(problem, GDR2_PASS_FORWARD), false);
    call_forward(problem, inputs_of(mirroring(mirror, inputs)),
                 outputs_of(mirroring(mirror, outputs)), s.abi);
    mirror.download();
  }

  void call_forward(const Problem& problem, const gdr2_inputs& in, const gdr2_outputs& out,
                    gdr2_workspace& workspace) const {
    const AbiProblem abi(problem, space());
    must(table().forward(abi.get(), &in, &out, &workspace), "forward", workspace.error);
    space().synchronize();
  }

  /// A call whose tensors stay in the library's memory.
  struct Resident {
    Resident(const MemorySpace& space, const Problem& problem)
        : mirror(space), problem(problem, space) {}
    Mirror mirror;
    AbiProblem problem;
    std::optional<Scratch> scratch;
    gdr2_inputs in{};
    gdr2_outputs out{};
    gdr2_cotangents dy{};
    gdr2_gradients d{};
  };

  TimedCall do_prepare_timing(const Problem& problem, const Tensors& inputs,
                              Pass pass) const override {
    const bool both = pass == Pass::kForwardBackward;
    const auto capability =
        query(problem, both ? GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD : GDR2_PASS_FORWARD);
    const auto r = std::make_shared<Resident>(space(), problem);
    const bool with_saved = both && intermediates_ == Intermediates::kSaved;
    r->scratch.emplace(scratch(capability, with_saved));
    const auto outputs = allocated(problem, output_names(problem));
    const auto gradients = allocated(problem, both ? gradient_names(problem) : std::vector<Name>());
    const auto get = mirroring(r->mirror, inputs);
    r->in = inputs_of(get);
    r->out = outputs_of(mirroring(r->mirror, outputs));
    r->dy = {get(Name::do_), get(Name::dht)};
    r->d = gradients_of(mirroring(r->mirror, gradients));
    const auto call = [this, r, both] {
      auto& workspace = r->scratch->abi;
      must(table().forward(r->problem.get(), &r->in, &r->out, &workspace), "forward",
           workspace.error);
      if (both)
        must(table().backward(r->problem.get(), &r->in, &r->dy, &r->d, &workspace), "backward",
             workspace.error);
    };
    const double scratch_bytes = double(r->scratch->abi.bytes + r->scratch->abi.saved_bytes);
    return timed(call, scratch_bytes + bytes_of(outputs) + bytes_of(gradients));
  }

  void do_backward(const Problem& problem, const Tensors& inputs,
                   Tensors& gradients) const override {
    Mirror mirror(space());
    const auto get = mirroring(mirror, inputs);
    const auto outputs =
        allocated(problem, saves(problem) ? output_names(problem) : std::vector<Name>());
    call_backward(problem, get, outputs_of(mirroring(mirror, outputs)),
                  gradients_of(mirroring(mirror, gradients)));
    mirror.download();
  }

  void do_forward_in_place(const Problem& problem, const Arrays& inputs,
                           const Arrays& outputs) const override {
    if (!is_resident()) return Kernel::do_forward_in_place(problem, inputs, outputs);
    auto s = scratch(query(problem, GDR2_PASS_FORWARD), false);
    call_forward(problem, inputs_of(in_place(inputs)), outputs_of(in_place(outputs)), s.abi);
  }

  void do_backward_in_place(const Problem& problem, const Arrays& inputs,
                            const Arrays& gradients) const override {
    if (!is_resident()) return Kernel::do_backward_in_place(problem, inputs, gradients);
    Arrays outputs;
    if (saves(problem))
      for (auto name : output_names(problem))
        outputs[name] = Array(space(), dtype_of(problem, name), shape_of(problem, name));
    call_backward(problem, in_place(inputs), outputs_of(in_place(outputs)),
                  gradients_of(in_place(gradients)));
  }

  /// The backward reads what a forward has saved.
  bool saves(const Problem& problem) const {
    return intermediates_ == Intermediates::kSaved && backward_capability(problem).saved_bytes > 0;
  }

  gdr2_capability backward_capability(const Problem& problem) const {
    return query(problem, GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD);
  }

  /// `out`: of the forward that fills the saved buffer, if there is one.
  void call_backward(const Problem& problem, const Describe& get, const gdr2_outputs& out,
                     const gdr2_gradients& d) const {
    const auto in = inputs_of(get);
    auto s = scratch(backward_capability(problem), intermediates_ == Intermediates::kSaved);
    if (s.abi.saved) call_forward(problem, in, out, s.abi);
    const gdr2_cotangents dy{get(Name::do_), get(Name::dht)};
    const AbiProblem abi(problem, space());
    must(table().backward(abi.get(), &in, &dy, &d, &s.abi), "backward", s.abi.error);
    space().synchronize();
  }

  Intermediates intermediates_;
};

}  // namespace

std::unique_ptr<Kernel> make_abi_chunk_kernel(const gdr2_kernel* table, std::string name,
                                              std::string description,
                                              Intermediates intermediates) {
  return std::make_unique<AbiChunkKernel>(table, std::move(name), std::move(description),
                                          intermediates);
}

}  // namespace gdr2
