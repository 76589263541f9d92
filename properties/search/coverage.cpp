// SPDX-License-Identifier: Apache-2.0
#include "properties/search/coverage.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "properties/laws/law_run.hpp"
#include "reference/error.hpp"
#include "reference/options.hpp"
#include "reference/real.hpp"

namespace gdr2::search {
namespace {

using M = Matrix<double>;

/// q k g b of the first key head and v w S_0 of the first value head of one sequence, after the options
/// in the kernel.
struct FirstHead {
  M k, g, e, z, S;

  FirstHead(const Problem& p, const Tensors& in, std::int64_t n) {
    const auto s = p.sequences()[n];
    const auto rows = [&](Name name, std::int64_t heads, std::int64_t channels) {
      M m(s.length(), channels);
      for (auto t = s.begin; t < s.end; ++t)
        for (std::int64_t c = 0; c < channels; ++c)
          m(t - s.begin, c) = in.at(name).get(t * heads * channels + c);
      return m;
    };
    k = rows(Name::k, p.H, p.K);
    g = rows(Name::g, p.H, p.K);
    e = rows(Name::b, p.H, p.K);
    z = rows(Name::w, p.HV, p.V).cwiseProduct(rows(Name::v, p.HV, p.V));
    if (p.l2norm)
      for (auto row : k.rowwise()) row /= std::sqrt(row.squaredNorm() + kL2NormEpsilon);
    if (p.gate != Gate::kLog)
      for (Eigen::Index i = 0; i < g.size(); ++i)
        g(i) = options::gate<double>(p, g(i), in.at(Name::A_log).get(0),
                                     in.at(Name::dt_bias).get(i % p.K))
                   .g;
    e = e.cwiseProduct(k) * (p.neg_eigval ? 2 : 1);
    S = M::Zero(p.K, p.V);
    if (const auto h0 = in.find(Name::h0); h0 != in.end())
      for (Eigen::Index i = 0; i < S.rows(); ++i)
        for (Eigen::Index j = 0; j < S.cols(); ++j) {
          const auto at = p.layout == StateLayout::kKV ? i * p.V + j : j * p.K + i;
          S(i, j) = h0->second.get(n * p.HV * p.K * p.V + at);
        }
  }
};

double horizon(const M& g) {
  std::vector<double> tokens;
  for (Eigen::Index c = 0; c < g.cols(); ++c) tokens.push_back(-double(g.rows()) / g.col(c).sum());
  std::nth_element(tokens.begin(), tokens.begin() + tokens.size() / 2, tokens.end());
  return tokens[tokens.size() / 2];
}

double condition(const FirstHead& x) {
  const auto n = std::min<Eigen::Index>(kChunk, x.k.rows());
  M A = M::Identity(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    RowVector<double> log = RowVector<double>::Zero(x.k.cols());
    for (Eigen::Index i = j + 1; i < n; ++i) {
      log += x.g.row(i);
      A(i, j) = x.e.row(i).cwiseProduct(x.k.row(j)).dot(log.array().exp().matrix());
    }
  }
  const auto values = Eigen::BDCSVD<Eigen::MatrixXd>(A).singularValues();
  return values(0) / values(values.size() - 1);
}

double cancellation(const FirstHead& x) {
  double worst = 1;
  M S = x.S;
  for (Eigen::Index t = 0; t < x.k.rows(); ++t) {
    S = x.g.row(t).array().exp().matrix().transpose().asDiagonal() * S;
    const RowVector<double> read = x.e.row(t) * S, u = x.z.row(t) - read;
    if (u.norm() > 0) worst = std::max(worst, (x.z.row(t).norm() + read.norm()) / u.norm());
    S += x.k.row(t).transpose() * u;
  }
  return worst;
}

int exponents(const Tensors& inputs) {
  double least = HUGE_VAL, most = 0;
  for (const auto& [name, tensor] : inputs)
    for (const double x : tensor.to_doubles())
      if (x != 0 && std::isfinite(x))
        least = std::min(least, std::fabs(x)), most = std::max(most, std::fabs(x));
  return most > 0 ? std::ilogb(most) - std::ilogb(least) + 1 : 0;
}

int decade(double x) {
  constexpr int kMost = 12;
  return std::isfinite(x) && x > 0 ? std::clamp(int(std::floor(std::log10(x))), -1, kMost) : kMost;
}

/// The options of a problem that have a few values each, as words.
std::vector<std::string> words(const Problem& p) {
  const auto key = [](const char* name, auto value) { return fmt::format("{}={}", name, value); };
  return {key("dtype", to_string(p.dtype)),
          key("sequences", p.lens.empty() ? (p.B > 1 ? 2 : 1) : 3),
          key("h0", p.h0),
          key("ht", p.ht),
          key("backward", p.backward),
          key("loss", int(p.loss)),
          key("layout", int(p.layout)),
          key("gate", int(p.gate)),
          key("l2norm", p.l2norm),
          key("neg_eigval", p.neg_eigval),
          key("view", int(p.view)),
          key("scale", p.scale.has_value()),
          key("shared", p.group() > 1)};
}

/// Pairs of values of two different options, for one dtype: 12 options of 2 or 3 values each.
constexpr std::int64_t kPairsOfADtype = [] {
  constexpr int kValues[] = {1, 3, 2, 2, 2, 3, 2, 3, 2, 2, 3, 2, 2};
  std::int64_t sum = 0, pairs = 0;
  for (const int values : kValues) pairs += sum * values, sum += values;
  return pairs;
}();

}  // namespace

Regime regime_of(const Problem& p, const Tensors& inputs) {
  Regime regime{.exponents = exponents(inputs)};
  const auto sequences = p.sequences();
  const auto longest = std::ranges::max_element(sequences, {}, &Sequence::length);
  if (longest->length() == 0) return regime;
  const FirstHead x(p, inputs, longest - sequences.begin());
  regime.horizon = horizon(x.g);
  regime.condition = condition(x);
  regime.cancellation = cancellation(x);
  return regime;
}

void Coverage::add(const Case& c) {
  const auto& p = c.problem;
  const auto regime = regime_of(p, make_inputs(c));
  ++cases_["state horizon, tokens"][decade(regime.horizon)];
  ++cases_["cond(I + T)"][decade(regime.condition)];
  ++cases_["cancellation of u"][decade(regime.cancellation)];
  ++cases_["powers of two"][regime.exponents / 16 * 16];
  for (const auto s : p.sequences()) tails_.insert(s.length() % kChunk);
  groups_.insert(p.group());
  recipes_.insert(c.recipe);
  const auto options = words(p);
  for (std::size_t i = 0; i < options.size(); ++i)
    for (std::size_t j = i + 1; j < options.size(); ++j) pairs_.insert({options[i], options[j]});
}

std::int64_t Coverage::pairs_known() const {
  std::set<std::string> dtypes;
  for (const auto& [first, second] : pairs_)
    if (first.starts_with("dtype=")) dtypes.insert(first);
  // The pairs without a dtype are counted once, whatever the number of dtypes.
  constexpr std::int64_t kWithDtype = 3 + 2 + 2 + 2 + 3 + 2 + 3 + 2 + 2 + 3 + 2 + 2;
  return kPairsOfADtype + (std::ssize(dtypes) - 1) * kWithDtype;
}

}  // namespace gdr2::search
