// SPDX-License-Identifier: Apache-2.0
#include "reference/contract.hpp"

#include <charconv>
#include <sstream>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

Format* site_of(Contract& c, std::string_view name) {
  if (name == "operand") return &c.operand;
  if (name == "auxiliary") return &c.auxiliary;
  if (name == "solve") return &c.solve;
  if (name == "state") return &c.state;
  if (name == "gate") return &c.gate;
  if (name == "accumulator") return &c.accumulator;
  if (name == "normalized") return &c.normalized;
  return nullptr;
}

std::int32_t parse_rows(const std::string& text, std::string_view what) {
  std::int32_t rows = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
  if (error != std::errc{} || end != text.data() + text.size() || rows < 0 || rows > 64)
    fail("{}: direct_rows: '{}' is not in 0 .. 64", what, text);
  return rows;
}

}  // namespace

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

Contract parse_contract(std::string_view text, std::string_view what) {
  if (text.ends_with(',')) fail("{}: '{}' ends with a comma", what, text);
  std::istringstream stream{std::string(text)};
  std::string word;
  std::getline(stream, word, ',');
  auto contract = standard_contract(parse_format(word, what));
  while (std::getline(stream, word, ',')) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    const auto value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "direct_rows")
      contract.direct_rows = parse_rows(value, what);
    else if (auto* site = site_of(contract, name))
      *site = value == "none" ? Format::kNone : parse_format(value, fmt::format("{}: {}", what, name));
    else
      fail("{}: '{}' is no site; sites are operand, auxiliary, solve, state, gate, accumulator, normalized and "
           "direct_rows",
           what, name);
  }
  return contract;
}

}  // namespace gdr2
