// SPDX-License-Identifier: Apache-2.0
// Where an element of a named tensor lives: its sequence, head, chunk, row inside the chunk and
// channel. Legs group errors by it and verdicts name it. Knows shapes, never values.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/problem.hpp"

namespace gdr2 {

inline constexpr std::int64_t kNowhere = -1;  ///< the tensor has no such axis
inline constexpr std::int64_t kBlock = 16;    ///< rows or channels that are looked at together

struct Place {
  std::int64_t sequence = kNowhere;
  std::int64_t head = kNowhere;
  std::int64_t chunk = kNowhere;    ///< inside the sequence
  std::int64_t row = kNowhere;      ///< inside the chunk; of a state: its key channel
  std::int64_t channel = kNowhere;  ///< the last axis; of a state: its value channel
  bool tail = false;                ///< in a chunk of fewer than 64 tokens
};

/// A chunk of a problem: chunk `index` of sequence `sequence`.
struct Chunk {
  std::int64_t sequence, index;
  Sequence tokens;  ///< indices into the flattened [B * T]
};

/// In the order of the stages' first axis.
std::vector<Chunk> chunks_of(const Problem& problem);

class Places {
 public:
  Places(const Problem& problem, Name name);
  Place operator[](std::int64_t index) const;  ///< row-major index

 private:
  enum class Kind { kTokens, kState, kStage, kParameter };

  Kind kind_;
  bool transposed_;  ///< a state stored as [V, K]
  Shape shape_;
  std::vector<Chunk> chunks_;
  std::vector<std::int32_t> chunk_of_token_;
};

}  // namespace gdr2
