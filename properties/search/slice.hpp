// SPDX-License-Identifier: Apache-2.0
// Parts of a call along its axes: some tokens, heads or channels of every tensor that has them.
#pragma once

#include <vector>

#include "properties/laws/law_run.hpp"

namespace gdr2::search {

using Indices = std::vector<std::int64_t>;

/// 0 .. n without begin .. end.
Indices all_but(std::int64_t n, std::int64_t begin, std::int64_t end);

/// Without local tokens begin .. end of sequence n (of every sequence, in a batch).
laws::Call without_tokens(const laws::Call& call, std::int64_t n, std::int64_t begin,
                          std::int64_t end);
laws::Call with_key_heads(const laws::Call& call, const Indices& heads);
/// One value head of each key head: the `which`-th of its group.
laws::Call with_value_head(const laws::Call& call, std::int64_t which);
laws::Call with_key_channels(const laws::Call& call, const Indices& channels);
laws::Call with_value_channels(const laws::Call& call, const Indices& channels);

}  // namespace gdr2::search
