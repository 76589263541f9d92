// SPDX-License-Identifier: Apache-2.0
#include "reference/contract.hpp"

#include <fmt/format.h>

namespace gdr2 {

Contract standard_contract(Format products) {
  const auto wide = products == Format::kF64 ? Format::kF64 : Format::kF32;
  return {.operand = products, .solve = wide, .state = wide, .gate = wide, .accumulator = wide};
}

Contract token_contract(Format format) {
  return {.operand = format,
          .solve = Format::kNone,
          .state = format,
          .gate = format,
          .accumulator = format};
}

std::string to_string(const Contract& c) {
  return fmt::format("operand={} auxiliary={} solve={} state={} gate={} accumulator={} normalized={} direct_rows={}",
                     to_string(c.operand), to_string(c.auxiliary), to_string(c.solve),
                     to_string(c.state), to_string(c.gate), to_string(c.accumulator),
                     to_string(c.normalized), c.direct_rows);
}

}  // namespace gdr2
