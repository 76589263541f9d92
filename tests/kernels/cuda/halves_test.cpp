// SPDX-License-Identifier: Apache-2.0
// Sequences that are cut in two, so that prep of the second half runs beside the scan of the first:
// the emulation plays devices on which that pays and on which it does not.
#include "tests/kernels/cuda/forward_case.cuh"

namespace gdr2::cuda::test {
namespace {

class HalvesTest : public OnDevice {
 protected:
  void TearDown() override { on_host::set_multiprocessors(132); }

  ForwardResult run(const ForwardCase& c, int multiprocessors) {
    on_host::set_multiprocessors(multiprocessors);
    return run_forward(c, draw_inputs(c));
  }
  void expect_same_bits(const ForwardCase& c, int few = kFew) {
    const ForwardResult whole = run(c, 1000), halves = run(c, few);
    EXPECT_GT(halves.workspace_bytes, whole.workspace_bytes) << "not cut: no state is handed over";
    EXPECT_EQ(whole.y.o, halves.y.o) << c.name();
    EXPECT_EQ(whole.y.ht, halves.y.ht) << c.name();
    for (int s = 0; s < GDR2_STAGE_COUNT; ++s) EXPECT_EQ(whole.stage[s], halves.stage[s]) << s;
  }

  // As many that the problems below pass the bounds of scan_leaves_room: at least 4 chunks and at
  // most a quarter of the scan's CTAs (two) for each.
  static constexpr int kFew = 8;
};

TEST_F(HalvesTest, HaveTheBitsOfTheWhole) {
  ForwardCase c;
  c.T = 33 * 64 + 5, c.K = 32, c.V = 64, c.stages = true;
  expect_same_bits(c);
  c.saved = true, c.h0 = false, c.strided = true, c.K = 100, c.seed = 2;
  expect_same_bits(c);
  c.dtype = GDR2_F16, c.products = GDR2_FORMAT_F16, c.value_by_key = true;
  expect_same_bits(c);
}

TEST_F(HalvesTest, OfPackedSequencesToo) {
  ForwardCase c;
  c.lens = {0, 64 * 64 + 1}, c.T = c.lens[1], c.V = 32, c.K = 16;
  expect_same_bits(c, 16);
}

TEST_F(HalvesTest, AreRightByThemselves) {
  ForwardCase c;
  c.T = 34 * 64 + 63, c.K = 32, c.V = 32, c.decays = Decays::kSlow;
  const ForwardInputs x = draw_inputs(c);
  const Distance d = distance(run(c, kFew).y.o, expected(c, x).o);
  EXPECT_LE(d.rms, 4 * 0x1p-9);
}

}  // namespace
}  // namespace gdr2::cuda::test
