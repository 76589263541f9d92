// SPDX-License-Identifier: Apache-2.0
// A run as JUnit XML, which continuous-integration servers show: a test suite a kernel, a test case a
// case. FAILED and MISTRUSTED are failures, CRASHED and TIMED_OUT errors, SKIPPED and waived cases
// skipped; each carries its reason and the command that runs it again.
#pragma once

#include <string>

#include "reports/record.hpp"

namespace gdr2 {

std::string junit_xml(const RunRecord& run);

}  // namespace gdr2
