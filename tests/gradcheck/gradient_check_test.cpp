// SPDX-License-Identifier: Apache-2.0
// The gradients of the CPU kernels against dual numbers, and wrong ones found and named.
#include "gradcheck/gradient_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/case.hpp"
#include "fixtures/case_set.hpp"
#include "properties/judge/envelope.hpp"
#include "properties/judge/tolerances.hpp"
#include "tests/properties/tampered_kernel.hpp"

namespace gdr2 {
namespace {

Verdict gradcheck(const Kernel& kernel, const Problem& problem, const Tensors& inputs,
                  const Values<double>& wanted) {
  const auto contract = kernel.contract(problem);
  return compare_gradients(problem, run_backward_of(kernel, problem, inputs), wanted,
                           make_envelope(problem, inputs, contract).sigma,
                           tolerance::z_of(contract, Name::o));
}

TEST(GradientCheck, CpuKernelsPassTheSet) {
  for (const auto& c : load_set("gradcheck")) {
    const auto inputs = make_inputs(c);
    const auto wanted = dual_gradients(c.problem, inputs);
    for (const char* kernel : {"cpu.chunk", "cpu.recurrent"}) {
      const auto verdict = gradcheck(find_kernel(kernel), c.problem, inputs, wanted);
      EXPECT_EQ(verdict.state, State::kPassed) << to_string(c) << ": " << verdict.reason;
    }
  }
}

TEST(GradientCheck, AgreesWithTheAdjointInDouble) {
  const auto c = parse_case("T=12 H=2 HV=4 K=6 V=5 h0=1 gate=softplus l2norm=1 ht=0 dtype=fp32");
  const auto inputs = make_inputs(c);
  const auto truth = reference(c.problem, to_values<double>(inputs));
  for (const auto& [name, gradient] : dual_gradients(c.problem, inputs))
    for (std::size_t i = 0; i < gradient.size(); ++i)
      ASSERT_NEAR(gradient[i], truth.at(name)[i], 1e-11 * (1 + std::fabs(gradient[i])))
          << to_string(name) << " " << i;
}

TEST(GradientCheck, AWrongGradientIsNamedByItsInputAndIndex) {
  const auto c = parse_case("T=12 H=2 K=6 V=5 h0=1 gate=softplus");
  const auto inputs = make_inputs(c);
  const auto wanted = dual_gradients(c.problem, inputs);
  for (const auto name : gradient_names(c.problem)) {
    const TamperedKernel wrong([=](const Problem&, Tensors&, Tensors& results) {
      if (const auto found = results.find(name); found != results.end())
        found->second.set(1, found->second.get(1) * 1.5 + 0.5);
    });
    const auto verdict = gradcheck(wrong, c.problem, inputs, wanted);
    EXPECT_EQ(verdict.state, State::kFailed) << to_string(name);
    EXPECT_THAT(verdict.reason,
                testing::HasSubstr(fmt::format("gradient of {} at {}", to_string(name).substr(1),
                                               element_name(c.problem, name, 1))));
  }
}

}  // namespace
}  // namespace gdr2
