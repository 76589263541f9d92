// SPDX-License-Identifier: Apache-2.0
// The emulation turns mistakes of device code into errors: each test makes one.
#include <gtest/gtest.h>

#include "kernels/cuda/device/bulk.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/memory.cuh"
#include "kernels/cuda/device/mma.cuh"

namespace gdr2::cuda::test {
namespace {

void expect_error(const char* part, int threads, size_t shared_bytes,
                  const std::function<void()>& body) {
  try {
    on_host::run("kernel", dim3(1), threads, shared_bytes, body);
    ADD_FAILURE() << "no error; expected: " << part;
  } catch (const on_host::EmulationError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(EmulationTest, ABarrierThatAThreadDoesNotReachIsReported) {
  expect_error("waits at barrier 0 for ever", 64, 0, [] {
    if (thread_index() != 7) sync_threads();
  });
}

TEST(EmulationTest, ADivergentWarpIsReported) {
  expect_error("different collectives", 32, 0, [] {
    if (lane_index() < 16) {
      shuffle(1.0f, 0);
    } else {
      sync_warp();
    }
  });
}

TEST(EmulationTest, ALaneThatLeavesBeforeACollectiveIsReported) {
  expect_error("thread 3 has returned", 32, 0, [] {
    if (lane_index() != 3) sync_warp();
  });
}

TEST(EmulationTest, ABarrierWithTwoCountsIsReported) {
  expect_error("wait", 64, 0, [] { sync_named(2, thread_index() < 32 ? 64 : 32); });
}

TEST(EmulationTest, AMisalignedMatrixRowIsReported) {
  expect_error("ldmatrix: address is not 16-byte aligned", 32, 4096,
               [] { load(&shared_as<Bf16>() + 1, 24); });
}

TEST(EmulationTest, AMatrixRowOutsideSharedMemoryIsReported) {
  expect_error("is not in the 512 bytes", 32, 512, [] { load(&shared_as<Bf16>(), 24); });
}

TEST(EmulationTest, AMisalignedAsynchronousCopyIsReported) {
  alignas(16) static const float global[8] = {};
  expect_error("from global memory: address is not 16-byte aligned", 32, 512, [] {
    copy_async_16(&shared_as<float>() + 4 * thread_index() % 32, global + 1, true);
  });
}

TEST(EmulationTest, TooMuchSharedMemoryIsReported) {
  expect_error("shared memory", 32, 300 * 1024, [] {});
}

TEST(EmulationTest, AThreadCountThatIsNoWholeNumberOfWarpsIsReported) {
  expect_error("48 threads", 48, 0, [] {});
}

TEST(EmulationTest, SharedMemoryStartsAsNanInEveryBlock) {
  int nans = 0;
  on_host::run("kernel", dim3(2), 32, 128, [&] {
    float& mine = (&shared_as<float>())[lane_index()];
    nans += std::isnan(mine);
    mine = 1.0f;
  });
  EXPECT_EQ(nans, 64);
}

TEST(EmulationTest, AnAsynchronousCopyIsNotThereBeforeItsWait) {
  alignas(16) static const float global[4] = {1, 2, 3, 4};
  float before = 0, after = 0;
  on_host::run("kernel", dim3(1), 32, 512, [&] {
    float* mine = &shared_as<float>() + 4 * lane_index();
    copy_async_16(mine, global, true);
    copy_commit();
    if (lane_index() == 0) before = mine[2];
    copy_wait<0>();
    if (lane_index() == 0) after = mine[2];
  });
  EXPECT_TRUE(std::isnan(before));
  EXPECT_EQ(after, 3.0f);
}

// Without its barrier, a kernel's answer depends on the order of threads.
TEST(EmulationTest, AMissingBarrierShowsBetweenOrders) {
  const auto result = [](on_host::Order order) {
    on_host::set_order(order, 1);
    float sum = 0;
    on_host::run("kernel", dim3(1), 64, 256, [&] {
      float* shared = &shared_as<float>();
      shared[thread_index()] = static_cast<float>(thread_index());
      sync_warp();
      const float other = shared[63 - thread_index()];
      if (!std::isnan(other)) sum += other;
    });
    on_host::set_order(on_host::Order::kForward);
    return sum;
  };
  EXPECT_NE(result(on_host::Order::kForward), result(on_host::Order::kReverse));
}

TEST(EmulationTest, BulkCopiesArriveWhenWaitedForAndNotBefore) {
  alignas(16) static float source[64];
  std::fill_n(source, 64, 3.0f);
  on_host::run("kernel", dim3(1), 64, 512, [] {
    auto& transfer = *reinterpret_cast<Transfer*>(shared_memory() + 256);
    const auto* target = reinterpret_cast<const float*>(shared_memory());
    if (thread_index() == 0) start_transfer(transfer, 1);
    sync_threads();
    for (uint32_t phase = 0; phase < 3; ++phase) {
      if (thread_index() == 63) {
        expect_bytes(transfer, 256);
        copy_bulk(shared_memory(), source, 256, transfer);
        EXPECT_TRUE(std::isnan(target[5]));
      }
      wait_transfer(transfer, phase % 2);
      EXPECT_EQ(target[thread_index()], 3.0f);
      sync_threads();
    }
  });
}

TEST(EmulationTest, AWaitForATransferThatNobodyEndsIsReported) {
  expect_error("nobody ends", 32, 16, [] {
    auto& transfer = *reinterpret_cast<Transfer*>(shared_memory());
    if (thread_index() == 0) start_transfer(transfer, 1);
    sync_threads();
    wait_transfer(transfer, 0);
  });
}

}  // namespace
}  // namespace gdr2::cuda::test
