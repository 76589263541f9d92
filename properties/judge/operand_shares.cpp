// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/operand_shares.hpp"

#include <variant>

#include "reference/chunk_form.hpp"
#include "reference/run.hpp"

namespace gdr2 {
namespace {

using M = Matrix<double>;
using Stages = chunk::Stages<double>;

/// A matrix that products take: of the stages, formed by the backward, or what A is multiplied with.
struct BesideA {};
struct Operand {
  const char* name;
  std::variant<M Stages::*, chunk::Site, BesideA> source;
};

const Operand kForward[] = {{"Qg", &Stages::Qg}, {"Ebar", &Stages::Ebar}, {"Kt", &Stages::Kt}, {"Aqk", &Stages::Aqk},
                            {"A", &Stages::A},   {"Z - Ebar S", BesideA{}}, {"R", &Stages::R}, {"S", &Stages::S}};
const Operand kBackward[] = {{"dO", chunk::Site::kdO}, {"dS", chunk::Site::kdS}, {"dR", chunk::Site::kdR}, {"P", chunk::Site::kP}};

/// Exact, but for one operand, which is rounded stochastically to the contract's format. A product knows
/// its operands by their values: the chunk's matrix itself, its transpose, its negative, or a row of it.
class OneRounded : public Exact<double> {
 public:
  OneRounded(const Contract& contract, const Operand& operand, std::uint32_t seed)
      : contract_(exact_but_rows(contract)),
        operand_(operand),
        format_(contract.operand),
        draws_(contract, RoundingMode::kStochastic, seed) {}

  const Contract& contract() const { return contract_; }

  void at(chunk::Site, Stages& s) const { see(s); }
  void at(chunk::Site site, const Stages& s, M& x) const {
    if (site == chunk::Site::kdO) see(s);
    if (const auto* mine = std::get_if<chunk::Site>(&operand_.source); mine && *mine == site) seen_ = x;
  }

  M product(Format, const M& a, const M& b) const {
    if (std::holds_alternative<BesideA>(operand_.source)) return same(a, seen_) ? a * rounded(b) : a * b;
    return taken(a) * taken(b);
  }
  M add_product(Format format, const M& c, const M& a, const M& b) const { return c + product(format, a, b); }

 private:
  static Contract exact_but_rows(const Contract& contract) {
    auto exact = standard_contract(Format::kF64);
    exact.direct_rows = contract.direct_rows;
    return exact;
  }

  void see(const Stages& s) const {
    if (const auto* member = std::get_if<M Stages::*>(&operand_.source)) seen_ = s.*(*member);
    if (std::holds_alternative<BesideA>(operand_.source)) seen_ = s.A;
  }

  static bool same(const M& a, const M& b) { return a.rows() == b.rows() && a.cols() == b.cols() && a == b; }

  bool is_row(const M& x) const {
    if (x.rows() != 1 || x.cols() != seen_.cols()) return false;
    for (Eigen::Index i = 0; i < seen_.rows(); ++i)
      if (x.row(0) == seen_.row(i)) return true;
    return false;
  }

  M rounded(M x) const {
    draws_.round(format_, x);
    return x;
  }
  M taken(const M& x) const {
    const M turned = x.transpose();
    const bool mine = same(x, seen_) || same(turned, seen_) || same(-turned, seen_) || is_row(x) || is_row(turned);
    return mine ? rounded(x) : x;
  }

  Contract contract_;
  const Operand& operand_;
  Format format_;
  Emulated<double> draws_;
  mutable M seen_;  // the operand in the chunk at hand
};

}  // namespace

std::vector<Share> variance_by_operand(const Evidence& e, Name name, std::int64_t first,
                                       std::int64_t count, int members) {
  if (e.contract.token_by_token()) return {};
  const auto& y = e.envelope.reference.at(name);
  std::vector<Name> stages;
  if (is_stage(name)) stages.push_back(name);
  const auto variance = [&](const Operand& operand) {
    double sum = 0;
    for (int n = 0; n < members; ++n) {
      const OneRounded ar(e.contract, operand, 2001 + n);
      const auto x = e.problem.backward ? run_both(e.problem, e.inputs, ar, ChunkRule(), stages)
                                        : run_forward(e.problem, e.inputs, ar, ChunkRule(), stages);
      for (auto i = first; i < first + count; ++i) sum += (x.at(name)[i] - y[i]) * (x.at(name)[i] - y[i]);
    }
    return sum / double(members * count);
  };
  std::vector<Share> shares;
  for (const auto& operand : kForward) shares.push_back({operand.name, variance(operand)});
  if (e.problem.backward)
    for (const auto& operand : kBackward) shares.push_back({operand.name, variance(operand)});
  return shares;
}

}  // namespace gdr2
