// SPDX-License-Identifier: Apache-2.0
#include "cli/man_page.hpp"

#include <fmt/format.h>

#include <cctype>
#include <regex>
#include <sstream>
#include <vector>

#include "reports/build_info.hpp"

namespace gdr2 {
namespace {

/// Nothing in it is taken for a request or an escape, and "-" stays what a shell takes.
std::string escaped(std::string_view text) {
  std::string roff;
  for (const char c : text) {
    if (c == '\\')
      roff += "\\e";
    else if (c == '-')
      roff += "\\-";
    else
      roff += c;
  }
  return roff.starts_with('.') || roff.starts_with('\'') ? "\\&" + roff : roff;
}

/// Code and emphasis in fonts, links by their text.
std::string inline_text(std::string text) {
  text = std::regex_replace(text, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
  text = escaped(text);
  text = std::regex_replace(text, std::regex("`([^`]*)`"), R"(\fB$1\fR)");
  return std::regex_replace(text, std::regex(R"(\*([A-Za-z][^*]*)\*)"), R"(\fI$1\fR)");
}

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream stream(row.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    const auto begin = cell.find_first_not_of(' ');
    cells.push_back(begin == std::string::npos
                        ? ""
                        : cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
  }
  return cells;
}

/// One document, line by line.
class Writer {
 public:
  void add(const std::string& line) {
    const bool code = line.starts_with("    ");
    if (in_code_ && !code && !line.empty()) end_code();
    if (line.starts_with("# ")) return;  // its name stands in the heading of the page
    if (line.starts_with("## "))
      heading(".SH", line.substr(3));
    else if (line.starts_with("### "))
      heading(".SS", line.substr(4));
    else if (code)
      add_code(line.substr(4));
    else if (line.starts_with("|"))
      add_row(line);
    else if (line.starts_with("- "))
      text_ += ".IP \\(bu 2\n" + inline_text(line.substr(2)) + '\n';
    else if (line.empty())
      blank_ = true;
    else
      add_text(line);
  }

  std::string finish() {
    if (in_code_) end_code();
    return text_;
  }

 private:
  void heading(const char* request, std::string title) {
    for (char& c : title) c = char(std::toupper(static_cast<unsigned char>(c)));
    text_ += fmt::format("{} {}\n", request, escaped(title));
    blank_ = in_table_ = false;
  }

  void add_text(const std::string& line) {
    if (blank_) text_ += ".PP\n";
    blank_ = in_table_ = false;
    const auto begin = line.find_first_not_of(' ');
    text_ += inline_text(line.substr(begin)) + '\n';
  }

  void add_code(const std::string& line) {
    if (!in_code_)
      text_ += ".PP\n.RS 4\n.nf\n";
    else if (blank_)
      text_ += '\n';
    in_code_ = true, blank_ = in_table_ = false;
    text_ += escaped(line) + '\n';
  }
  void end_code() {
    text_ += ".fi\n.RE\n";
    in_code_ = false, blank_ = true;
  }

  /// The first row names the columns and the second rules them off.
  void add_row(const std::string& line) {
    if (!in_table_) {
      in_table_ = true, row_ = 0;
    }
    if (++row_ <= 2) return;
    const auto cells = cells_of(line);
    text_ += ".TP\n" + inline_text(cells.front()) + '\n';
    std::string rest;
    for (std::size_t i = 1; i < cells.size(); ++i)
      if (!cells[i].empty()) rest += (rest.empty() ? "" : "; ") + inline_text(cells[i]);
    text_ += rest + '\n';
    blank_ = false;
  }

  std::string text_;
  bool in_code_ = false, in_table_ = false, blank_ = false;
  int row_ = 0;
};

}  // namespace

std::string man_page(std::string_view name, std::string_view description,
                     std::string_view markdown) {
  std::string title(name);
  for (char& c : title) c = char(std::toupper(static_cast<unsigned char>(c)));
  Writer writer;
  std::istringstream lines{std::string(markdown)};
  for (std::string line; std::getline(lines, line);) writer.add(line);
  return fmt::format(
      ".TH {} 1 \"\" \"gdr2 {}\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n.SH "
      "DESCRIPTION\n{}",
      escaped(title), build_info::version, escaped(name), escaped(description), writer.finish());
}

}  // namespace gdr2
