// SPDX-License-Identifier: Apache-2.0
// The words of the line protocol between the suite and a kernel in another process (docs/PROTOCOL.md):
// one JSON object a line each way. Pure translation; nothing here reads or writes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kernels/fault.hpp"
#include "kernels/kernel.hpp"

namespace gdr2::protocol {

using Json = nlohmann::json;

inline constexpr int kVersion = 1;

/// Every option of a problem by name, and the line it prints itself as.
Json to_json(const Problem& problem);

/// "bf16,auxiliary=none,..." with every site: parse_contract reads it back.
std::string contract_text(const Contract& contract);

/// Dtype and shape of each tensor, the list of results that an answer gives.
Json signature_of(const Tensors& tensors);

/// What a signature lacks of, or adds to, the one that is due; empty when they are the same.
std::string difference(const Json& given, const Json& due);

/// An answer that tells of a failure: {"ok": false, "error": ..., "kind": "crashed", "wrong" or "skipped",
/// "last": true}, after which the process ends.
Json failure(const std::string& error, KernelFault::Kind kind);
/// Its fault.
[[noreturn]] void throw_failure(const Json& answer);

}  // namespace gdr2::protocol
