// SPDX-License-Identifier: Apache-2.0
#include "kernels/abi/abi_kernel.hpp"

#include <cstring>

#include "kernels/abi/decode_padding.hpp"
#include "kernels/abi/marshal.hpp"
#include "kernels/abi/stopwatch.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

const gdr2_kernel* checked(const gdr2_kernel* table, const std::string& name) {
  if (!table) fail("kernel {}: gdr2_kernel_v1() gave nothing", name);
  if (table->abi_version != GDR2_ABI_VERSION)
    fail("kernel {}: ABI version {}, this suite speaks {}", name, table->abi_version,
         GDR2_ABI_VERSION);
  if (table->struct_size != sizeof(gdr2_kernel))
    fail("kernel {}: its gdr2_kernel has {} bytes, expected {}", name, table->struct_size,
         sizeof(gdr2_kernel));
  if (!table->query) fail("kernel {}: it has no query function", name);
  return table;
}

constexpr std::pair<gdr2_stage, Name> kStages[] = {
    {GDR2_STAGE_H, Name::H},     {GDR2_STAGE_T, Name::T},   {GDR2_STAGE_A, Name::A},
    {GDR2_STAGE_AQK, Name::Aqk}, {GDR2_STAGE_Y, Name::Y},   {GDR2_STAGE_U, Name::U},
    {GDR2_STAGE_R, Name::R},     {GDR2_STAGE_DH, Name::dH}, {GDR2_STAGE_DR, Name::dR},
    {GDR2_STAGE_P, Name::P}};
static_assert(std::size(kStages) == GDR2_STAGE_COUNT);

/// The tensor by name, mirrored; absent when the map does not hold it.
gdr2_tensor mirrored(Mirror& mirror, const Tensors& tensors, Name name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? gdr2_tensor{} : mirror.add(found->second);
}

class AbiKernel : public Kernel {
 protected:
  AbiKernel(const gdr2_kernel* table, std::string name, std::string description)
      : Kernel(name, std::move(description)), table_(checked(table, name)) {}

  const gdr2_kernel& table() const { return *table_; }
  gdr2_memory memory() const { return gdr2_memory(table_->memory); }
  const MemorySpace& space() const { return memory_space(memory()); }

  gdr2_capability query(const Problem& problem, std::int32_t pass) const {
    const AbiProblem abi(problem, space());
    gdr2_capability capability{};
    capability.struct_size = sizeof capability;
    must(table_->query(abi.get(), pass, &capability), "query", capability.reason);
    capability.reason[GDR2_MAX_MESSAGE - 1] = 0;
    return capability;
  }

  std::optional<std::string> refusal(const Problem& problem, std::int32_t pass) const {
    if (const char* reason = why_unavailable(memory()); *reason) return reason;
    const auto capability = query(problem, pass);
    if (capability.supported) return std::nullopt;
    return *capability.reason ? capability.reason : "not supported, without a reason";
  }

  static void must(gdr2_status status, const char* call, const char* message) {
    if (status == GDR2_UNSUPPORTED && std::strcmp(call, "query") != 0)
      throw KernelFault(KernelFault::Kind::kWrong,
                        fmt::format("{} does not support a problem that query says it supports: {}",
                                    call, *message ? message : "no message"));
    if (status != GDR2_OK)
      fail("{} returned {}: {}", call, int(status), *message ? message : "no message");
  }

  /// Buffers of one call.
  struct Scratch {
    SpaceBuffer workspace, saved;
    gdr2_workspace abi;
  };

  Scratch scratch(const gdr2_capability& capability, bool with_saved) const {
    const auto bytes = with_saved && capability.workspace_bytes_with_saved > 0
                           ? capability.workspace_bytes_with_saved
                           : capability.workspace_bytes;
    Scratch s{make_poisoned(space(), bytes),
              make_poisoned(space(), with_saved ? capability.saved_bytes : 0), {}};
    s.abi.data = s.workspace.get();
    s.abi.bytes = bytes;
    s.abi.saved = s.saved.get();
    s.abi.saved_bytes = s.saved.get() ? capability.saved_bytes : 0;
    return s;
  }

  static Tensors allocated(const Problem& problem, const std::vector<Name>& names) {
    Tensors tensors;
    for (auto name : names) tensors[name] = Tensor(dtype_of(problem, name), shape_of(problem, name));
    return tensors;
  }

