// SPDX-License-Identifier: Apache-2.0
#include "reference/problem.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

template <class T>
T parse_number(const std::string& key, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    fail("problem: {}: '{}' is not a number", key, text);
  return value;
}

bool parse_flag(const std::string& key, std::string_view text) {
  if (text != "0" && text != "1") fail("problem: {}: '{}' is not 0 or 1", key, text);
  return text == "1";
}

template <class T>
struct Word {
  std::string_view text;
  T value;
};

constexpr std::array<Word<Gate>, 3> kGates{{{"log", Gate::kLog},
                                            {"softplus", Gate::kSoftplus},
                                            {"lower_bound", Gate::kLowerBound}}};
constexpr std::array<Word<StateLayout>, 2> kLayouts{
    {{"kv", StateLayout::kKV}, {"vk", StateLayout::kVK}}};
constexpr std::array<Word<Loss>, 3> kLosses{
    {{"o", Loss::kO}, {"ht", Loss::kHt}, {"both", Loss::kBoth}}};
constexpr std::array<Word<View>, 3> kViews{
    {{"dense", View::kDense}, {"padded", View::kPadded}, {"fused", View::kFused}}};
constexpr std::array<Word<bool>, 2> kPasses{{{"fwd", false}, {"both", true}}};

template <class T, std::size_t n>
T parse_word(const std::array<Word<T>, n>& words, const std::string& key, std::string_view text) {
  std::string accepted;
  for (const auto& word : words) {
    if (word.text == text) return word.value;
    accepted += (accepted.empty() ? "" : ", ") + std::string(word.text);
  }
  fail("problem: {}: '{}' is not one of {}", key, text, accepted);
}

template <class T, std::size_t n>
std::string_view word_of(const std::array<Word<T>, n>& words, T value) {
  for (const auto& word : words)
    if (word.value == value) return word.text;
  return "?";
}

constexpr std::int64_t kLargest = std::int64_t{1} << 40;

std::vector<std::int64_t> parse_lens(std::string_view text) {
  std::vector<std::int64_t> lens;
  std::istringstream stream{std::string(text)};
  for (std::string item; std::getline(stream, item, ',');) {
    const auto length = parse_number<std::int64_t>("lens", item);
    // Here already, not in validate alone: the lengths are summed before that.
    if (length < 0 || length > kLargest) fail("problem: lens: {} is out of range", length);
    lens.push_back(length);
  }
  if (text.ends_with(',')) fail("problem: lens: '{}' ends with a comma", text);
  return lens;
}

/// Takes one key out of the map, when it is there.
std::optional<std::string> take(std::map<std::string, std::string>& keys, const char* key) {
  auto node = keys.extract(key);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

}  // namespace

/// K^-1/2 rounded once, as an fp64 kernel forms it from its wider numbers.
double Problem::scale_value() const {
  return scale.value_or(static_cast<double>(1 / std::sqrt(static_cast<long double>(K))));
}

std::vector<Sequence> Problem::sequences() const {
  std::vector<Sequence> sequences;
  std::int64_t begin = 0;
  for (std::int64_t n = 0; n < N(); ++n) {
    const auto length = lens.empty() ? T : lens[n];
    sequences.push_back({begin, begin + length});
    begin += length;
  }
  return sequences;
}

