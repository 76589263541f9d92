// SPDX-License-Identifier: Apache-2.0
// A problem: the sizes, dtypes and options of one call of a gated delta rule-2 kernel, without the
// values. It prints itself as one line that holds only what differs from the default, and that line
// parses back to the same problem: the repro line. Also: the tensors of a problem by name, with
// their shapes, dtypes and the sequences they hold.
//
// Keys of the line, all `key=value`, any order, each at most once:
//   B T H HV K V    sizes; HV a multiple of H (default HV = H)
//   lens=5,0,64     packed sequences; B is 1 and T their sum
//   dtype           fp64 fp32 tf32 bf16 fp16: products' format; q k v b w o are stored in it (tf32: fp32)
//   gdtype          storage of g and dg (default fp32; fp64 in an fp64 problem)
//   scale           default K^-1/2
//   h0 ht           0 or 1: an initial state is given, the final state is wanted
//   pass            fwd or both: forward only, or forward and backward
//   loss            o, ht or both: which cotangents are given
//   layout          kv or vk: state layout
//   gate            log, softplus or lower_bound; lower_bound=-5
//   l2norm neg_eigval   0 or 1
//   view            dense, padded (poisoned gaps between rows) or fused (q k v slices of one buffer)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/format.hpp"
#include "reference/tensor.hpp"

namespace gdr2 {

inline constexpr std::int64_t kChunk = 64;       ///< tokens a chunk (C)
inline constexpr double kL2NormEpsilon = 1e-6;   ///< added to the sum of squares

enum class Gate : std::int32_t { kLog = 0, kSoftplus = 1, kLowerBound = 2 };
enum class StateLayout : std::int32_t { kKV = 0, kVK = 1 };
enum class Loss { kO, kHt, kBoth };
enum class View { kDense, kPadded, kFused };

/// Consecutive tokens of one sequence, as indices into the flattened [B * T] tokens.
struct Sequence {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t length() const { return end - begin; }
};

struct Problem {
  std::int64_t B = 1, T = 64, H = 1, HV = 1, K = 64, V = 64;
  std::vector<std::int64_t> lens;  ///< packed sequences; empty: B sequences of T tokens
  Format dtype = Format::kBF16;
  DType g_dtype = DType::kF32;
  std::optional<double> scale;
  bool h0 = false, ht = true, backward = true;
  Loss loss = Loss::kBoth;
  StateLayout layout = StateLayout::kKV;
  Gate gate = Gate::kLog;
  double lower_bound = -5;
  bool l2norm = false, neg_eigval = false;
  View view = View::kDense;

  std::int64_t N() const { return lens.empty() ? B : std::int64_t(lens.size()); }
  std::int64_t group() const { return HV / H; }  ///< value heads per query/key head
  double scale_value() const;
  DType storage() const { return storage_of(dtype); }
  DType state_dtype() const { return dtype == Format::kF64 ? DType::kF64 : DType::kF32; }
  bool has_do() const { return loss != Loss::kHt; }
  bool has_dht() const { return loss != Loss::kO; }
  std::vector<Sequence> sequences() const;

  bool operator==(const Problem&) const = default;
};

/// One line, only what differs from the default; parse(to_string(p)) == p.
std::string to_string(const Problem& problem);

/// Throws Error naming the key and what is wrong with its value.
Problem parse_problem(std::string_view line);

/// As parse_problem, from split keys; keys that are not a problem's are left in `keys`.
Problem take_problem(std::map<std::string, std::string>& keys);

/// "key=value" words; throws Error on a word without '=', an empty value or a repeated key.
std::map<std::string, std::string> split_keys(std::string_view line);

/// Throws Error naming the key, when sizes or options cannot go together.
void validate(const Problem& problem);

/// The tensors of a problem. Cotangents do_ and dht are inputs of the backward.
enum class Name {
  q, k, v, g, b, w, h0, A_log, dt_bias, do_, dht,          // inputs
  o, ht, dq, dk, dv, dg, db, dw, dh0, dA_log, ddt_bias,    // outputs
  T, A, Aqk, Y, U, H, R, dH, dR, P,                        // stages, by chunk
};
inline constexpr int kNames = int(Name::P) + 1;

std::string_view to_string(Name name);
std::optional<Name> find_name(std::string_view text);

Shape shape_of(const Problem& problem, Name name);
DType dtype_of(const Problem& problem, Name name);

std::vector<Name> input_names(const Problem& problem);     ///< that the problem gives, cotangents too
std::vector<Name> output_names(const Problem& problem);    ///< o and, when wanted, ht
std::vector<Name> gradient_names(const Problem& problem);  ///< empty without a backward

bool is_state(Name name);       ///< h0, ht and their cotangents: [N, HV, K, V] or as layout says
bool is_key_side(Name name);    ///< [B, T, H, K]
bool is_value_side(Name name);  ///< [B, T, HV, V]
bool is_parameter(Name name);   ///< A_log, dt_bias and their gradients

/// Stages: intermediates of the chunk form that a kernel may export (docs/MATH.md 4 and 5), by chunk.
/// Chunks of all sequences in order, each sequence starting a new one; rows past a tail are zero.
///   H [chunks, HV, K, V] state entering a chunk     dH its cotangent leaving it
///   T A Aqk [chunks, H, 64, 64]    Y [chunks, H, 64, K]    U R dR P [chunks, HV, 64, V]
bool is_stage(Name name);
bool is_backward_stage(Name name);  ///< dH, dR or P
std::int64_t chunk_count(const Problem& problem);

using Tensors = std::map<Name, Tensor>;

/// Dense tensors of the problem, every byte `pattern` (0xFF: NaN in every dtype).
Tensors allocated(const Problem& problem, const std::vector<Name>& names,
                  std::byte pattern = std::byte{0});

}  // namespace gdr2