  static double bytes_of(const Tensors& tensors) {
    double bytes = 0;
    for (const auto& [name, tensor] : tensors) bytes += double(tensor.storage()->size());
    return bytes;
  }

  /// `call` once, so that it fails here if it does, and then ready for the stopwatch.
  TimedCall timed(const std::function<void()>& call, double memory_bytes) const {
    call();
    space().synchronize();
    TimedCall ready;
    ready.memory_bytes = memory_bytes;
    ready.copy_gb_per_s = measured_copy_gb_per_s(memory());
    ready.device = device_name(memory());
    ready.run = [memory = memory(), call](int repetitions) {
      return time_calls(memory, repetitions, call);
    };
    return ready;
  }

 private:
  Contract do_contract(const Problem& problem) const override {
    return contract_of(query(problem, GDR2_PASS_FORWARD).contract);
  }

  const gdr2_kernel* table_;
};

class AbiChunkKernel : public AbiKernel {
 public:
  AbiChunkKernel(const gdr2_kernel* table, std::string name, std::string description,
                 Intermediates intermediates)
      : AbiKernel(table, std::move(name), std::move(description)), intermediates_(intermediates) {
    if (!table->forward) fail("kernel {}: it has no forward function", this->name());
  }

 private:
  std::optional<std::string> do_unsupported(const Problem& problem) const override {
    if (problem.backward && !table().backward) return "it has no backward";
    return refusal(problem, problem.backward ? GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD
                                             : GDR2_PASS_FORWARD);
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

  static gdr2_inputs inputs_of(Mirror& mirror, const Tensors& t) {
    const auto get = [&](Name name) { return mirrored(mirror, t, name); };
    return {get(Name::q), get(Name::k),  get(Name::v),     get(Name::g),      get(Name::b),
            get(Name::w), get(Name::h0), get(Name::A_log), get(Name::dt_bias)};
  }

  void do_forward(const Problem& problem, const Tensors& inputs, Tensors& outputs) const override {
    Mirror mirror(space());
    auto s = scratch(query(problem, GDR2_PASS_FORWARD), false);
    call_forward(problem, inputs_of(mirror, inputs), outputs_of(mirror, outputs), s.abi);
    mirror.download();
  }

  static gdr2_outputs outputs_of(Mirror& mirror, const Tensors& t) {
    gdr2_outputs out{};
    out.o = mirrored(mirror, t, Name::o);
    out.ht = mirrored(mirror, t, Name::ht);
    for (const auto& [stage, name] : kStages) out.stage[stage] = mirrored(mirror, t, name);
    return out;
  }

  static gdr2_gradients gradients_of(Mirror& mirror, const Tensors& t) {
    gdr2_gradients d{};
    d.dq = mirrored(mirror, t, Name::dq);
    d.dk = mirrored(mirror, t, Name::dk);
    d.dv = mirrored(mirror, t, Name::dv);
    d.dg = mirrored(mirror, t, Name::dg);
    d.db = mirrored(mirror, t, Name::db);
    d.dw = mirrored(mirror, t, Name::dw);
    d.dh0 = mirrored(mirror, t, Name::dh0);
    d.dA_log = mirrored(mirror, t, Name::dA_log);
    d.ddt_bias = mirrored(mirror, t, Name::ddt_bias);
    for (const auto& [stage, name] : kStages) d.stage[stage] = mirrored(mirror, t, name);
    return d;
  }

  void call_forward(const Problem& problem, const gdr2_inputs& in, const gdr2_outputs& out,
                    gdr2_workspace& workspace) const {
    const AbiProblem abi(problem, space());
    must(table().forward(abi.get(), &in, &out, &workspace), "forward", workspace.error);
    space().synchronize();
  }

  /// A call whose tensors stay in the library's memory.
  struct Resident {
    Resident(const MemorySpace& space, const Problem& problem) : mirror(space), problem(problem, space) {}
    Mirror mirror;
    AbiProblem problem;
    std::optional<Scratch> scratch;
    gdr2_inputs in{};
    gdr2_outputs out{};
    gdr2_cotangents dy{};
    gdr2_gradients d{};
  };

  TimedCall do_prepare_timing(const Problem& problem, const Tensors& inputs, Pass pass) const override {
    const bool both = pass == Pass::kForwardBackward;
    const auto capability =
        query(problem, both ? GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD : GDR2_PASS_FORWARD);
    const auto r = std::make_shared<Resident>(space(), problem);
    const bool with_saved = both && intermediates_ == Intermediates::kSaved;
    r->scratch.emplace(scratch(capability, with_saved));
    const auto outputs = allocated(problem, output_names(problem));
    const auto gradients = allocated(problem, both ? gradient_names(problem) : std::vector<Name>());
    r->in = inputs_of(r->mirror, inputs);
    r->out = outputs_of(r->mirror, outputs);
    r->dy = {mirrored(r->mirror, inputs, Name::do_), mirrored(r->mirror, inputs, Name::dht)};
    r->d = gradients_of(r->mirror, gradients);
    const auto call = [this, r, both] {
      auto& workspace = r->scratch->abi;
      must(table().forward(r->problem.get(), &r->in, &r->out, &workspace), "forward", workspace.error);
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
    const auto in = inputs_of(mirror, inputs);
    const auto capability = query(problem, GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD);
    auto s = scratch(capability, intermediates_ == Intermediates::kSaved);
    Tensors outputs;  // of the forward that fills the saved buffer
    if (s.abi.saved) {
      outputs = allocated(problem, output_names(problem));
      call_forward(problem, in, outputs_of(mirror, outputs), s.abi);
    }
    const gdr2_cotangents dy{mirrored(mirror, inputs, Name::do_),
                             mirrored(mirror, inputs, Name::dht)};
    const auto d = gradients_of(mirror, gradients);
    const AbiProblem abi(problem, space());
    must(table().backward(abi.get(), &in, &dy, &d, &s.abi), "backward", s.abi.error);
    space().synchronize();
    mirror.download();
  }

  Intermediates intermediates_;
};

class AbiDecodeKernel : public AbiKernel {
 public:
  AbiDecodeKernel(const gdr2_kernel* table, std::string name, std::string description)
      : AbiKernel(table, std::move(name), std::move(description)) {
    if (!table->decode) fail("kernel {}: it has no decode function", this->name());
  }

 private:
  std::optional<std::string> do_unsupported(const Problem& problem) const override {
    if (problem.backward) return "decoding has no backward";
    if (!problem.lens.empty()) return "decoding takes rows of equal length";
    return refusal(problem, GDR2_PASS_DECODE);
  }

  Contract do_contract(const Problem& problem) const override {
    return contract_of(query(problem, GDR2_PASS_DECODE).contract);
  }

  /// Every second slot of the pool is used, last row first.
  static std::int64_t slot_of(const Problem& problem, std::int64_t row) {
    return 2 * (problem.B - 1 - row) + 1;
  }

  static Tensor make_pool(const Problem& problem, const Tensors& inputs) {
    auto shape = shape_of(problem, Name::ht);
    const auto state = element_count(shape) / problem.B;
    shape[0] = 2 * problem.B + 1;
    Tensor pool(problem.state_dtype(), shape);
    pool.fill_storage(std::byte{0xFF});
    for (std::int64_t row = 0; row < problem.B; ++row)
      for (std::int64_t i = 0; i < state; ++i)
        pool.set(slot_of(problem, row) * state + i,
                 problem.h0 ? inputs.at(Name::h0).get(row * state + i) : 0.0);
    return pool;
  }

  /// ht from the used slots; throws when an unused one has changed.
  static void read_pool(const Problem& problem, const Tensor& pool, const Tensor& before,
                        Tensors& outputs) {
    const auto state = pool.size() / (2 * problem.B + 1);
    const auto bytes = std::size_t(state) * size_of(pool.dtype());
    for (std::int64_t slot = 0; slot <= 2 * problem.B; slot += 2)
      if (std::memcmp(pool.data() + slot * bytes, before.data() + slot * bytes, bytes))
        fail("decode: slot {} of the pool was written, and no row continues it", slot);
    const auto ht = outputs.find(Name::ht);
    if (ht == outputs.end()) return;
    for (std::int64_t row = 0; row < problem.B; ++row)
      for (std::int64_t i = 0; i < state; ++i)
        ht->second.set(row * state + i, pool.get(slot_of(problem, row) * state + i));
  }

  static std::vector<std::int32_t> slots_of(const Problem& problem) {
    std::vector<std::int32_t> slots(problem.B);
    for (std::int64_t row = 0; row < problem.B; ++row) slots[row] = std::int32_t(slot_of(problem, row));
    return slots;
  }

  /// The call, with the rows' slots uploaded to `device_slots`.
  gdr2_decode call_of(Mirror& mirror, const Tensors& inputs, const Tensors& outputs, const Tensor& pool,
                      const std::vector<std::int32_t>& slots, const SpaceBuffer& device_slots) const {
    space().upload(device_slots.get(), slots.data(), slots.size() * sizeof slots[0]);
    const auto get = [&](Name name) { return mirrored(mirror, inputs, name); };
    return {get(Name::q), get(Name::k), get(Name::v), get(Name::g), get(Name::b), get(Name::w),
            get(Name::A_log), get(Name::dt_bias), mirrored(mirror, outputs, Name::o), mirror.add(pool),
            reinterpret_cast<const std::int32_t*>(device_slots.get()), pool.shape()[0]};
  }

  void decode(const Problem& problem, const Tensors& inputs, const Tensors& outputs, const Tensor& pool,
              const std::vector<std::int32_t>& slots) const {
    Mirror mirror(space());
    const SpaceBuffer device_slots(space(), slots.size() * sizeof slots[0]);
    const auto call = call_of(mirror, inputs, outputs, pool, slots, device_slots);
    const AbiProblem abi(problem, space());
    auto s = scratch(query(problem, GDR2_PASS_DECODE), false);
    must(table().decode(abi.get(), &call, &s.abi), "decode", s.abi.error);
    space().synchronize();
    mirror.download();
  }

  void do_forward(const Problem& problem, const Tensors& inputs, Tensors& outputs) const override {
    const auto pool = make_pool(problem, inputs), before = pool.clone();
    decode(problem, inputs, outputs, pool, slots_of(problem));
    read_pool(problem, pool, before, outputs);
    const auto rows = between_padding(problem, inputs, slots_of(problem));
    if (refusal(rows.problem, GDR2_PASS_DECODE)) return;
    const auto again = before.clone();
    decode(rows.problem, rows.inputs, rows.outputs, again, rows.slots);
    if (std::memcmp(again.data(), pool.data(), std::size_t(pool.size()) * size_of(pool.dtype())))
      throw KernelFault(KernelFault::Kind::kWrong, "decode: rows of padding change what becomes of the states");
    check_between_padding(rows, outputs);
  }

  struct Resident {
    Resident(const MemorySpace& space, const Problem& problem)
        : mirror(space), problem(problem, space), slots(space, problem.B * sizeof(std::int32_t)) {}
    Mirror mirror;
    AbiProblem problem;
    SpaceBuffer slots;
    std::optional<Scratch> scratch;
    gdr2_decode call{};
  };

  TimedCall do_prepare_timing(const Problem& problem, const Tensors& inputs, Pass pass) const override {
    if (pass != Pass::kForward) fail("decode: no backward");
    const auto capability = query(problem, GDR2_PASS_DECODE);
    const auto r = std::make_shared<Resident>(space(), problem);
    const auto pool = make_pool(problem, inputs);
    const auto outputs = allocated(problem, {Name::o});
    r->scratch.emplace(scratch(capability, false));
    r->call = call_of(r->mirror, inputs, outputs, pool, slots_of(problem), r->slots);
    const auto call = [this, r] {
      must(table().decode(r->problem.get(), &r->call, &r->scratch->abi), "decode", r->scratch->abi.error);
    };
    return timed(call, double(capability.workspace_bytes) + bytes_of(outputs));
  }

  void do_backward(const Problem&, const Tensors&, Tensors&) const override {
    fail("decode: no backward");
  }
};

}  // namespace

std::unique_ptr<Kernel> make_abi_chunk_kernel(const gdr2_kernel* table, std::string name,
                                              std::string description,
                                              Intermediates intermediates) {
  return std::make_unique<AbiChunkKernel>(table, std::move(name), std::move(description),
                                          intermediates);
}

std::unique_ptr<Kernel> make_abi_decode_kernel(const gdr2_kernel* table, std::string name,
                                               std::string description) {
  return std::make_unique<AbiDecodeKernel>(table, std::move(name), std::move(description));
}

}  // namespace gdr2
