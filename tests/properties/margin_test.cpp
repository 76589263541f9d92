// SPDX-License-Identifier: Apache-2.0
// Before a law condemns a kernel for rounding, other members of the ensemble are asked, as the judge asks
// them: right kernels that the first look accuses are cleared, and kernels with a fault are not.
#include "properties/laws/margin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/case.hpp"
#include "properties/laws/law.hpp"
#include "reference/scattered.hpp"
#include "tests/properties/emulated_kernel.hpp"
#include "tests/properties/tampered_kernel.hpp"

namespace gdr2 {
namespace {

/// Two roundings to tf32 make up one element of dv and dw; in all 16 members they cancel.
constexpr const char* kUnlucky =
    "B=2 T=61 H=2 K=16 V=16 dtype=tf32 h0=1 view=padded recipe=edge_5.545 seed=217";

/// One-hot keys write equal values that cancel; the scale is not exact, so each of them rounds.
constexpr const char* kCancelling =
    "H=2 K=32 V=32 lens=45,12 dtype=fp16 h0=1 loss=o view=padded recipe=onehot seed=30000008";

/// Whether an operand rounds depends on the blocks of rows that decays are split at.
constexpr const char* kSplit =
    "H=2 K=24 V=48 lens=22,26 dtype=tf32 h0=1 ht=0 loss=ht layout=vk gate=lower_bound l2norm=1 "
    "neg_eigval=1 recipe=onehot seed=20000035";

State holds(const char* law, const Kernel& kernel, const char* line) {
  return find_law(law).check(kernel, parse_case(line)).state;
}

/// The contract's arithmetic, in which equal values round each by itself.
TamperedKernel scattered() {
  return TamperedKernel([](Problem p, Tensors& inputs, Tensors& results) {
    p.backward = results.contains(Name::dq);
    for (const auto& [name, x] : emulate_scattered(p, to_values<double>(inputs), standard_contract(p.dtype), 1001))
      if (const auto found = results.find(name); found != results.end()) found->second.assign(x);
  });
}

DowngradedKernel with_blocks_of_16_for_8() {
  auto blocks_of_8 = standard_contract(Format::kTF32), blocks_of_16 = blocks_of_8;
  blocks_of_8.direct_rows = 0, blocks_of_16.direct_rows = 16;
  return {blocks_of_8, blocks_of_16};
}

/// What the kernel makes of a case, its margin, and the truth.
struct Measured {
  Tensors got;
  laws::Margin margin;
  Values<double> truth;

  Measured(const Kernel& kernel, const char* line) : Measured(kernel, parse_case(line)) {}
  Measured(const Kernel& kernel, const Case& c)
      : got(laws::run(kernel, {c.problem, make_inputs(c)})), margin(kernel, {c.problem, make_inputs(c)}) {
    for (const auto& [name, tensor] : got) truth[name] = margin.truth(name);
  }
};

TEST(Margin, ClearsRightKernelsThatTheFirstLookAccuses) {
  const Measured unlucky(find_kernel("cpu.chunk"), kUnlucky), cancelling(scattered(), kCancelling),
      split(with_blocks_of_16_for_8(), kSplit);
  for (const auto* m : {&unlucky, &cancelling, &split}) {
    EXPECT_FALSE(m->margin.near(m->got, m->truth)) << "the case shows nothing";
    EXPECT_EQ(m->margin.beyond(m->got, m->truth), std::nullopt);
  }
}

TEST(Margin, OfTheSecondLookIsNeverLess) {
  const Measured m(find_kernel("cpu.chunk"), kUnlucky);
  const auto first = m.margin.sigma(Look::kFirst), second = m.margin.sigma(Look::kSecond);
  for (const auto& [name, sigma] : first)
    for (std::size_t i = 0; i < sigma.size(); ++i) ASSERT_GE(second.at(name)[i], sigma[i]) << to_string(name);
}

TEST(Margin, CondemnsOneElementJustOverWhatBothLooksAllow) {
  Measured m(find_kernel("cpu.chunk"), "T=20 H=2 K=16 V=16 dtype=tf32 h0=1");
  const auto limit = m.margin.looked_at_again().allowed(Name::dv, 100);
  for (const double times : {0.99, 1.001}) {
    auto& dv = m.got.at(Name::dv);
    dv.set(100, m.truth.at(Name::dv)[100] + times * limit);
    EXPECT_EQ(m.margin.beyond(m.got, m.truth).has_value(), times > 1);
  }
}

TEST(Margin, CondemnsNaNAndInexactResultsOfExactData) {
  Measured m(find_kernel("cpu.chunk"), "T=20 H=2 K=16 V=16 h0=1 scale=1 recipe=onehot");
  EXPECT_EQ(m.margin.beyond(m.got, m.truth), std::nullopt);
  for (const double x : {m.truth.at(Name::o)[7] + 0x1p-6, double(NAN)}) {
    m.got.at(Name::o).set(7, x);
    EXPECT_TRUE(m.margin.beyond(m.got, m.truth).has_value()) << x;
  }
}

TEST(Margin, OfSumsOfRunsIsAskedAgainOfEachRun) {
  EXPECT_EQ(holds("token_by_token", find_kernel("cpu.chunk"), kUnlucky), State::kPassed);
  EXPECT_EQ(holds("linear_attention", find_kernel("cpu.chunk"), kUnlucky), State::kPassed);
  for (const char* law : {"token_by_token", "split_and_resumed", "serving"})
    EXPECT_EQ(holds(law, with_blocks_of_16_for_8(), kSplit), State::kPassed) << law;
  for (const char* law : {"token_by_token", "split_and_resumed"})
    EXPECT_EQ(holds(law, scattered(), kCancelling), State::kPassed) << law;
}

}  // namespace
}  // namespace gdr2
