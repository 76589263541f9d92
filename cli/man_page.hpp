// SPDX-License-Identifier: Apache-2.0
// A page of the documentation as a page of the manual: the part of Markdown that docs/CLI.md and docs/cli
// are written in (headings, paragraphs, lists, tables, indented text, links) in the man macros of roff.
#pragma once

#include <string>
#include <string_view>

namespace gdr2 {

/// `name`: as in gdr2-verify; `description`: one line.
std::string man_page(std::string_view name, std::string_view description,
                     std::string_view markdown);

}  // namespace gdr2
