// SPDX-License-Identifier: Apache-2.0
// JSON in files: read with the place of what is wrong in it, and written whole or not at all.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace gdr2 {

/// All throw Error naming the file.
std::string read_text(const std::filesystem::path& path);
nlohmann::ordered_json parse_json(const std::string& text, const std::string& where);
nlohmann::ordered_json read_json(const std::filesystem::path& path);

/// Bytes that are not UTF-8 (a path may hold any) are replaced, not thrown over. `indent` -1: one line.
std::string dump_json(const nlohmann::ordered_json& json, int indent);

/// A path that no file can be written to, said before anything runs for it; what is there stays.
void must_be_writable(const std::filesystem::path& path);

/// Writes beside `path` and renames into place.
void write_whole(const std::filesystem::path& path, const std::string& text);

}  // namespace gdr2
