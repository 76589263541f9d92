// SPDX-License-Identifier: Apache-2.0
// Laws on arrays that stay in the memory of a kernel library: the CUDA kernels as a library over host memory.
// They hold, they work on the library's memory and not on copies, and a fault of the library is found and named.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kernels/abi/abi_kernel.hpp"
#include "kernels/settings.hpp"
#include "properties/laws/law.hpp"
#include "properties/laws/law_run.hpp"
#include "properties/laws/placed_call.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

const gdr2_kernel& right() {
  static const gdr2_kernel* const table = [] {
    void* library = dlopen(GDR2_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail("{}", dlerror());
    return reinterpret_cast<const gdr2_kernel* (*)()>(dlsym(library, "gdr2_kernel_v1"))();
  }();
  return *table;
}

/// What is done to a call's outputs once they are right; a library has functions and no state but this.
using Spoil = std::function<void(const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs&)>;
Spoil spoil;

gdr2_status spoiled_forward(const gdr2_problem* problem, const gdr2_inputs* in,
                            const gdr2_outputs* out, gdr2_workspace* workspace) {
  const auto status = right().forward(problem, in, out, workspace);
  if (spoil) spoil(*problem, *in, *out);
  return status;
}

class ResidentLaws : public testing::Test {
 protected:
  ResidentLaws() : table_(right()) {
    spoil = nullptr;
    configure_kernels({.resident = true});
    table_.forward = spoiled_forward;
    kernel_ = make_abi_chunk_kernel(&table_, "spoiled", "the right library with a fault",
                                    Intermediates::kSaved);
  }
  ~ResidentLaws() override { configure_kernels({}); }

  Verdict check(const char* law, const char* line) const {
    return find_law(law).check(*kernel_, parse_case(line));
  }

  gdr2_kernel table_;
  std::unique_ptr<Kernel> kernel_;
};

constexpr const char* kPlain = "T=9 H=2 HV=4 K=8 V=8 h0=1 loss=o dtype=fp32";
constexpr const char* kPacked = "lens=3,0,4 H=1 K=8 V=8 h0=1 layout=vk neg_eigval=1 dtype=bf16";

TEST_F(ResidentLaws, ARightLibraryObeysThem) {
  for (const char* line : {kPlain, kPacked})
    for (const auto& law : all_laws()) {
      if (law.kind != Law::Kind::kBits || law.name == "repeatable") continue;
      const auto verdict = law.check(*kernel_, parse_case(line));
      EXPECT_TRUE(verdict.state == State::kPassed || verdict.state == State::kSkipped)
          << law.name << ": " << verdict.reason;
    }
}

TEST_F(ResidentLaws, TheLibraryGetsTheArraysThemselves) {
  const auto call = laws::placed_call(*kernel_, parse_case("T=2 K=8 V=8 pass=fwd dtype=fp32"));
  std::vector<const void*> q, o;
  spoil = [&](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
    q.push_back(in.q.data), o.push_back(out.o.data);
  };
  const auto results = laws::run(*kernel_, call);
  EXPECT_THAT(q, testing::ElementsAre(call.inputs.at(Name::q).data()));
  EXPECT_THAT(o, testing::ElementsAre(results.at(Name::o).data()));
}

TEST_F(ResidentLaws, ResultsAreThoseOfACallThroughTheHost) {
  const auto c = parse_case(kPlain);
  const auto resident = laws::run(*kernel_, laws::placed_call(*kernel_, c));
  const auto through_host = laws::run(*kernel_, laws::Call{c.problem, make_inputs(c)});
  ASSERT_EQ(resident.size(), through_host.size());
  for (const auto& [name, array] : resident)
    EXPECT_EQ(array.as_tensor().to_doubles(), through_host.at(name).to_doubles())
        << to_string(name);
}

TEST_F(ResidentLaws, WithoutTheSettingArraysAreInHostMemoryAndTravel) {
  configure_kernels({});
  const void* q = nullptr;
  spoil = [&](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs&) { q = in.q.data; };
  const auto call = laws::placed_call(*kernel_, parse_case("T=2 K=8 V=8 pass=fwd dtype=fp32"));
  laws::run(*kernel_, call);
  EXPECT_NE(q, call.inputs.at(Name::q).data());
}

float& element(const gdr2_tensor& t, std::int64_t b, std::int64_t token, std::int64_t head,
               std::int64_t channel) {
  return static_cast<float*>(
      t.data)[b * t.stride[0] + token * t.stride[1] + head * t.stride[2] + channel * t.stride[3]];
}

TEST_F(ResidentLaws, OneElementThatDiffersIsFoundAndNamed) {
  int calls = 0;
  spoil = [&](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
    if (++calls == 2) element(out.o, 0, 5, 1, 3) = 0.75F;
  };
  const auto verdict = check("repeatable", "T=9 H=2 K=8 V=8 pass=fwd dtype=fp32");
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_THAT(verdict.reason,
              testing::StartsWith("call 2: o b=0 t=5 h=1 c=3: 0x1.8p-1, expected "));
  EXPECT_THAT(verdict.reason, testing::Not(testing::HasSubstr("differ")));
}

TEST_F(ResidentLaws, AllThatDiffersIsCounted) {
  int calls = 0;
  spoil = [&](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
    if (++calls == 2)
      for (int token = 3; token < 9; ++token) element(out.o, 0, token, 1, 3) = 0.75F;
  };
  const auto verdict = check("repeatable", "T=9 H=2 K=8 V=8 pass=fwd dtype=fp32");
  EXPECT_THAT(verdict.reason, testing::AllOf(testing::HasSubstr("o b=0 t=3 h=1 c=3"),
                                             testing::EndsWith("; 6 of 144 differ")));
}

struct Fault {
  const char *law, *line, *place;
  Spoil spoil;
};

TEST_F(ResidentLaws, EachFindsTheFaultThatItIsAboutAndItsPlace) {
  const Fault faults[] = {
      {"causality", "T=12 K=8 V=8 dtype=fp32", "o b=0 t=2 h=0 c=1",
       [](const gdr2_problem& p, const gdr2_inputs& in, const gdr2_outputs& out) {
         element(out.o, 0, 2, 0, 1) += element(in.v, 0, p.T - 1, 0, 0);
       }},
      {"sequence_alone", "B=2 T=3 K=8 V=8 dtype=fp32", "sequence 1 alone: o b=0 t=0 h=0 c=0",
       [](const gdr2_problem& p, const gdr2_inputs& in, const gdr2_outputs& out) {
         element(out.o, p.B - 1, 0, 0, 0) += p.B > 1 ? element(in.v, 0, 0, 0, 0) : 0;
       }},
      {"sequence_order", "lens=3,2 K=8 V=8 dtype=fp32", "o b=0 t=2 h=0 c=0",
       [](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
         element(out.o, 0, 2, 0, 0) += 1;
       }},
      {"poisoned_neighbours", "lens=3,2 K=8 V=8 dtype=fp32",
       "sequence 1 beside NaN: o b=0 t=4 h=0 c=7",
       [](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
         element(out.o, 0, 4, 0, 7) += element(in.v, 0, 2, 0, 7);
       }},
      {"empty_sequences", "lens=3,0,2 K=8 V=8 h0=1 dtype=fp32", "ht n=1 h=0 k=2 v=4",
       [](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
         element(out.ht, 1, 0, 2, 4) += 1;
       }},
      {"head_permutation", "T=3 H=3 K=8 V=8 dtype=fp32", "o b=0 t=1 h=0 c=5",
       [](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
         element(out.o, 0, 1, 0, 5) = 9;
       }},
      {"channel_sign", "T=3 K=8 V=8 dtype=fp32", "o b=0 t=1 h=0 c=5",
       [](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
         element(out.o, 0, 1, 0, 5) += element(in.q, 0, 1, 0, 4);
       }},
      {"value_scaling", "T=3 K=8 V=8 dtype=fp32", "ht n=0 h=0 k=0 v=6",
       [](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
         element(out.ht, 0, 0, 0, 6) += 1;
       }},
      {"shared_heads_repeated", "T=3 H=1 HV=2 K=8 V=8 dtype=fp32", "o b=0 t=1 h=1 c=5",
       [](const gdr2_problem& p, const gdr2_inputs&, const gdr2_outputs& out) {
         element(out.o, 0, 1, 1, 5) += float(p.H);
       }},
      {"none_is_zeros", "T=3 K=8 V=8 dtype=fp32", "o b=0 t=2 h=0 c=0",
       [](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
         element(out.o, 0, 2, 0, 0) += in.h0.data ? 1 : 0;
       }},
      {"state_layout", "T=3 K=8 V=8 dtype=fp32", "ht n=0 h=0 k=1 v=3",
       [](const gdr2_problem& p, const gdr2_inputs&, const gdr2_outputs& out) {
         if (p.state_layout == GDR2_STATE_VK) element(out.ht, 0, 0, 3, 1) += 1;
       }},
      {"strided_views", "T=3 K=8 V=8 dtype=fp32", "view=padded: o b=0 t=0 h=0 c=2",
       [](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
         if (in.q.stride[2] != 8) element(out.o, 0, 0, 0, 2) += 1;
       }},
      {"neutral_tokens", "T=3 K=8 V=8 dtype=fp32", "ht n=0 h=0 k=5 v=2",
       [](const gdr2_problem& p, const gdr2_inputs&, const gdr2_outputs& out) {
         element(out.ht, 0, 0, 5, 2) += float(p.T);
       }},
  };
  for (const auto& fault : faults) {
    spoil = fault.spoil;
    const auto line = std::string(fault.line) + " pass=fwd";
    const auto verdict = check(fault.law, line.c_str());
    EXPECT_EQ(verdict.state, State::kFailed) << fault.law << ": " << verdict.reason;
    EXPECT_THAT(verdict.reason, testing::HasSubstr(fault.place)) << fault.law;
  }
}

}  // namespace
}  // namespace gdr2
