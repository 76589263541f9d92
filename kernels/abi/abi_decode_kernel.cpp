// SPDX-License-Identifier: Apache-2.0
// The decode entry point as a forward kernel over a pool of slots.
#include <cstring>

#include "kernels/abi/abi_kernel.hpp"
#include "kernels/abi/decode_padding.hpp"
#include "kernels/abi/library_kernel.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

class AbiDecodeKernel : public LibraryKernel {
 public:
  AbiDecodeKernel(const gdr2_kernel* table, std::string name, std::string description)
      : LibraryKernel(table, std::move(name), std::move(description)) {
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
    for (std::int64_t row = 0; row < problem.B; ++row)
      slots[row] = std::int32_t(slot_of(problem, row));
    return slots;
  }

  struct Pool {
    gdr2_tensor states;
    std::int64_t slots;
  };

  /// The call, with the rows' slots uploaded to `device_slots`.
  gdr2_decode call_of(const Describe& get, const gdr2_tensor& o, const Pool& pool,
                      const std::vector<std::int32_t>& slots,
                      const SpaceBuffer& device_slots) const {
    space().upload(device_slots.get(), slots.data(), slots.size() * sizeof slots[0]);
    return {get(Name::q),
            get(Name::k),
            get(Name::v),
            get(Name::g),
            get(Name::b),
            get(Name::w),
            get(Name::A_log),
            get(Name::dt_bias),
            o,
            pool.states,
            reinterpret_cast<const std::int32_t*>(device_slots.get()),
            pool.slots};
  }

  void decode(const Problem& problem, const Describe& get, const gdr2_tensor& o, const Pool& pool,
              const std::vector<std::int32_t>& slots) const {
    const SpaceBuffer device_slots(space(), slots.size() * sizeof slots[0]);
    const auto call = call_of(get, o, pool, slots, device_slots);
    const AbiProblem abi(problem, space());
    auto s = scratch(query(problem, GDR2_PASS_DECODE), false);
    must(table().decode(abi.get(), &call, &s.abi), "decode", s.abi.error);
    space().synchronize();
  }

  void decode(const Problem& problem, const Tensors& inputs, const Tensors& outputs,
              const Tensor& pool, const std::vector<std::int32_t>& slots) const {
    Mirror mirror(space());
    decode(problem, mirroring(mirror, inputs), mirroring(mirror, outputs)(Name::o),
           {mirror.add(pool), pool.shape()[0]}, slots);
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
      throw KernelFault(KernelFault::Kind::kWrong,
                        "decode: rows of padding change what becomes of the states");
    check_between_padding(rows, outputs);
  }

  void do_forward_in_place(const Problem& problem, const Arrays& inputs,
                           const Arrays& outputs) const override {
    if (!is_resident()) return LibraryKernel::do_forward_in_place(problem, inputs, outputs);
    auto shape = shape_of(problem, Name::ht);
    shape[0] = 2 * problem.B + 1;
    const Array pool(space(), problem.state_dtype(), shape);
    const auto used = pool.part(0, slot_of(problem, 0), problem.B, -2);
    if (problem.h0)
      assign(used, inputs.at(Name::h0));
    else
      fill(used, 0);
    decode(problem, in_place(inputs), described(outputs.at(Name::o)), {described(pool), shape[0]},
           slots_of(problem));
    if (const auto ht = outputs.find(Name::ht); ht != outputs.end()) assign(ht->second, used);
    const auto unused = pool.part(0, 0, problem.B + 1, 2);
    if (const auto written = compare(unused, Array(space(), problem.state_dtype(), unused.shape())))
      fail("decode: slot {} of the pool was written, and no row continues it",
           2 * (written->first * (problem.B + 1) / unused.size()));
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

  TimedCall do_prepare_timing(const Problem& problem, const Tensors& inputs,
                              Pass pass) const override {
    if (pass != Pass::kForward) fail("decode: no backward");
    const auto capability = query(problem, GDR2_PASS_DECODE);
    const auto r = std::make_shared<Resident>(space(), problem);
    const auto pool = make_pool(problem, inputs);
    const auto outputs = allocated(problem, {Name::o});
    r->scratch.emplace(scratch(capability, false));
    r->call = call_of(mirroring(r->mirror, inputs), mirroring(r->mirror, outputs)(Name::o),
                      {r->mirror.add(pool), pool.shape()[0]}, slots_of(problem), r->slots);
    const auto call = [this, r] {
      must(table().decode(r->problem.get(), &r->call, &r->scratch->abi), "decode",
           r->scratch->abi.error);
    };
    return timed(call, double(capability.workspace_bytes) + bytes_of(outputs));
  }

  void do_backward(const Problem&, const Tensors&, Tensors&) const override {
    fail("decode: no backward");
  }
};

}  // namespace

std::unique_ptr<Kernel> make_abi_decode_kernel(const gdr2_kernel* table, std::string name,
                                               std::string description) {
  return std::make_unique<AbiDecodeKernel>(table, std::move(name), std::move(description));
}

}  // namespace gdr2
