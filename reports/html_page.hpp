// SPDX-License-Identifier: Apache-2.0
// The page that reports/html builds, as text in this binary; "" when it was built without npm. It holds
// kPagePlaceholder once, where the data belong.
#pragma once

#include <string_view>

namespace gdr2 {

extern const std::string_view kHtmlPage;
inline constexpr std::string_view kPagePlaceholder = "\"gdr2-report-data\"";

}  // namespace gdr2
