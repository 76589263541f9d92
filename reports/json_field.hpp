// SPDX-License-Identifier: Apache-2.0
// A value inside a JSON document together with the path that led to it, so that whatever is wrong
// with it can be said with its place. Reads one value at a time and checks its type.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gdr2 {

class JsonField {
 public:
  JsonField(const nlohmann::ordered_json& value, std::string path)
      : value_(value), path_(std::move(path)) {}

  /// A member; throws Error when this is not an object or has no such member.
  JsonField operator[](const std::string& key) const;
  /// Whether this is an object with such a member.
  bool has(const std::string& key) const { return value_.is_object() && value_.contains(key); }
  /// The elements; throws Error when this is not an array.
  std::vector<JsonField> elements() const;
  /// The members with their names; throws Error when this is not an object.
  std::vector<std::pair<std::string, JsonField>> members() const;

  bool is_null() const { return value_.is_null(); }
  std::string text() const;
  bool boolean() const;
  std::int64_t integer() const;
  std::uint64_t natural() const;
  double number() const;  ///< a number, or "nan", "inf", "-inf"

  /// Throws Error "<path>: <what>".
  [[noreturn]] void reject(const std::string& what) const;

 private:
  const nlohmann::ordered_json& value_;
  std::string path_;
};

}  // namespace gdr2
