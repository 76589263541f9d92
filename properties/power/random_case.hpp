// SPDX-License-Identifier: Apache-2.0
// Cases drawn at random: sizes, sequences, options and recipe, for the calibration of the judge on
// right kernels. A case is a function of the dtype and its number alone, so a calibration can stop
// anywhere, go on later, or be done in parts.
#pragma once

#include <cstdint>

#include "fixtures/case.hpp"

namespace gdr2 {

/// Nine in ten are small (K, V <= 48, up to 80 tokens), and the tenth has K, V up to 128 and up to
/// 256 tokens, so that elements come mostly from large tensors and cases mostly from small ones.
Case random_case(Format dtype, std::int64_t number);

}  // namespace gdr2
