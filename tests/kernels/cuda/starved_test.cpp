// SPDX-License-Identifier: Apache-2.0
// No warp may be so slow that another runs past it: whichever warp is starved, the kernels end, and
// with the same bits.
#include "tests/kernels/cuda/forward_case.cuh"

namespace gdr2::cuda::test {
namespace {

class StarvedTest : public OnDevice {
 protected:
  void TearDown() override {
    on_host::set_order(on_host::Order::kForward);
    on_host::set_multiprocessors(132);
  }

  void expect_same_bits(const ForwardCase& c) {
    constexpr int kWarps = 16;  // of the largest CTA
    const ForwardInputs x = draw_inputs(c);
    const ForwardResult y = run_forward(c, x);
    for (int warp = 0; warp < kWarps; ++warp) {
      on_host::set_order(on_host::Order::kStarved, warp);
      const ForwardResult starved = run_forward(c, x);
      EXPECT_EQ(starved.y.o, y.y.o) << "warp " << warp;
      EXPECT_EQ(starved.y.ht, y.y.ht) << "warp " << warp;
    }
  }
};

TEST_F(StarvedTest, OfANarrowScan) {
  ForwardCase c;
  c.T = 7 * 64 + 1, c.H = c.HV = 1, c.K = 64, c.V = 32;
  expect_same_bits(c);
}

TEST_F(StarvedTest, OfAScanThatKeepsStates) {
  ForwardCase c;
  c.T = 7 * 64, c.H = c.HV = 1, c.K = 100, c.V = 20, c.saved = true;
  expect_same_bits(c);
}

TEST_F(StarvedTest, OfAWideScan) {
  on_host::set_multiprocessors(1);
  ForwardCase c;
  c.T = 5 * 64, c.H = c.HV = 1, c.K = 128, c.V = 128;
  expect_same_bits(c);
}

}  // namespace
}  // namespace gdr2::cuda::test
