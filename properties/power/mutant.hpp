// SPDX-License-Identifier: Apache-2.0
// A kernel with a planted fault: the CPU kernel of the fault's form, wrong at one place, under the
// contract of the right one. Nothing in it knows how it will be judged.
#pragma once

#include <memory>

#include "kernels/kernel.hpp"
#include "properties/power/fault.hpp"

namespace gdr2::power {

/// The fault must outlive the kernel.
std::unique_ptr<Kernel> make_mutant(const Fault& fault);

/// The right kernel that a fault of the form is planted in: cpu.chunk or cpu.recurrent.
const Kernel& right_kernel(Form form);

}  // namespace gdr2::power
