// SPDX-License-Identifier: Apache-2.0
// Faults around a right kernel: options and gates. What a wrapper does with an input before the kernel
// sees it, or forgets to do.
#include <cmath>

#include "properties/laws/law_run.hpp"
#include "properties/power/spoil.hpp"

namespace gdr2::power {
namespace {

using laws::changed;
using At = laws::Index;

void round_input(Tensors& in, Name name, Format format) {
  if (const auto found = in.find(name); found != in.end())
    found->second = changed(found->second, [=](const At&, double x) { return round_nearest(x, format); });
}

/// q or k of the call over their norm with `eps` added to the sum of squares.
void normalize(const Problem& p, Tensors& in, Name name, double eps) {
  auto& x = in.at(name);
  const auto values = x.to_doubles();
  x = changed(x, [&, i = std::int64_t{0}](const At&, double value) mutable {
    const auto row = i++ / p.K * p.K;
    double sum = eps;
    for (std::int64_t c = 0; c < p.K; ++c) sum += values[row + c] * values[row + c];
    return value / std::sqrt(sum);
  });
}

Fault norm(const char* name, const char* what, double eps_q, double eps_k) {
  return before(name, "formula convention", what,
                [=](Problem& p, Tensors& in) {
                  if (!p.l2norm) return;
                  p.l2norm = false;
                  if (eps_q >= 0) normalize(p, in, Name::q, eps_q * (eps_q > 1e-5 ? double(p.K) : 1));
                  if (eps_k >= 0) normalize(p, in, Name::k, eps_k * (eps_k > 1e-5 ? double(p.K) : 1));
                },
                Pass::kForward);
}

/// The gate in the kernel replaced by g = gate(A_log, x + dt_bias), forward only.
Fault gate(const char* name, const char* kind, const char* what, Gate which,
           std::function<double(const Problem&, double A_log, double x, double bias)> of) {
  return before(name, kind, what,
                [=](Problem& p, Tensors& in) {
                  if (p.gate != which) return;
                  const auto A = in.at(Name::A_log).to_doubles(), bias = in.at(Name::dt_bias).to_doubles();
                  Tensor g(p.state_dtype(), in.at(Name::g).shape());
                  g.assign(in.at(Name::g).to_doubles());
                  in[Name::g] = changed(g, [&](const At& i, double x) {
                    return of(p, A[i[2]], x, bias[i[2] * p.K + i[3]]);
                  });
                  p.gate = Gate::kLog;
                  p.g_dtype = p.state_dtype();
                },
                Pass::kForward);
}

}  // namespace

std::vector<Fault> option_faults() {
  constexpr const char* kConvention = "formula convention";
  constexpr const char* kGrad = "gradient terms";
  const auto flag = [](const char* name, const char* what, auto change, Pass pass = Pass::kBoth) {
    return before(name, kConvention, what, [=](Problem& p, Tensors&) { change(p); }, pass);
  };
  const auto softplus = [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); };
  return {
      flag("l2norm_ignored", "q and k not normalised", [](Problem& p) { p.l2norm = false; }),
      flag("l2norm_no_backward", "gradients not taken back through the norm",
           [](Problem& p) { p.l2norm = false; }, Pass::kBackward),
      norm("l2norm_eps_on_mean", "the epsilon of the norm on the mean, not on the sum", 2e-5, 2e-5),
      norm("l2norm_no_eps", "the norm without its epsilon", 0, 0),
      norm("l2norm_of_q_alone", "k not normalised", kL2NormEpsilon, -1),
      norm("l2norm_of_k_alone", "q not normalised", -1, kL2NormEpsilon),
      flag("neg_eigval_ignored", "b not doubled", [](Problem& p) { p.neg_eigval = false; }),
      flag("scale_ignored", "the given scale is not used", [](Problem& p) { p.scale.reset(); }),
      flag("scale_of_V", "V^-1/2 for K^-1/2",
           [](Problem& p) {
             if (!p.scale) p.scale = 1 / std::sqrt(double(p.V));
           }),
      flag("lower_bound_ignored", "the lower bound is -5 whatever is given",
           [](Problem& p) { p.lower_bound = -5; }),
      flag("h0_ignored", "no initial state is read", [](Problem& p) { p.h0 = false; }, Pass::kForward),
      before("g_bf16", "precision", "g read through bf16",
             [](Problem&, Tensors& in) { round_input(in, Name::g, Format::kBF16); }),
      before("h0_bf16", "precision", "h0 read through bf16",
             [](Problem&, Tensors& in) { round_input(in, Name::h0, Format::kBF16); }),
      before("h0_fp16", "precision", "h0 read through fp16",
             [](Problem&, Tensors& in) { round_input(in, Name::h0, Format::kF16); }),
      before("dht_bf16", "precision", "dht read through bf16",
             [](Problem&, Tensors& in) { round_input(in, Name::dht, Format::kBF16); }, Pass::kBackward),
      before("do_ignored", kGrad, "do is not read when dht is given",
             [](Problem& p, Tensors& in) {
               if (p.loss == Loss::kBoth) p.loss = Loss::kHt, in.erase(Name::do_);
             },
             Pass::kBackward),
      before("dht_ignored", kGrad, "dht is not read when do is given",
             [](Problem& p, Tensors& in) {
               if (p.loss == Loss::kBoth) p.loss = Loss::kO, in.erase(Name::dht);
             },
             Pass::kBackward),
      gate("softplus_no_linear", kConvention, "log(1 + exp(x)) in fp32 without its linear branch",
           Gate::kSoftplus,
           [](const Problem&, double A, double x, double bias) {
             return double(-std::exp(float(A)) * std::log(1 + std::exp(float(x + bias))));
           }),
      gate("softplus_early_linear", kConvention, "softplus linear from 3 on", Gate::kSoftplus,
           [=](const Problem&, double A, double x, double bias) {
             return -std::exp(A) * (x + bias > 3 ? x + bias : softplus(x + bias));
           }),
      gate("softplus_no_bias", kConvention, "dt_bias not added", Gate::kSoftplus,
           [=](const Problem&, double A, double x, double) { return -std::exp(A) * softplus(x); }),
      gate("softplus_of_exp", kConvention, "A_log taken for A", Gate::kSoftplus,
           [=](const Problem&, double A, double x, double bias) {
             return -std::fabs(A) * softplus(x + bias);
           }),
      gate("lower_bound_no_A", kConvention, "sigmoid without exp(A_log)", Gate::kLowerBound,
           [](const Problem& p, double, double x, double bias) {
             return p.lower_bound / (1 + std::exp(-(x + bias)));
           }),
      gate("lower_bound_bias_unscaled", kConvention, "dt_bias not multiplied by exp(A_log)",
           Gate::kLowerBound,
           [](const Problem& p, double A, double x, double bias) {
             return p.lower_bound / (1 + std::exp(-(std::exp(A) * x + bias)));
           }),
  };
}

}  // namespace gdr2::power
