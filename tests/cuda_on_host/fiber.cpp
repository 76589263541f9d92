// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_host/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__)
#error "the CUDA emulation switches fibers in x86-64 assembly: it does not build on this processor"
#endif

// Saves what the calling convention wants preserved on the running stack, stores its pointer in
// *from and returns on the stack `to`. (swapcontext would make a system call for the signal mask
// at every switch.)
extern "C" void gdr2_fiber_switch(void** from, void* to);
asm(R"(
.text
.globl gdr2_fiber_switch
.hidden gdr2_fiber_switch
.type gdr2_fiber_switch, @function
gdr2_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
.size gdr2_fiber_switch, .-gdr2_fiber_switch
)");

namespace gdr2::cuda::on_host {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStack = 256 * 1024;
constexpr size_t kSlot = kPage + kStack;
constexpr size_t kCacheLine = 64;
constexpr int kSavedRegisters = 6;

}  // namespace

void switch_context(Context& from, Context& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.sanitizer_state, to.stack_bottom, to.stack_bytes);
  gdr2_fiber_switch(&from.stack_pointer, to.stack_pointer);
  __sanitizer_finish_switch_fiber(from.sanitizer_state, nullptr, nullptr);
#else
  gdr2_fiber_switch(&from.stack_pointer, to.stack_pointer);
#endif
}

void enter_fiber([[maybe_unused]] Context& origin) {
#if defined(__SANITIZE_ADDRESS__)
  const void* bottom = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (origin.stack_bottom == nullptr) {
    origin.stack_bottom = bottom;
    origin.stack_bytes = bytes;
  }
#endif
}

FiberStacks::FiberStacks(int count) : count_(count) {
  void* memory = mmap(nullptr, kSlot * static_cast<size_t>(count), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<unsigned char*>(memory);
  for (int i = 0; i < count; ++i)
    mprotect(memory_ + kSlot * static_cast<size_t>(i), kPage, PROT_NONE);
}

FiberStacks::~FiberStacks() { munmap(memory_, kSlot * static_cast<size_t>(count_)); }

Context FiberStacks::start(int index, void (*entry)()) {
  Context context;
  unsigned char* bottom = memory_ + kSlot * static_cast<size_t>(index) + kPage;
  context.stack_bottom = bottom;
  context.stack_bytes = kStack;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(bottom, kStack);  // a dropped fiber leaves its redzones behind
#endif
  // At its entry a function sees rsp = 8 mod 16 with the return address on top: zero, where a
  // backtrace ends. Tops are staggered: at equal offsets all stacks would compete for the same
  // few cache sets.
  auto* top = reinterpret_cast<uintptr_t*>(bottom + kStack -
                                           kCacheLine * (static_cast<size_t>(index) * 7 % 64));
  *--top = 0;
  *--top = reinterpret_cast<uintptr_t>(entry);
  for (int i = 0; i < kSavedRegisters; ++i) *--top = 0;
  context.stack_pointer = top;
  return context;
}

}  // namespace gdr2::cuda::on_host
