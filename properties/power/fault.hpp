// SPDX-License-Identifier: Apache-2.0
// A planted fault: a named way in which a right kernel is made wrong. Each acts at one place only:
// on what the chunk form or the token loop forms at a Site, on the inputs of a head, on the call as a
// whole, or on the arithmetic of the contract. A fault is plain data; properties/power/mutant.hpp
// makes a kernel of it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "reference/chunk_form.hpp"
#include "reference/contract.hpp"
#include "reference/token_form.hpp"

namespace gdr2::power {

using M = Matrix<float>;
using Stages = chunk::Stages<float>;
using Index = Eigen::Index;

/// What the backward of the chunk at hand has formed so far, and the scale of outputs.
struct Seen {
  std::map<chunk::Site, M> at;
  float scale = 1;
  const M& operator[](chunk::Site site) const { return at.at(site); }
};

/// Changes the stages of each chunk as they stand at a site.
struct OnStages {
  chunk::Site site;
  std::function<void(Stages&)> change;
};

/// Changes one matrix of each chunk.
struct OnChunk {
  chunk::Site site;
  std::function<void(const Stages&, const Seen&, M& x)> change;
};

/// Changes what the token loop forms for token t.
struct OnToken {
  token::Site site;
  std::function<void(const Head<float>&, Index t, M& x)> change;
};

/// Changes the inputs of a head after the options in the kernel.
struct OnHead {
  std::function<void(Head<float>&)> change;
};

/// What a fault around a call can see when the right kernel has answered.
struct Answer {
  const Problem& problem;
  const Tensors& inputs;
  const Tensors& untouched;  ///< the results as they were before the call
  Tensors& results;

  Tensor* find(Name name) const {
    const auto found = results.find(name);
    return found == results.end() ? nullptr : &found->second;
  }
};

/// Changes the call of a right kernel: what it is asked, and what it answered.
struct OnCall {
  std::function<void(Problem&, Tensors& inputs)> before;
  std::function<void(const Answer&)> after;
};

/// Computes under another contract than the one declared.
struct OnContract {
  std::function<void(Contract&)> change;
};

enum class Pass { kForward, kBackward, kBoth };
enum class Form { kChunk, kToken };

struct Fault {
  std::string name;  ///< "forward.A.identity"
  std::string kind;  ///< a row of the table in docs/POWER.md
  std::string what;  ///< one line
  Form form = Form::kChunk;
  Pass pass = Pass::kBoth;  ///< calls that the fault is in; the other pass is right
  std::variant<OnStages, OnChunk, OnToken, OnHead, OnCall, OnContract> change;
};

/// Every fault, each name once, grouped by where it acts.
const std::vector<Fault>& faults();

/// The same, made anew: those that remember earlier calls have forgotten them.
std::vector<Fault> fresh_faults();

/// Throws Error when there is none of that name.
const Fault& find_fault(const std::string& name);

/// So many faults that change something, drawn without repetition, of all kinds in turn.
std::vector<const Fault*> sample_of_kinds(int count, std::uint64_t seed);

/// Parts of faults(), a file each.
std::vector<Fault> generic_faults();   ///< every matrix of the chunk form x ways to spoil a matrix
std::vector<Fault> row_faults();       ///< in what a chunk of the forward starts from
std::vector<Fault> forward_faults();   ///< in the equations of the forward
std::vector<Fault> backward_faults();  ///< in the equations of the backward
std::vector<Fault> decode_faults();    ///< in the token loop
std::vector<Fault> head_faults();      ///< inputs of a head, in both forms
std::vector<Fault> call_faults();      ///< sequences, heads, strides
std::vector<Fault> option_faults();    ///< norms, gates, inputs read narrow or not at all
std::vector<Fault> result_faults();    ///< memory, values that are no numbers, runs that differ
std::vector<Fault> contract_faults();  ///< arithmetic other than declared

/// Faults of faults() that change no result, by name with the reason: no check can see them.
const std::map<std::string, std::string>& equivalent_faults();

}  // namespace gdr2::power
