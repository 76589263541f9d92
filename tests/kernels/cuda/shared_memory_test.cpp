// SPDX-License-Identifier: Apache-2.0
// What `query` says on devices that differ in shared memory; the emulation plays the device.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kernels/abi/gdr2_kernel.h"
#include "tests/cuda_on_host/cuda_on_host.hpp"

namespace gdr2::cuda::test {
namespace {

// Every size that the scans distinguish.
TEST(SharedMemoryTest, ADeviceWithLessOfItRefusesTf32AloneAndSaysWhy) {
  const int present = on_host::compute_capability();
  for (const int capability : {80, 90}) {
    on_host::set_compute_capability(capability);
    for (const int64_t K : {64, 128, 256})
      for (const int64_t V : {32, 256})
        for (const int64_t N : {1, 100})
          for (const auto& [dtype, products] : {std::pair{GDR2_BF16, GDR2_FORMAT_BF16},
                                                {GDR2_F16, GDR2_FORMAT_F16},
                                                {GDR2_F32, GDR2_FORMAT_TF32},
                                                {GDR2_F32, GDR2_FORMAT_F32}}) {
            gdr2_problem p{};
            p.struct_size = sizeof p;
            p.dtype = dtype, p.g_dtype = GDR2_F32, p.products = products;
            p.B = p.N = N, p.T = 64, p.H = p.HV = 1, p.K = K, p.V = V, p.scale = 1;
            gdr2_capability can{};
            can.struct_size = sizeof can;
            ASSERT_EQ(gdr2_kernel_v1()->query(&p, GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD, &can),
                      GDR2_OK);
            const bool fits = capability == 90 || products != GDR2_FORMAT_TF32;
            EXPECT_EQ(can.supported != 0, fits) << K << ' ' << V << ' ' << N << ' ' << products;
            EXPECT_EQ(std::string(can.reason).find("shared memory") == std::string::npos, fits);
          }
  }
  on_host::set_compute_capability(present);
}

}  // namespace
}  // namespace gdr2::cuda::test
