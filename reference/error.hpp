// SPDX-License-Identifier: Apache-2.0
// The one exception for bad input: a file, a flag, a problem line, a tensor. Its message names the
// thing that is wrong and the place in it. Broken invariants are not errors; they abort.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace gdr2 {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> message, Args&&... args) {
  throw Error(fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace gdr2
