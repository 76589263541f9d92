// SPDX-License-Identifier: Apache-2.0
#include "reference/difficulty.hpp"

#include <algorithm>
#include <cmath>

#include "reference/options.hpp"

namespace gdr2 {
namespace {

using Rows = Matrix<double>;

/// The chunks of all sequences, as token ranges.
std::vector<Sequence> chunks_of(const Problem& problem) {
  std::vector<Sequence> chunks;
  for (const auto& s : problem.sequences())
    for (auto t = s.begin; t < s.end; t += kChunk) chunks.push_back({t, std::min(t + kChunk, s.end)});
  return chunks;
}

class Inputs {
 public:
  Inputs(const Problem& problem, const Tensors& inputs) : p_(problem), in_(inputs) {}

  /// Log decays of a chunk in one head, after the gate. [C, K]
  Rows g(Sequence chunk, std::int64_t h) const {
    auto g = rows(Name::g, chunk, h);
    if (p_.gate == Gate::kLog) return g;
    for (Eigen::Index t = 0; t < g.rows(); ++t)
      for (Eigen::Index c = 0; c < g.cols(); ++c)
        g(t, c) = options::gate<double>(p_, g(t, c), in_.at(Name::A_log).get(h),
                                        in_.at(Name::dt_bias).get(h * p_.K + c)).g;
    return g;
  }
  /// Keys after the norm. [C, K]
  Rows k(Sequence chunk, std::int64_t h) const {
    auto k = rows(Name::k, chunk, h);
    if (p_.l2norm)
      for (auto row : k.rowwise()) row /= std::sqrt(row.squaredNorm() + kL2NormEpsilon);
    return k;
  }
  Rows b(Sequence chunk, std::int64_t h) const {
    return rows(Name::b, chunk, h) * (p_.neg_eigval ? 2.0 : 1.0);
  }

 private:
  Rows rows(Name name, Sequence chunk, std::int64_t h) const {
    Rows x(chunk.length(), p_.K);
    for (Eigen::Index t = 0; t < x.rows(); ++t)
      for (Eigen::Index c = 0; c < x.cols(); ++c)
        x(t, c) = in_.at(name).get(((chunk.begin + t) * p_.H + h) * p_.K + c);
    return x;
  }

  const Problem& p_;
  const Tensors& in_;
};

/// I + T with T_ij = sum_c e_ic k_jc exp(G_ic - G_jc), the decay from j to i as a running product.
Rows unit_lower(const Rows& g, const Rows& k, const Rows& b) {
  const Rows e = b.cwiseProduct(k), alpha = g.array().exp();
  Rows system = Rows::Identity(g.rows(), g.rows());
  for (Eigen::Index i = 1; i < g.rows(); ++i) {
    RowVector<double> decay = RowVector<double>::Ones(g.cols());
    for (Eigen::Index j = i - 1; j >= 0; --j) {
      decay = decay.cwiseProduct(alpha.row(j + 1));
      system(i, j) = e.row(i).cwiseProduct(k.row(j)).dot(decay);
    }
  }
  return system;
}

double norm_1(const Rows& x) { return x.cwiseAbs().colwise().sum().maxCoeff(); }

double condition_of(const Rows& system) {
  const Rows inverse = system.triangularView<Eigen::UnitLower>().solve(
      Rows::Identity(system.rows(), system.rows()));
  return norm_1(system) * norm_1(inverse);
}

}  // namespace

Difficulty difficulty_of(const Problem& problem, const Tensors& inputs) {
  Difficulty result;
  const Inputs in(problem, inputs);
  const auto chunks = chunks_of(problem);
  const auto all = std::ssize(chunks) * problem.H;
  for (std::int64_t i = 0; i < all; ++i) {
    const auto chunk = chunks[i / problem.H];
    const auto h = i % problem.H;
    const auto g = in.g(chunk, h);
    result.decay_span = std::max(result.decay_span, -g.colwise().sum().minCoeff());
    const bool sampled = i * kSampledChunks / all != (i - 1) * kSampledChunks / all || i == 0;
    if (sampled)
      result.condition = std::max(result.condition,
                                  condition_of(unit_lower(g, in.k(chunk, h), in.b(chunk, h))));
  }
  return result;
}

}  // namespace gdr2
