// SPDX-License-Identifier: Apache-2.0
#include "reports/text_sink.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "reference/error.hpp"
#include "reports/json_file.hpp"

namespace gdr2 {

TextSink::TextSink(std::filesystem::path path, Render render)
    : path_(std::move(path)), render_(std::move(render)) {
  if (std::filesystem::is_directory(path_)) fail("{}: is a directory", path_.string());
  if (!std::ofstream(path_, std::ios::app))
    fail("{}: cannot write: {}", path_.string(), std::strerror(errno));
}

void TextSink::do_end(const RunRecord& run) { write_whole(path_, render_(run)); }

}  // namespace gdr2
