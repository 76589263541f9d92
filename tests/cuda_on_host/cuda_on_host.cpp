// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/cuda_on_host.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "tests/cuda_on_host/cta.hpp"

namespace gdr2::cuda::on_host {
namespace {

constexpr int kMaxThreads = 1024;
constexpr unsigned kMaxGridYZ = 65535, kMaxGridX = 0x7fffffff;
constexpr size_t kSharedAlignment = 1024;

Order chosen_order = Order::kForward;
uint64_t chosen_seed = 0;
bool order_chosen = false;

void choose_order_from_environment() {
  order_chosen = true;
  const char* value = std::getenv("GDR2_ON_HOST_ORDER");
  if (value == nullptr) return;
  const std::string text = value;
  if (text == "reverse") chosen_order = Order::kReverse;
  if (text.rfind("shuffled", 0) == 0) {
    chosen_order = Order::kShuffled;
    if (text.size() > 9) chosen_seed = std::stoull(text.substr(9));
  }
  if (text.rfind("starved:", 0) == 0) {
    chosen_order = Order::kStarved;
    chosen_seed = std::stoull(text.substr(8));
  }
}

void check_launch(const char* kernel, dim3 grid, int threads, size_t shared_bytes) {
  const std::string name = std::string("launch of ") + kernel + ": ";
  if (threads <= 0 || threads > kMaxThreads || threads % 32 != 0) {
    throw EmulationError(name + std::to_string(threads) + " threads a block");
  }
  if (shared_bytes > shared_memory_limit())
    throw EmulationError(name + std::to_string(shared_bytes) + " bytes of shared memory");
  if (grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ) {
    throw EmulationError(name + "grid (" + std::to_string(grid.x) + ", " + std::to_string(grid.y) +
                         ", " + std::to_string(grid.z) + ") is too large");
  }
}

struct Free {
  void operator()(unsigned char* p) const { std::free(p); }
};
using SharedBytes = std::unique_ptr<unsigned char, Free>;

SharedBytes allocate_shared(size_t bytes) {
  void* memory =
      nullptr;  // exactly `bytes`, so that the address sanitizer sees the first byte past the end
  if (posix_memalign(&memory, kSharedAlignment, bytes == 0 ? 1 : bytes) != 0)
    throw std::bad_alloc();
  return SharedBytes(static_cast<unsigned char*>(memory));
}

FiberStacks& stacks_for(int threads) {
  thread_local std::unique_ptr<FiberStacks> stacks;
  if (!stacks || stacks->count() < threads) stacks = std::make_unique<FiberStacks>(threads);
  return *stacks;
}

}  // namespace

void set_order(Order order, uint64_t seed) {
  order_chosen = true;
  chosen_order = order;
  chosen_seed = seed;
}

namespace {
int chosen_capability = 0;
int chosen_multiprocessors = 132;
}

void set_compute_capability(int capability) { chosen_capability = capability; }

int compute_capability() {
  if (chosen_capability == 0) {
    const char* value = std::getenv("GDR2_ON_HOST_CAPABILITY");
    chosen_capability = value != nullptr && std::string(value) == "80" ? 80 : 90;
  }
  return chosen_capability;
}

int multiprocessors() { return chosen_multiprocessors; }
void set_multiprocessors(int count) { chosen_multiprocessors = count; }

size_t shared_memory_limit() { return (compute_capability() == 80 ? 163 : 227) * size_t{1024}; }

void run(const char* kernel, dim3 grid, int threads, size_t shared_bytes,
         const std::function<void()>& body) {
  if (!order_chosen) choose_order_from_environment();
  check_launch(kernel, grid, threads, shared_bytes);
  const Launch launch{kernel, grid, threads, shared_bytes, &body, chosen_order, chosen_seed};
  const SharedBytes shared = allocate_shared(shared_bytes);
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        std::memset(shared.get(), 0xff, shared_bytes);  // NaN in fp32, bf16 and fp16
        Cta cta(launch, dim3(x, y, z), stacks_for(threads), shared.get());
        cta.run();
      }
}

int thread_index() { return Cta::active()->current(); }
int block_size() { return Cta::active()->launch().threads; }
dim3 block_index() { return Cta::active()->index(); }
dim3 grid_size() { return Cta::active()->launch().grid; }
unsigned char* shared_memory() { return Cta::active()->shared(); }

void barrier(int id, int threads) { Cta::active()->barrier(id, threads); }

void warp_collective(const char* name, void* data, void (*body)(void* const (&lanes)[32])) {
  Cta::active()->collective(name, data, body);
}

void warp_barrier() { warp_collective("warp barrier", nullptr, nullptr); }

bool warp_any(bool predicate) {
  warp_collective("any", &predicate, [](void* const(&lanes)[32]) {
    bool any = false;
    for (void* lane : lanes) any |= *static_cast<bool*>(lane);
    for (void* lane : lanes) *static_cast<bool*>(lane) = any;
  });
  return predicate;
}

