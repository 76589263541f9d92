// SPDX-License-Identifier: Apache-2.0
// Laws on arrays that stay in the memory of a kernel library: the CUDA kernels on a device, where
// there is one, and emulated over host memory. They hold, they work on the library's memory and not
// on copies, and a fault of the library is found and named.
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

enum class Library { kOnHost, kOnDevice };

const gdr2_kernel* on_host() {
  void* library = dlopen(GDR2_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail("{}", dlerror());
  return reinterpret_cast<const gdr2_kernel* (*)()>(dlsym(library, "gdr2_kernel_v1"))();
}

const gdr2_kernel* on_device() {
#ifdef GDR2_HAVE_CUDA
  return gdr2_kernel_v1();
#else
  return nullptr;
#endif
}

/// The right library of a test, and its memory.
const gdr2_kernel* right = nullptr;
const MemorySpace& memory() { return memory_space(gdr2_memory(right->memory)); }

/// What is done to a call's outputs once they are right; a library has functions and no state but this.
using Spoil = std::function<void(const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs&)>;
Spoil spoil;

gdr2_status spoiled_forward(const gdr2_problem* problem, const gdr2_inputs* in,
                            const gdr2_outputs* out, gdr2_workspace* workspace) {
  const auto status = right->forward(problem, in, out, workspace);
  if (spoil) spoil(*problem, *in, *out);
  return status;
}

class ResidentLaws : public testing::TestWithParam<Library> {
 protected:
  void SetUp() override {
    const bool device = GetParam() == Library::kOnDevice;
    if (device && *why_unavailable(GDR2_CUDA)) GTEST_SKIP() << why_unavailable(GDR2_CUDA);
    right = device ? on_device() : on_host();
    spoil = nullptr;
    configure_kernels({.resident = true});
    table_ = *right;
    table_.forward = spoiled_forward;
    kernel_ = make_abi_chunk_kernel(&table_, "spoiled", "the right library with a fault",
                                    Intermediates::kSaved);
  }
  void TearDown() override { configure_kernels({}); }

  Verdict check(const char* law, const std::string& line) const {
    return find_law(law).check(*kernel_, parse_case(line));
  }

  gdr2_kernel table_;
  std::unique_ptr<Kernel> kernel_;
};

INSTANTIATE_TEST_SUITE_P(Libraries, ResidentLaws,
                         testing::Values(Library::kOnHost, Library::kOnDevice),
                         [](const auto& info) {
                           return info.param == Library::kOnHost ? "OnHost" : "OnDevice";
                         });

constexpr const char* kPlain = "T=9 H=2 HV=4 K=8 V=8 h0=1 loss=o dtype=fp32";
constexpr const char* kPacked = "lens=3,0,4 H=1 K=8 V=8 h0=1 layout=vk neg_eigval=1 dtype=bf16";

TEST_P(ResidentLaws, ARightLibraryObeysThem) {
  for (const char* line : {kPlain, kPacked})
    for (const auto& law : all_laws()) {
      if (law.kind != Law::Kind::kBits || law.name == "repeatable") continue;
      const auto verdict = law.check(*kernel_, parse_case(line));
      EXPECT_TRUE(verdict.state == State::kPassed || verdict.state == State::kSkipped)
          << law.name << ": " << verdict.reason;
    }
}

TEST_P(ResidentLaws, ItsDecodingObeysThemOverAPoolInItsMemory) {
  const auto decode = make_abi_decode_kernel(right, "decode", "the right library");
  const auto c = parse_case("B=3 T=2 H=2 HV=4 K=8 V=8 h0=1 pass=fwd");
  for (const auto& law : all_laws()) {
    if (law.kind != Law::Kind::kBits || law.name == "repeatable") continue;
    const auto verdict = law.check(*decode, c);
    EXPECT_TRUE(verdict.state == State::kPassed || verdict.state == State::kSkipped)
        << law.name << ": " << verdict.reason;
  }
  const auto resident = laws::run(*decode, laws::placed_call(*decode, c));
  const auto through_host = laws::run(*decode, laws::Call{c.problem, make_inputs(c)});
  const auto uploaded = placed(memory(), through_host);
  for (const auto& [name, array] : resident)
    EXPECT_FALSE(compare(array, uploaded.at(name))) << to_string(name);
}

TEST_P(ResidentLaws, TheLibraryGetsTheArraysThemselves) {
  const auto call = laws::placed_call(*kernel_, parse_case("T=2 K=8 V=8 pass=fwd dtype=fp32"));
  std::vector<const void*> q, o;
  spoil = [&](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
    q.push_back(in.q.data), o.push_back(out.o.data);
  };
  const auto results = laws::run(*kernel_, call);
  EXPECT_THAT(q, testing::ElementsAre(call.inputs.at(Name::q).data()));
  EXPECT_THAT(o, testing::ElementsAre(results.at(Name::o).data()));
}

TEST_P(ResidentLaws, ResultsAreThoseOfACallThroughTheHost) {
  const auto c = parse_case(kPlain);
  const auto resident = laws::run(*kernel_, laws::placed_call(*kernel_, c));
  const auto through_host = laws::run(*kernel_, laws::Call{c.problem, make_inputs(c)});
  ASSERT_EQ(resident.size(), through_host.size());
  const auto uploaded = placed(memory(), through_host);
  for (const auto& [name, array] : resident)
    EXPECT_FALSE(compare(array, uploaded.at(name))) << to_string(name);
}

TEST_P(ResidentLaws, WithoutTheSettingArraysAreInHostMemoryAndTravel) {
  configure_kernels({});
  const void* q = nullptr;
  spoil = [&](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs&) { q = in.q.data; };
  const auto call = laws::placed_call(*kernel_, parse_case("T=2 K=8 V=8 pass=fwd dtype=fp32"));
  laws::run(*kernel_, call);
  EXPECT_NE(q, call.inputs.at(Name::q).data());
}

struct Place {
  std::int64_t axis[4];
};

std::byte* address(const gdr2_tensor& t, const Place& at) {
  std::int64_t offset = 0;
  for (int d = 0; d < 4; ++d) offset += at.axis[d] * t.stride[d];
  return static_cast<std::byte*>(t.data) + offset * std::ptrdiff_t(size_of(DType(t.dtype)));
}

/// An element, where the library has it.
double get(const gdr2_tensor& t, const Place& at) {
  std::byte bytes[8];
  memory().download(bytes, address(t, at), size_of(DType(t.dtype)));
  return load_element(bytes, DType(t.dtype));
}
void set(const gdr2_tensor& t, const Place& at, double x) {
  std::byte bytes[8];
  store_element(bytes, DType(t.dtype), x);
  memory().upload(address(t, at), bytes, size_of(DType(t.dtype)));
}
void add(const gdr2_tensor& t, const Place& at, double x) { set(t, at, get(t, at) + x); }

TEST_P(ResidentLaws, OneElementThatDiffersIsFoundAndNamed) {
  int calls = 0;
  spoil = [&](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
    if (++calls == 2) set(out.o, {{0, 5, 1, 3}}, 0.75);
  };
  const auto verdict = check("repeatable", "T=9 H=2 K=8 V=8 pass=fwd dtype=fp32");
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_THAT(verdict.reason,
              testing::StartsWith("call 2: o b=0 t=5 h=1 c=3: 0x1.8p-1, expected "));
  EXPECT_THAT(verdict.reason, testing::Not(testing::HasSubstr("differ")));
}

TEST_P(ResidentLaws, AllThatDiffersIsCounted) {
  int calls = 0;
  spoil = [&](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
    if (++calls == 2)
      for (int token = 3; token < 9; ++token) set(out.o, {{0, token, 1, 3}}, 0.75);
  };
  const auto verdict = check("repeatable", "T=9 H=2 K=8 V=8 pass=fwd dtype=fp32");
  EXPECT_THAT(verdict.reason, testing::AllOf(testing::HasSubstr("o b=0 t=3 h=1 c=3"),
                                             testing::EndsWith("; 6 of 144 differ")));
}

/// At a size of production; the emulation would take hours.
TEST_P(ResidentLaws, OneElementAmongMillionsIsFoundAndNamed) {
  if (GetParam() == Library::kOnHost) GTEST_SKIP() << "the emulation would take hours";
  int calls = 0;
  spoil = [&](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
    if (++calls == 2) add(out.o, {{7, 4095, 15, 127}}, 1);
  };
  const auto verdict = check("unasked_final_state", "B=8 T=4096 H=16 K=128 V=128 pass=fwd");
  EXPECT_THAT(verdict.reason, testing::StartsWith("o b=7 t=4095 h=15 c=127: "));
  EXPECT_THAT(verdict.reason, testing::Not(testing::HasSubstr("differ")));
}

struct Fault {
  const char *law, *line, *place;
  Spoil spoil;
};

TEST_P(ResidentLaws, EachFindsTheFaultThatItIsAboutAndItsPlace) {
  const Fault faults[] = {
      {"causality", "T=12 K=8 V=8 dtype=fp32", "o b=0 t=2 h=0 c=1",
       [](const gdr2_problem& p, const gdr2_inputs& in, const gdr2_outputs& out) {
         add(out.o, {{0, 2, 0, 1}}, get(in.v, {{0, p.T - 1, 0, 0}}));
       }},
      {"sequence_alone", "B=2 T=3 K=8 V=8 dtype=fp32", "sequence 1 alone: o b=0 t=0 h=0 c=0",
       [](const gdr2_problem& p, const gdr2_inputs& in, const gdr2_outputs& out) {
         add(out.o, {{p.B - 1, 0, 0, 0}}, p.B > 1 ? get(in.v, {{0, 0, 0, 0}}) : 0);
       }},
      {"sequence_order", "lens=3,2 K=8 V=8 dtype=fp32", "o b=0 t=2 h=0 c=0",
       [](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
         add(out.o, {{0, 2, 0, 0}}, 1);
       }},
      {"poisoned_neighbours", "lens=3,2 K=8 V=8 dtype=fp32",
       "sequence 1 beside NaN: o b=0 t=4 h=0 c=7",
       [](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
         add(out.o, {{0, 4, 0, 7}}, get(in.v, {{0, 2, 0, 7}}));
       }},
      {"empty_sequences", "lens=3,0,2 K=8 V=8 h0=1 dtype=fp32", "ht n=1 h=0 k=2 v=4",
       [](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
         add(out.ht, {{1, 0, 2, 4}}, 1);
       }},
      {"head_permutation", "T=3 H=3 K=8 V=8 dtype=fp32", "o b=0 t=1 h=0 c=5",
       [](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
         set(out.o, {{0, 1, 0, 5}}, 9);
       }},
      {"channel_sign", "T=3 K=8 V=8 dtype=fp32", "o b=0 t=1 h=0 c=5",
       [](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
         add(out.o, {{0, 1, 0, 5}}, get(in.q, {{0, 1, 0, 4}}));
       }},
      {"value_scaling", "T=3 K=8 V=8 dtype=fp32", "ht n=0 h=0 k=0 v=6",
       [](const gdr2_problem&, const gdr2_inputs&, const gdr2_outputs& out) {
         add(out.ht, {{0, 0, 0, 6}}, 1);
       }},
      {"shared_heads_repeated", "T=3 H=1 HV=2 K=8 V=8 dtype=fp32", "o b=0 t=1 h=1 c=5",
       [](const gdr2_problem& p, const gdr2_inputs&, const gdr2_outputs& out) {
         add(out.o, {{0, 1, 1, 5}}, double(p.H));
       }},
      {"none_is_zeros", "T=3 K=8 V=8 dtype=fp32", "o b=0 t=2 h=0 c=0",
       [](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
         add(out.o, {{0, 2, 0, 0}}, in.h0.data ? 1 : 0);
       }},
      {"state_layout", "T=3 K=8 V=8 dtype=fp32", "ht n=0 h=0 k=1 v=3",
       [](const gdr2_problem& p, const gdr2_inputs&, const gdr2_outputs& out) {
         if (p.state_layout == GDR2_STATE_VK) add(out.ht, {{0, 0, 3, 1}}, 1);
       }},
      {"strided_views", "T=3 K=8 V=8 dtype=fp32", "view=padded: o b=0 t=0 h=0 c=2",
       [](const gdr2_problem&, const gdr2_inputs& in, const gdr2_outputs& out) {
         if (in.q.stride[2] != 8) add(out.o, {{0, 0, 0, 2}}, 1);
       }},
      {"neutral_tokens", "T=3 K=8 V=8 dtype=fp32", "ht n=0 h=0 k=5 v=2",
       [](const gdr2_problem& p, const gdr2_inputs&, const gdr2_outputs& out) {
         add(out.ht, {{0, 0, 5, 2}}, double(p.T));
       }},
  };
  for (const auto& fault : faults) {
    spoil = fault.spoil;
    const auto verdict = check(fault.law, std::string(fault.line) + " pass=fwd");
    EXPECT_EQ(verdict.state, State::kFailed) << fault.law << ": " << verdict.reason;
    EXPECT_THAT(verdict.reason, testing::HasSubstr(fault.place)) << fault.law;
  }
}

}  // namespace
}  // namespace gdr2
