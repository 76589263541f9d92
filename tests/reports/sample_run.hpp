// SPDX-License-Identifier: Apache-2.0
// A run with a case in every state a report has to show, written down rather than computed, so that
// reports of it can be compared with golden files.
#pragma once

#include "reports/record.hpp"

namespace gdr2 {

RunRecord sample_run();

}  // namespace gdr2