void copy_async(void* shared, const void* global, size_t bytes, bool valid) {
  Cta& cta = *Cta::active();
  check_aligned(shared, bytes, "copy_async to shared memory");
  check_aligned(global, bytes, "copy_async from global memory");
  cta.check_shared(shared, bytes, "copy_async");
  std::memset(shared, 0xff, bytes);  // undefined until copy_wait
  cta.running().copies.push_back({shared, global, bytes, valid, cta.running().groups});
}

void copy_commit() { ++Cta::active()->running().groups; }

void copy_wait(int pending) {
  Thread& thread = Cta::active()->running();
  size_t done = 0;
  while (done < thread.copies.size() && thread.copies[done].group < thread.groups - pending) {
    const AsyncCopy& copy = thread.copies[done++];
    if (copy.valid) {
      std::memcpy(copy.shared, copy.global, copy.bytes);
    } else {
      std::memset(copy.shared, 0, copy.bytes);
    }
  }
  thread.copies.erase(thread.copies.begin(),
                      thread.copies.begin() + static_cast<std::ptrdiff_t>(done));
}

namespace {

// An mbarrier.
struct Transfer {
  uint32_t expected;  // bytes of the present phase
  uint8_t phases;     // over, modulo 256
  uint8_t arrivals, arrived;
};
static_assert(sizeof(Transfer) == 8);

Transfer& transfer_at(void* transfer) {
  check_aligned(transfer, 8, "transfer");
  Cta::active()->check_shared(transfer, 8, "transfer");
  return *static_cast<Transfer*>(transfer);
}

// Ends the phase if everything has come.
void try_to_end(Transfer& t) {
  auto& copies = Cta::active()->bulk_copies();
  uint32_t under_way = 0;
  for (const BulkCopy& copy : copies)
    if (copy.transfer == &t) under_way += copy.bytes;
  if (t.arrived != t.arrivals || under_way != t.expected) return;
  std::erase_if(copies, [&](const BulkCopy& copy) {
    if (copy.transfer != &t) return false;
    std::memcpy(copy.shared, copy.global, copy.bytes);
    return true;
  });
  t.expected = 0, t.arrived = 0, ++t.phases;
}

}  // namespace

void start_transfer(void* transfer, int arrivals) {
  transfer_at(transfer) = {0, 0, static_cast<uint8_t>(arrivals), 0};
}

void arrive(void* transfer) {
  Transfer& t = transfer_at(transfer);
  if (t.arrived == t.arrivals) Cta::active()->fail("more arrivals than the transfer counts");
  ++t.arrived;
  if (t.expected == 0) try_to_end(t);
}

void expect_bytes(void* transfer, uint32_t bytes) {
  transfer_at(transfer).expected += bytes;
  arrive(transfer);
}

void copy_bulk(void* shared, const void* global, uint32_t bytes, void* transfer) {
  Cta& cta = *Cta::active();
  check_aligned(shared, 16, "copy_bulk to shared memory");
  check_aligned(global, 16, "copy_bulk from global memory");
  if (bytes % 16 != 0) cta.fail("copy_bulk of " + std::to_string(bytes) + " bytes");
  cta.check_shared(shared, bytes, "copy_bulk");
  std::memset(shared, 0xff, bytes);  // undefined until wait_transfer
  cta.bulk_copies().push_back({shared, global, bytes, transfer});
}

void wait_transfer(void* transfer, uint32_t parity) {
  constexpr int kPatience = 1 << 20;  // turns of the other threads
  Cta& cta = *Cta::active();
  Transfer& t = transfer_at(transfer);
  for (int turn = 0; t.phases % 2 == parity; ++turn) {
    if (t.arrived == t.arrivals) try_to_end(t);
    if (t.phases % 2 != parity) return;
    if (turn == kPatience) cta.fail("waits for a transfer that nobody ends");
    cta.let_others_run();
  }
}

void store_bulk(void* global, const void* shared, uint32_t bytes) {
  check_aligned(shared, 16, "store_bulk from shared memory");
  check_aligned(global, 16, "store_bulk to global memory");
  Cta::active()->check_shared(shared, bytes, "store_bulk");
  std::memcpy(global, shared, bytes);
}

void check_warpgroup_operand(const void* tile, size_t bytes) {
  check_aligned(tile, 1024, "operand of a warpgroup");
  Cta::active()->check_shared(tile, bytes, "operand of a warpgroup");
}

void check_aligned(const void* address, size_t alignment, const char* what) {
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0) {
    Cta::active()->fail(std::string(what) + ": address is not " + std::to_string(alignment) +
                        "-byte aligned");
  }
}

void fill_zero(void* target, size_t bytes) { std::memset(target, 0, bytes); }

}  // namespace gdr2::cuda::on_host
