// SPDX-License-Identifier: Apache-2.0
// Stackful fibers that one OS thread switches between by hand. A fiber that is never resumed
// again is simply dropped: nothing on its stack is destroyed. No exception may leave a fiber.
#pragma once

#include <cstddef>
#include <memory>

namespace gdr2::cuda::on_host {

// A place to continue at: a suspended fiber, or the thread that runs them.
struct Context {
  void* stack_pointer = nullptr;
  const void* stack_bottom = nullptr;
  size_t stack_bytes = 0;
  void* sanitizer_state = nullptr;
};

// Suspends `from` (the running context) and continues `to`; returns when something continues
// `from`.
void switch_context(Context& from, Context& to);

// The first call in a new fiber. The address sanitizer, when there is one, learns of the switch;
// the first fiber of all tells `origin`, the context that started it, where its stack lies.
void enter_fiber(Context& origin);

// `count` stacks, each with an inaccessible page below it, reused from one CTA to the next.
class FiberStacks {
 public:
  explicit FiberStacks(int count);
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  // A context that starts in `entry` (which must not return) on stack `index`.
  Context start(int index, void (*entry)());
  int count() const { return count_; }

 private:
  unsigned char* memory_;
  int count_;
};

}  // namespace gdr2::cuda::on_host
