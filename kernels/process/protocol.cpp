// SPDX-License-Identifier: Apache-2.0
#include "kernels/process/protocol.hpp"

#include <fmt/format.h>

namespace gdr2::protocol {
namespace {

constexpr const char* kWrong = "wrong";
constexpr const char* kSkipped = "skipped";
constexpr const char* kCrashed = "crashed";

const char* word_of(KernelFault::Kind kind) {
  if (kind == KernelFault::Kind::kWrong) return kWrong;
  return kind == KernelFault::Kind::kSkipped ? kSkipped : kCrashed;
}

const char* word_of(Gate gate) {
  if (gate == Gate::kSoftplus) return "softplus";
  return gate == Gate::kLowerBound ? "lower_bound" : "log";
}

const char* word_of(Loss loss) {
  if (loss == Loss::kO) return "o";
  return loss == Loss::kHt ? "ht" : "both";
}

}  // namespace

Json to_json(const Problem& p) {
  return {{"line", to_string(p)},
          {"B", p.B},
          {"T", p.T},
          {"N", p.N()},
          {"H", p.H},
          {"HV", p.HV},
          {"K", p.K},
          {"V", p.V},
          {"lens", p.lens},
          {"dtype", to_string(p.dtype)},
          {"gdtype", to_string(p.g_dtype)},
          {"scale", p.scale_value()},
          {"h0", p.h0},
          {"ht", p.ht},
          {"backward", p.backward},
          {"loss", word_of(p.loss)},
          {"layout", p.layout == StateLayout::kVK ? "vk" : "kv"},
          {"gate", word_of(p.gate)},
          {"lower_bound", p.lower_bound},
          {"l2norm", p.l2norm},
          {"l2norm_eps", kL2NormEpsilon},
          {"neg_eigval", p.neg_eigval}};
}

std::string contract_text(const Contract& c) {
  return fmt::format(
      "{},auxiliary={},solve={},state={},gate={},accumulator={},normalized={},direct_rows={}",
      to_string(c.operand), to_string(c.auxiliary), to_string(c.solve), to_string(c.state),
      to_string(c.gate), to_string(c.accumulator), to_string(c.normalized), c.direct_rows);
}

Json signature_of(const Tensors& tensors) {
  Json signature = Json::object();
  for (const auto& [name, tensor] : tensors)
    signature[std::string(to_string(name))] = {{"dtype", to_string(tensor.dtype())},
                                               {"shape", tensor.shape()}};
  return signature;
}

std::string difference(const Json& given, const Json& due) {
  if (!given.is_object()) return "it lists no results";
  for (const auto& [name, tensor] : due.items()) {
    if (!given.contains(name)) return fmt::format("{}: no result", name);
    const auto& other = given[name];
    for (const char* field : {"dtype", "shape"})
      if (!other.is_object() || !other.contains(field) || other[field] != tensor[field])
        return fmt::format(
            "{}: {} is {}, not {}", name, field,
            other.is_object() && other.contains(field) ? other[field].dump() : "unknown",
            tensor[field].dump());
  }
  for (const auto& [name, tensor] : given.items())
    if (!due.contains(name)) return fmt::format("{}: a result nobody asked for", name);
  return "";
}

Json failure(const std::string& error, KernelFault::Kind kind) {
  return {{"ok", false}, {"error", error}, {"kind", word_of(kind)}, {"last", true}};
}

void throw_failure(const Json& answer) {
  const auto kind = answer.value("kind", Json()), error = answer.value("error", Json());
  throw KernelFault(kind == kWrong     ? KernelFault::Kind::kWrong
                    : kind == kSkipped ? KernelFault::Kind::kSkipped
                                       : KernelFault::Kind::kCrashed,
                    error.is_string() ? error.get<std::string>() : "an error without a message");
}

}  // namespace gdr2::protocol
