// SPDX-License-Identifier: Apache-2.0
// Where in a tensor the error sits, in figures of bounded size: how many elements at which z, how the
// error grows along the tokens of a sequence, and two maps of z: where in the tensor (token and head)
// and where in a chunk (row and channel). All figures are rounded to 3 significant digits, batches to 6,
// since a report holds many. Describes; never decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/problem.hpp"

namespace gdr2 {

/// z over two axes, each cut into at most kMapCells cells of equal extent.
struct ErrorMap {
  std::string rows, columns;                 ///< what the axes count: "token", "head" ...
  std::int64_t row_count = 0, column_count = 0;  ///< of tokens, heads ...
  std::int64_t height = 0, width = 0;        ///< cells
  std::vector<double> rms_z, max_z;          ///< [height, width]; inf: an element is not finite

  bool operator==(const ErrorMap&) const = default;
};

struct ErrorProfile {
  /// Elements with z in [i, i + 1) / kBinsPerZ; the last of kZBins holds all beyond, and elements
  /// that are not finite. Zeros at the end are left out.
  std::vector<std::int64_t> histogram;
  /// Of tokens 0, 1, 2-3, 4-7 ... of their sequence: rms z, and error norm over reference norm. Empty
  /// for tensors without tokens.
  std::vector<double> growth_z, growth_rel;
  /// Mean square of z over kBatches consecutive parts of the tensor (fewer when it has fewer
  /// elements): what the uncertainty of rms z is estimated from.
  std::vector<double> batches;
  std::vector<ErrorMap> maps;

  bool operator==(const ErrorProfile&) const = default;
};

inline constexpr int kBinsPerZ = 4;
inline constexpr int kZBins = 8 * kBinsPerZ + 1;
inline constexpr std::int64_t kBatches = 16;
inline constexpr std::int64_t kMapCells = 32;        ///< rows of a map
inline constexpr std::int64_t kMapColumnCells = 16;  ///< columns of a map

/// Collects the profile of one tensor, element by element.
class Profiler {
 public:
  Profiler(const Problem& problem, Name name);

  /// `z` may be infinite, never NaN; `error` and `reference` are finite, 0 where they are not known.
  void add(std::int64_t index, double error, double reference, double z);
  ErrorProfile finish() const;

 private:
  struct Cell {
    double sum = 0, max = 0;
    std::int64_t count = 0;
  };
  struct Plane {
    ErrorMap map;
    std::vector<Cell> cells;
    void add(std::int64_t row, std::int64_t column, double z);
  };
  struct Block {
    double z = 0, error = 0, reference = 0;  ///< sums of squares
    std::int64_t count = 0;
  };

  static Plane plane(const char* rows, std::int64_t row_count, const char* columns,
                     std::int64_t column_count);
  void add_token(std::int64_t index, double error, double reference, double z);

  bool has_tokens_ = false;
  std::int64_t heads_ = 1, channels_ = 1;     // of [tokens, heads, channels], or [heads, k, v] of a state
  std::int64_t inner_rows_ = 1;
  std::int64_t count_ = 0;                    // elements of the tensor
  std::vector<std::int64_t> position_;        // of every token in its sequence
  std::vector<std::int64_t> histogram_;
  std::vector<Block> growth_;
  std::vector<Cell> batches_;
  std::vector<Plane> planes_;
};

}  // namespace gdr2
