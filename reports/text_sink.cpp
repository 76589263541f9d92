// SPDX-License-Identifier: Apache-2.0
#include "reports/text_sink.hpp"

#include "reports/json_file.hpp"

namespace gdr2 {

TextSink::TextSink(std::filesystem::path path, Render render)
    : path_(std::move(path)), render_(std::move(render)) {
  must_be_writable(path_);
}

void TextSink::do_end(const RunRecord& run) { write_whole(path_, render_(run)); }

}  // namespace gdr2
