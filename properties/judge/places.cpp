// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/places.hpp"

namespace gdr2 {
std::vector<Chunk> chunks_of(const Problem& problem) {
  std::vector<Chunk> chunks;
  const auto sequences = problem.sequences();
  for (std::size_t n = 0; n < sequences.size(); ++n) {
    const auto [begin, end] = sequences[n];
    for (auto t = begin; t < end; t += kChunk)
      chunks.push_back({std::int64_t(n), (t - begin) / kChunk, {t, std::min(t + kChunk, end)}});
  }
  return chunks;
}

Places::Places(const Problem& problem, Name name)
    : transposed_(problem.layout == StateLayout::kVK), shape_(shape_of(problem, name)) {
  kind_ = is_stage(name)         ? Kind::kStage
          : is_state(name)       ? Kind::kState
          : shape_.size() == 4   ? Kind::kTokens
                                 : Kind::kParameter;
  if (kind_ == Kind::kParameter) return;
  chunks_ = chunks_of(problem);
  if (kind_ != Kind::kTokens) return;
  chunk_of_token_.resize(problem.B * problem.T);
  for (std::size_t c = 0; c < chunks_.size(); ++c)
    for (auto t = chunks_[c].tokens.begin; t < chunks_[c].tokens.end; ++t)
      chunk_of_token_[t] = std::int32_t(c);
}

Place Places::operator[](std::int64_t index) const {
  const auto columns = shape_.back();
  if (kind_ == Kind::kParameter) {
    if (shape_.size() == 1) return {.head = index};
    return {.head = index / columns, .channel = index % columns};
  }
  Place place{.channel = index % columns};
  const auto from = [&](const Chunk& chunk) {
    place.sequence = chunk.sequence;
    place.chunk = chunk.index;
    place.tail = chunk.tokens.length() < kChunk;
  };
  if (kind_ == Kind::kTokens) {
    const auto heads = shape_[2], token = index / columns / heads;
    const auto& chunk = chunks_[chunk_of_token_[token]];
    from(chunk);
    place.head = index / columns % heads;
    place.row = token - chunk.tokens.begin;
    return place;
  }
  const auto rows = shape_[2], heads = shape_[1];
  place.row = index / columns % rows;
  place.head = index / columns / rows % heads;
  const auto first = index / columns / rows / heads;
  if (kind_ == Kind::kStage) {
    from(chunks_[first]);
  } else {
    place.sequence = first;
    if (transposed_) std::swap(place.row, place.channel);
  }
  return place;
}

}  // namespace gdr2
