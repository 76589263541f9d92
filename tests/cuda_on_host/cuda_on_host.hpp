// SPDX-License-Identifier: Apache-2.0
// CUDA kernels as plain C++: with GDR2_CUDA_ON_HOST the sources under kernels/cuda compile with
// any C++ compiler and a launch runs the grid here, one CTA after another, each CUDA thread on a
// fiber of its own. It exists to run the kernels' logic, not to be fast (about a million thread
// switches in 10 ms).
//
// What it promises: the data paths of the tensor-core, ldmatrix, shuffle and cp.async instructions
// are those of the PTX manual, element by element. Mistakes become an EmulationError with thread
// and place instead of a hang or a silent value:
//   - a barrier that not all its threads reach, lanes of a warp in different collectives, a thread
//     that returned early;
//   - misaligned or out-of-range shared addresses, unaligned 16-byte accesses, too much shared
//     memory, a grid too large;
//   - shared memory starts as NaN, and the target of a cp.async is NaN until its copy_wait: reading
//     too early shows;
//   - the same launch under another Order of threads: different bits mean a missing barrier.
// What it cannot see: timing, and a missing __syncwarp where the warp's next collective happens to
// order the lanes.
//
// Use: list a kernel source in kernels/cuda/sources.cmake, then
//   - build gdr2_cuda_on_host_kernel: libgdr2_cuda_on_host.so exports gdr2_kernel_v1() over host
//     memory, for the suite itself;
//   - or link gdr2_cuda_on_host and call launch functions with host pointers, as
//     tests/kernels/cuda/*_test.cu do (they run the same on a GPU).
// -fsanitize=address,undefined sees global buffers, shared memory and the fibers' stacks.
// GDR2_ON_HOST_ORDER=forward|reverse|shuffled[:seed]|starved:warp in the environment picks the order.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>

#include "tests/cuda_on_host/numbers.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace gdr2::cuda::on_host {

class EmulationError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// In which order the runnable threads of a CTA go on. kStarved: the threads of the warp whose number is
// the seed go on only when nobody else gets any further, so that the others are as far ahead of it as
// they can be: who waits for a phase that is over twice shows.
enum class Order { kForward, kReverse, kShuffled, kStarved };
void set_order(Order order, uint64_t seed = 0);

// The device that is emulated, 90 (Hopper) or 80; GDR2_ON_HOST_CAPABILITY in the environment says
// which. What it does not have is refused in a launch: more shared memory a CTA than that.
int compute_capability();
int multiprocessors();  // 132 if not set
void set_multiprocessors(int count);
void set_compute_capability(int capability);
size_t shared_memory_limit();

// Runs every CTA of the grid. Throws EmulationError.
void run(const char* kernel, dim3 grid, int threads, size_t shared_bytes,
         const std::function<void()>& body);

// Inside a kernel.
int thread_index();
int block_size();
dim3 block_index();
dim3 grid_size();
unsigned char* shared_memory();

void barrier(int id, int threads);
void warp_barrier();

// Every lane hands in a pointer to its own data; the last to arrive runs `body(context, data of
// the 32 lanes)`, then all go on.
void warp_collective(const char* name, void* data, void (*body)(void* const (&lanes)[32]));

template <class T>
T shuffle(T value, int source) {
  struct Lane {
    T value, result;
    int source;
  } lane{value, value, source};
  warp_collective("shuffle", &lane, [](void* const(&lanes)[32]) {
    for (void* l : lanes) {
      auto* to = static_cast<Lane*>(l);
      to->result = static_cast<const Lane*>(lanes[to->source & 31])->value;
    }
  });
  return lane.result;
}

bool warp_any(bool predicate);

// ldmatrix.x4, mma.m16n8k16 (16-bit operands) and mma.m16n8k8 (tf32).
void load_matrices(uint32_t (&pair)[4], const void* row, bool transposed);
void mma_bf16(float* c, const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
void mma_fp16(float* c, const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
void mma_tf32(float* c, const std::array<float, 4>& a, const std::array<float, 2>& b);

// stmatrix.x4.trans.
void store_matrices_transposed(void* row, const uint32_t (&pair)[4]);

// cp.async.bulk to shared memory and the mbarrier that counts arrivals and its bytes (Transfer): the
// target is NaN until a thread has waited. A bulk store is done at once.
void start_transfer(void* transfer, int arrivals);
void arrive(void* transfer);
void expect_bytes(void* transfer, uint32_t bytes);
void copy_bulk(void* shared, const void* global, uint32_t bytes, void* transfer);
void wait_transfer(void* transfer, uint32_t parity);
void store_bulk(void* global, const void* shared, uint32_t bytes);

// An operand tile of a warpgroup product: `bytes` of shared memory, 1024-byte aligned.
void check_warpgroup_operand(const void* tile, size_t bytes);

void copy_async(void* shared, const void* global, size_t bytes, bool valid);
void copy_commit();
void copy_wait(int pending);

void check_aligned(const void* address, size_t alignment, const char* what);
void fill_zero(void* target, size_t bytes);

}  // namespace gdr2::cuda::on_host