std::map<std::string, std::string> split_keys(std::string_view line) {
  std::map<std::string, std::string> keys;
  std::istringstream stream{std::string(line)};
  for (std::string word; stream >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      fail("problem: '{}' is not of the form key=value", word);
    if (equals + 1 == word.size()) fail("problem: {}: no value", word.substr(0, equals));
    if (!keys.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      fail("problem: {}: given twice", word.substr(0, equals));
  }
  return keys;
}

Problem take_problem(std::map<std::string, std::string>& keys) {
  Problem p;
  const auto size = [&](const char* key, std::int64_t& field) {
    if (auto text = take(keys, key)) field = parse_number<std::int64_t>(key, *text);
  };
  const auto flag = [&](const char* key, bool& field) {
    if (auto text = take(keys, key)) field = parse_flag(key, *text);
  };
  const auto word = [&](const char* key, const auto& words, auto& field) {
    if (auto text = take(keys, key)) field = parse_word(words, key, *text);
  };
  const bool T_given = keys.contains("T"), HV_given = keys.contains("HV");
  size("B", p.B);
  size("T", p.T);
  size("H", p.H);
  size("HV", p.HV);
  size("K", p.K);
  size("V", p.V);
  if (!HV_given) p.HV = p.H;
  if (auto text = take(keys, "lens")) {
    p.lens = parse_lens(*text);
    const auto sum = std::accumulate(p.lens.begin(), p.lens.end(), std::int64_t{0});
    if (T_given && p.T != sum) fail("problem: T: {} is not the sum of lens, {}", p.T, sum);
    p.T = sum;
  }
  if (auto text = take(keys, "dtype")) p.dtype = parse_format(*text, "problem: dtype");
  p.g_dtype = p.state_dtype();
  if (auto text = take(keys, "gdtype")) p.g_dtype = parse_dtype(*text, "problem: gdtype");
  if (auto text = take(keys, "scale")) p.scale = parse_number<double>("scale", *text);
  flag("h0", p.h0);
  flag("ht", p.ht);
  word("pass", kPasses, p.backward);
  word("loss", kLosses, p.loss);
  word("layout", kLayouts, p.layout);
  word("gate", kGates, p.gate);
  if (auto text = take(keys, "lower_bound"))
    p.lower_bound = parse_number<double>("lower_bound", *text);
  flag("l2norm", p.l2norm);
  flag("neg_eigval", p.neg_eigval);
  word("view", kViews, p.view);
  validate(p);
  return p;
}

Problem parse_problem(std::string_view line) {
  auto keys = split_keys(line);
  auto problem = take_problem(keys);
  if (!keys.empty()) fail("problem: {}: unknown key", keys.begin()->first);
  return problem;
}

void validate(const Problem& p) {
  const auto at_least = [](const char* key, std::int64_t value, std::int64_t least) {
    if (value < least || value > kLargest) fail("problem: {}: {} is out of range", key, value);
  };
  at_least("B", p.B, 1);
  at_least("T", p.T, p.lens.empty() ? 1 : 0);
  at_least("H", p.H, 1);
  at_least("HV", p.HV, 1);
  at_least("K", p.K, 1);
  at_least("V", p.V, 1);
  if (p.HV % p.H) fail("problem: HV: {} is not a multiple of H, {}", p.HV, p.H);
  if (!p.lens.empty() && p.B != 1) fail("problem: B: {} with packed lens; it must be 1", p.B);
  for (auto length : p.lens) at_least("lens", length, 0);
  if (p.scale && !std::isfinite(*p.scale)) fail("problem: scale: {} is not finite", *p.scale);
  if (!(p.lower_bound < 0) || std::isinf(p.lower_bound))
    fail("problem: lower_bound: {} is not negative", p.lower_bound);
  if (p.g_dtype != DType::kF32 && p.g_dtype != p.storage())
    fail("problem: gdtype: {} is neither fp32 nor the storage of dtype", to_string(p.g_dtype));
}

std::string to_string(const Problem& p) {
  const Problem standard;
  std::string line;
  const auto put = [&](const char* key, auto value, bool differs) {
    if (differs) line += fmt::format("{}{}={}", line.empty() ? "" : " ", key, value);
  };
  put("B", p.B, p.B != standard.B);
  put("T", p.T, p.lens.empty() && p.T != standard.T);
  put("H", p.H, p.H != standard.H);
  put("HV", p.HV, p.HV != p.H);
  put("K", p.K, p.K != standard.K);
  put("V", p.V, p.V != standard.V);
  put("lens", fmt::format("{}", fmt::join(p.lens, ",")), !p.lens.empty());
  put("dtype", to_string(p.dtype), p.dtype != standard.dtype);
  put("gdtype", to_string(p.g_dtype), p.g_dtype != p.state_dtype());
  put("scale", p.scale.value_or(0), p.scale.has_value());
  put("h0", int(p.h0), p.h0 != standard.h0);
  put("ht", int(p.ht), p.ht != standard.ht);
  put("pass", word_of(kPasses, p.backward), p.backward != standard.backward);
  put("loss", word_of(kLosses, p.loss), p.loss != standard.loss);
  put("layout", word_of(kLayouts, p.layout), p.layout != standard.layout);
  put("gate", word_of(kGates, p.gate), p.gate != standard.gate);
  put("lower_bound", p.lower_bound, p.lower_bound != standard.lower_bound);
  put("l2norm", int(p.l2norm), p.l2norm != standard.l2norm);
  put("neg_eigval", int(p.neg_eigval), p.neg_eigval != standard.neg_eigval);
  put("view", word_of(kViews, p.view), p.view != standard.view);
  return line.empty() ? "T=64" : line;
}

std::string_view to_string(Name name) {
  constexpr std::array<std::string_view, kNames> kText{
      "q",  "k",  "v",  "g",  "b",  "w",  "h0", "A_log", "dt_bias", "do",     "dht",
      "o",  "ht", "dq", "dk", "dv", "dg", "db", "dw",    "dh0",     "dA_log", "ddt_bias",
      "T",  "A",  "Aqk", "Y", "U", "H", "R", "dH",   "dR",      "P"};
  return kText[int(name)];
}

std::optional<Name> find_name(std::string_view text) {
  for (int i = 0; i < kNames; ++i)
    if (to_string(Name(i)) == text) return Name(i);
  return std::nullopt;
}

Shape shape_of(const Problem& p, Name name) {
  switch (name) {
    case Name::q: case Name::k: case Name::g: case Name::b:
    case Name::dq: case Name::dk: case Name::dg: case Name::db:
      return {p.B, p.T, p.H, p.K};
    case Name::v: case Name::w: case Name::o: case Name::do_: case Name::dv: case Name::dw:
      return {p.B, p.T, p.HV, p.V};
    case Name::h0: case Name::ht: case Name::dh0: case Name::dht:
      if (p.layout == StateLayout::kVK) return {p.N(), p.HV, p.V, p.K};
      return {p.N(), p.HV, p.K, p.V};
    case Name::A_log: case Name::dA_log:
      return {p.H};
    case Name::T: case Name::A: case Name::Aqk:
      return {chunk_count(p), p.H, kChunk, kChunk};
    case Name::Y:
      return {chunk_count(p), p.H, kChunk, p.K};
    case Name::U: case Name::R: case Name::dR: case Name::P:
      return {chunk_count(p), p.HV, kChunk, p.V};
    case Name::H: case Name::dH:
      return {chunk_count(p), p.HV, p.K, p.V};
    case Name::dt_bias: case Name::ddt_bias:
      break;
  }
  return {p.H, p.K};
}

DType dtype_of(const Problem& p, Name name) {
  switch (name) {
    case Name::g: case Name::dg:
      return p.g_dtype;
    case Name::h0: case Name::ht: case Name::dh0: case Name::dht:
    case Name::A_log: case Name::dA_log: case Name::dt_bias: case Name::ddt_bias:
      return p.state_dtype();
    default:
      return is_stage(name) ? p.state_dtype() : p.storage();
  }
}

std::vector<Name> input_names(const Problem& p) {
  std::vector<Name> names{Name::q, Name::k, Name::v, Name::g, Name::b, Name::w};
  if (p.h0) names.push_back(Name::h0);
  if (p.gate != Gate::kLog) names.insert(names.end(), {Name::A_log, Name::dt_bias});
  if (p.backward && p.has_do()) names.push_back(Name::do_);
  if (p.backward && p.has_dht()) names.push_back(Name::dht);
  return names;
}

std::vector<Name> output_names(const Problem& p) {
  std::vector<Name> names{Name::o};
  if (p.ht) names.push_back(Name::ht);
  return names;
}

std::vector<Name> gradient_names(const Problem& p) {
  if (!p.backward) return {};
  std::vector<Name> names{Name::dq, Name::dk, Name::dv, Name::dg, Name::db, Name::dw};
  if (p.h0) names.push_back(Name::dh0);
  if (p.gate != Gate::kLog) names.insert(names.end(), {Name::dA_log, Name::ddt_bias});
  return names;
}

bool is_state(Name name) {
  return name == Name::h0 || name == Name::ht || name == Name::dh0 || name == Name::dht;
}

bool is_key_side(Name name) {
  return !is_state(name) && !is_parameter(name) && !is_value_side(name) && !is_stage(name);
}

bool is_value_side(Name name) {
  return name == Name::v || name == Name::w || name == Name::o || name == Name::do_ ||
         name == Name::dv || name == Name::dw;
}

bool is_parameter(Name name) {
  return name == Name::A_log || name == Name::dt_bias || name == Name::dA_log ||
         name == Name::ddt_bias;
}

bool is_stage(Name name) { return int(name) >= int(Name::T); }

bool is_backward_stage(Name name) {
  return name == Name::dH || name == Name::dR || name == Name::P;
}

std::int64_t chunk_count(const Problem& p) {
  std::int64_t count = 0;
  for (const auto& s : p.sequences()) count += (s.length() + kChunk - 1) / kChunk;
  return count;
}

Tensors allocated(const Problem& p, const std::vector<Name>& names, std::byte pattern) {
  Tensors tensors;
  for (auto name : names) {
    tensors[name] = Tensor(dtype_of(p, name), shape_of(p, name));
    if (pattern != std::byte{0}) tensors[name].fill_storage(pattern);
  }
  return tensors;
}

}  // namespace gdr2
