// SPDX-License-Identifier: Apache-2.0
// What a kernel did instead of giving results. The one exception of kernels that says more than that
// something went wrong: whoever judges turns it into a state. Bad input is an Error, not a fault.
#pragma once

#include <stdexcept>
#include <string>

namespace gdr2 {

class KernelFault : public std::runtime_error {
 public:
  enum class Kind {
    kCrashed,   ///< its process ended, it threw, or it spoke nonsense
    kTimedOut,  ///< it did not come back in time
    kSkipped,   ///< it takes such a problem, but not these values, and says so
    kWrong,     ///< it answered, and the answer is not one: shapes, dtypes, a promise not kept
  };

  KernelFault(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace gdr2
