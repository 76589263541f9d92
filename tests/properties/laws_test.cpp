// SPDX-License-Identifier: Apache-2.0
// Every law holds for the CPU kernels in every dtype, and each can fail: a kernel with the fault that
// the law is about is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "properties/laws/continuation.hpp"
#include "properties/laws/law.hpp"
#include "reference/error.hpp"
#include "tests/properties/tampered_kernel.hpp"

namespace gdr2 {
namespace {

const char* const kCases[] = {
    "T=70 H=2 HV=4 K=8 V=6 h0=1 loss=o",
    "B=3 T=20 H=2 K=8 V=6 h0=1 recipe=slow",
    "lens=0,5,0,64,1,17,0 H=2 K=8 V=6 h0=1 recipe=forget",
    "lens=66,1,3 K=8 V=6 h0=1 layout=vk l2norm=1 gate=softplus neg_eigval=1",
};

class EveryDtype : public testing::TestWithParam<const char*> {};

TEST_P(EveryDtype, CpuKernelsObeyEveryLawWithoutAReference) {
  for (const char* kernel : {"cpu.chunk", "cpu.recurrent"})
    for (const char* line : kCases)
      for (const auto& law : all_laws()) {
        if (law.kind == Law::Kind::kMargin) continue;
        const auto c = parse_case(fmt::format("{} dtype={}", line, GetParam()));
        const auto verdict = law.check(find_kernel(kernel), c);
        EXPECT_TRUE(verdict.state == State::kPassed || verdict.state == State::kSkipped)
            << law.name << " " << kernel << " " << to_string(c) << ": " << verdict.reason;
      }
}

/// One-hot keys, gates in {0, 1}, decays in {0, -inf}, small integers; few enough for the bits of bf16.
TEST_P(EveryDtype, ATableIsLookedUpWithoutAnyError) {
  for (const std::string line :
       {"T=20 H=2 K=8 V=6 h0=1", "lens=0,18,1 K=8 V=6 h0=1 layout=vk", "T=66 K=16 V=6 h0=1"}) {
    const auto c = parse_case(fmt::format("{} scale=1 recipe=onehot dtype={}", line, GetParam()));
    const laws::Call call{c.problem, make_inputs(c)};
    const auto truth = reference(c.problem, to_values<double>(call.inputs));
    for (const char* kernel : {"cpu.chunk", "cpu.recurrent"})
      for (const auto& [name, tensor] : laws::run(find_kernel(kernel), call))
        EXPECT_EQ(tensor.to_doubles(), truth.at(name))
            << kernel << " " << to_string(c) << " " << to_string(name);
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, EveryDtype,
                         testing::Values("fp64", "fp32", "tf32", "bf16", "fp16"),
                         [](const auto& info) { return std::string(info.param); });

/// Smaller: a margin costs an envelope.
const char* const kMarginCases[] = {
    "T=18 H=1 HV=2 K=8 V=6 h0=1 loss=o",
    "lens=0,2,66 K=8 V=6 h0=1 recipe=forget dtype=fp32",
    "lens=18,1 K=8 V=6 h0=1 layout=vk l2norm=1 gate=softplus neg_eigval=1 dtype=fp32",
    "lens=18,1 K=8 V=6 h0=1 l2norm=1 gate=lower_bound recipe=slow",
    "T=18 H=2 K=8 V=6 h0=1 dtype=tf32",
    "lens=17,1 K=8 V=6 h0=1 dtype=fp16 gate=softplus",
    "T=17 K=4 V=4 h0=1 dtype=fp64",
};

TEST(MarginLaws, CpuKernelsObeyThem) {
  for (const char* kernel : {"cpu.chunk", "cpu.recurrent"})
    for (const char* line : kMarginCases)
      for (const auto& law : all_laws()) {
        if (law.kind != Law::Kind::kMargin) continue;
        const auto verdict = law.check(find_kernel(kernel), parse_case(line));
        EXPECT_TRUE(verdict.state == State::kPassed || verdict.state == State::kSkipped)
            << law.name << " " << kernel << " " << line << ": " << verdict.reason;
      }
}

TEST(Laws, EachIsTriedByAtLeastOneCase) {
  for (const auto& law : all_laws()) {
    std::span<const char* const> lines = kCases;
    if (law.kind == Law::Kind::kMargin) lines = kMarginCases;
    int tried = 0;
    for (const char* line : lines)
      if (!tried)
        tried = law.check(find_kernel("cpu.chunk"), parse_case(line)).state == State::kPassed;
    EXPECT_GT(tried, 0) << law.name;
  }
}

TEST(Laws, ASequenceResumedAtEveryTokenIsTheWhole) {
  const auto c = parse_case("T=67 K=4 V=3 h0=1 dtype=fp64 recipe=slow");
  const laws::Call call{c.problem, make_inputs(c)};
  const auto& kernel = find_kernel("cpu.chunk");
  const auto whole = laws::run(kernel, call);
  for (std::int64_t t = 1; t < c.problem.T; ++t)
    for (const auto& [name, values] : laws::resume(kernel, call, t).results())
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(values[i], whole.at(name).get(std::int64_t(i)), 1e-11)
            << "t=" << t << " " << to_string(name) << " " << i;
}

/// A fault, the law that must see it, and a case.
struct Planted {
  const char* law;
  const char* line;
  TamperedKernel::Tamper fault;
};

void add_to(Tensor& t, double x) {
  for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, t.get(i) + x);
}

/// o gets something from the last token's value of an input.
TamperedKernel::Tamper leak(Name from, Name to) {
  return [=](const Problem&, Tensors& inputs, Tensors& results) {
    const auto result = results.find(to);
    const auto input = inputs.find(from);
    if (result == results.end() || input->second.empty()) return;
    add_to(result->second, input->second.get(input->second.size() - 1));
  };
}

TamperedKernel::Tamper constant(Name to) {
  return [=](const Problem&, Tensors&, Tensors& results) {
    if (const auto found = results.find(to); found != results.end()) add_to(found->second, 1);
  };
}

/// A fault that only problems of a kind show.
TamperedKernel::Tamper where(bool (*kind)(const Problem&), Name to) {
  return [=](const Problem& p, Tensors&, Tensors& results) {
    if (const auto found = results.find(to); kind(p) && found != results.end())
      add_to(found->second, 1);
  };
}

std::vector<Planted> planted() {
  const char* packed = kCases[2];
  const char *shared = kMarginCases[0], *options = kMarginCases[2];
  return {
      {"query_balance", kCases[0], constant(Name::dq)},
      {"write_balance", kCases[0], constant(Name::dw)},
      {"linearity_balance", kCases[1], constant(Name::dv)},
      {"decay_balance", kCases[1], constant(Name::dg)},
      {"norm_balance", kCases[3], constant(Name::dq)},
      {"value_permutation", shared,
       [](const Problem&, Tensors&, Tensors& out) {
         if (out.contains(Name::o)) out.at(Name::o).set(0, 9);
       }},
      {"shared_heads_gradients", shared,
       where([](const Problem& p) { return p.group() > 1; }, Name::dk)},
      {"state_layout", kCases[3],
       where([](const Problem& p) { return p.layout == StateLayout::kVK; }, Name::ht)},
      {"default_scale", kCases[0],
       where([](const Problem& p) { return !p.scale.has_value(); }, Name::o)},
      {"doubled_b", kCases[3], where([](const Problem& p) { return p.neg_eigval; }, Name::dk)},
      {"gate_outside", options,
       where([](const Problem& p) { return p.gate != Gate::kLog; }, Name::o)},
      {"norm_outside", options, where([](const Problem& p) { return p.l2norm; }, Name::o)},
      {"split_and_resumed", shared, where([](const Problem& p) { return p.T == 18; }, Name::dk)},
      {"token_by_token", shared, constant(Name::o)},
      {"superposition", shared, constant(Name::o)},
      {"look_up", shared, constant(Name::dv)},
      {"powers_of_two", shared, constant(Name::ht)},
      {"serving", shared, where([](const Problem& p) { return p.T == 1; }, Name::ht)},
      {"kimi_delta_attention", shared, constant(Name::db)},
      {"gated_deltanet", shared, constant(Name::dg)},
      {"deltanet", shared, constant(Name::dh0)},
      {"linear_attention", shared, constant(Name::dw)},
      {"channel_scaling", kCases[0], leak(Name::k, Name::o)},
      {"channel_sign", "T=20 K=8 V=6 h0=1",
       [](const Problem&, Tensors& in, Tensors& out) {
         if (out.contains(Name::o)) add_to(out.at(Name::o), in.at(Name::q).get(1));
       }},
      {"value_scaling", kCases[0], constant(Name::ht)},
      {"query_scaling", kCases[0], constant(Name::o)},
      {"scale_by_two", kCases[0], constant(Name::o)},
      {"causality", kCases[0], leak(Name::g, Name::o)},
      {"no_gradient_from_later", kCases[0], constant(Name::dk)},
      {"sequence_alone", packed, leak(Name::v, Name::o)},
      {"sequence_order", packed, leak(Name::v, Name::o)},
      {"poisoned_neighbours", packed, leak(Name::v, Name::o)},
      {"empty_sequences", packed, constant(Name::ht)},
      {"head_permutation", kCases[0],
       [](const Problem& p, Tensors&, Tensors& out) {
         if (out.contains(Name::o))
           for (std::int64_t i = 0; i < p.V; ++i) out.at(Name::o).set(i, 1);
       }},
      {"none_is_zeros", kCases[0],
       [](const Problem& p, Tensors&, Tensors& out) {
         if (p.h0 && out.contains(Name::o)) add_to(out.at(Name::o), 1);
       }},
      {"unasked_final_state", kCases[0],
       [](const Problem& p, Tensors&, Tensors& out) {
         if (!p.ht && out.contains(Name::o)) add_to(out.at(Name::o), 1);
       }},
      {"strided_views", kCases[0],
       [](const Problem& p, Tensors&, Tensors& out) {
         if (p.view == View::kPadded && out.contains(Name::o)) add_to(out.at(Name::o), 1);
       }},
      {"shared_heads_repeated", kCases[0],
       [](const Problem& p, Tensors&, Tensors& out) {
         if (p.group() > 1 && out.contains(Name::o)) add_to(out.at(Name::o), 1);
       }},
      {"repeatable", kCases[0],
       [calls = std::make_shared<int>(0)](const Problem&, Tensors&, Tensors& out) {
         if (++*calls == 21 && out.contains(Name::o)) add_to(out.at(Name::o), 1);
         if (++*calls >= 22 && out.contains(Name::dq)) add_to(out.at(Name::dq), 1);
       }},
      {"neutral_tokens", "T=20 K=8 V=6 h0=1",
       [](const Problem& p, Tensors&, Tensors& out) {
         if (p.T > 64 && out.contains(Name::ht)) add_to(out.at(Name::ht), 1);
       }},
  };
}

TEST(Laws, EachFindsAKernelThatBreaksIt) {
  std::vector<std::string> tried;
  for (const auto& [law, line, fault] : planted()) {
    const auto verdict = find_law(law).check(TamperedKernel(fault), parse_case(line));
    EXPECT_EQ(verdict.state, State::kFailed) << law << ": " << verdict.reason;
    tried.push_back(law);
  }
  for (const auto& law : all_laws()) EXPECT_THAT(tried, testing::Contains(law.name));
}

}  // namespace
}  // namespace gdr2
