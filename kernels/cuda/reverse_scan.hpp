// SPDX-License-Identifier: Apache-2.0
// The sequential part of the backward (docs/MATH.md, chunk backward): from the last chunk of every
// sequence to its first, the cotangent dS of the state. Columns of V are independent of each other,
// so one CTA carries 32 or 64 of them, dS^T in fp32 registers:
//
//     dR = s Aqk^T dO + Kt dS      P = A^T dR      dS <- gamma_C dS + s Qg^T dO - Ebar^T P
//
// Reads the forward's records (prep.hpp), writes the adjoints' tiles ds and p, and of the gradients
// dv = w P, dw = v P (from the fp32 P) and dh0. d_o and dht absent count as zeros. The bits of the
// results do not depend on how V is cut.
#pragma once

#include "kernels/cuda/adjoints.hpp"

namespace gdr2::cuda {

template <class P>
void launch_reverse_scan(const DeviceProblem& problem,
                         const Intermediates<typename P::Operand>& records,
                         const Adjoints<typename P::Operand>& adjoints,
                         const AdjointStages& stages);

// The shared memory of a CTA, in bytes.
template <class P>
size_t reverse_scan_shared_bytes(const DeviceProblem& problem);

}  // namespace gdr2::cuda
