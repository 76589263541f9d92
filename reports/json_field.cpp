// SPDX-License-Identifier: Apache-2.0
#include "reports/json_field.hpp"

#include <limits>

#include "reference/error.hpp"

namespace gdr2 {

void JsonField::reject(const std::string& what) const { fail("{}: {}", path_, what); }

JsonField JsonField::operator[](const std::string& key) const {
  if (!value_.is_object()) reject("not an object");
  const auto member = value_.find(key);
  if (member == value_.end()) fail("{}.{}: missing", path_, key);
  return {*member, path_ + "." + key};
}

std::vector<JsonField> JsonField::elements() const {
  if (!value_.is_array()) reject("not an array");
  std::vector<JsonField> elements;
  for (const auto& element : value_)
    elements.emplace_back(element, path_ + "[" + std::to_string(elements.size()) + "]");
  return elements;
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
  if (!value_.is_object()) reject("not an object");
  std::vector<std::pair<std::string, JsonField>> members;
  for (const auto& [key, member] : value_.items())
    members.emplace_back(key, JsonField(member, path_ + "." + key));
  return members;
}

std::string JsonField::text() const {
  if (!value_.is_string()) reject("not a string");
  return value_.get<std::string>();
}

bool JsonField::boolean() const {
  if (!value_.is_boolean()) reject("not true or false");
  return value_.get<bool>();
}

std::int64_t JsonField::integer() const {
  if (!value_.is_number_integer()) reject("not an integer");
  if (value_.is_number_unsigned() && value_.get<std::uint64_t>() > INT64_MAX) reject("too large");
  return value_.get<std::int64_t>();
}

std::uint64_t JsonField::natural() const {
  if (!value_.is_number_unsigned()) reject("not a natural number");
  return value_.get<std::uint64_t>();
}

double JsonField::number() const {
  if (value_.is_number()) return value_.get<double>();
  if (value_ == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value_ == "inf") return std::numeric_limits<double>::infinity();
  if (value_ == "-inf") return -std::numeric_limits<double>::infinity();
  reject("not a number");
}

}  // namespace gdr2
