// SPDX-License-Identifier: Apache-2.0
#include "properties/power/public_rules.hpp"

#include <algorithm>
#include <cmath>

namespace gdr2::power {
namespace {

using Values = std::span<const double>;

bool is_output(Name name) { return name == Name::o || name == Name::ht; }

bool has_nan(Values x) {
  return std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

/// RMSE / RMS, and the largest error; NaN where a value is.
struct Norms {
  double ratio = 0, largest = 0;
};

Norms norms(Values value, Values reference) {
  double error = 0, base = 0, largest = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const double e = value[i] - reference[i];
    error += e * e, base += reference[i] * reference[i];
    largest = std::isnan(e) ? e : std::max(largest, std::fabs(e));
  }
  const auto n = double(std::max<std::size_t>(1, value.size()));
  return {std::sqrt(error / n) / (std::sqrt(base / n) + 1e-8), largest};
}

/// The ratio that flash-linear-attention's tests of this rule allow a tensor.
double fla_ratio(Name name) {
  switch (name) {
    case Name::o: case Name::ht: return 0.005;
    case Name::dq: case Name::dk: case Name::dv: case Name::dh0: return 0.01;
    default: return 0.02;
  }
}

constexpr double kFlaIgnored = 1e-6;  // largest errors up to this are not looked at

bool fla_strict(Name name, Values value, Values reference) {
  const auto n = norms(value, reference);
  if (n.largest <= kFlaIgnored) return true;
  return !has_nan(value) && n.ratio < fla_ratio(name);
}

/// In its CI: only a warning while the ratio is below 0.01 or no error exceeds 0.3; dA_log always.
bool fla_ci(Name name, Values value, Values reference) {
  const auto n = norms(value, reference);
  if (n.largest <= kFlaIgnored) return true;
  if (has_nan(value)) return false;
  return name == Name::dA_log || n.ratio < 0.01 || n.largest <= 0.3 || n.ratio < fla_ratio(name);
}

/// |value - reference| <= atol + rtol |reference| for every element, as assert_close has it.
bool close(Values value, Values reference, double rtol, double atol) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == reference[i]) continue;
    if (!(std::fabs(value[i] - reference[i]) <= atol + rtol * std::fabs(reference[i]))) return false;
  }
  return true;
}

bool cudnn(Name name, Values value, Values reference) {
  const bool gate = name == Name::dg || name == Name::dA_log || name == Name::ddt_bias;
  const double tolerance = is_output(name) ? 2e-2 : gate ? 0.3 : 4e-2;
  return close(value, reference, tolerance, tolerance);
}

bool flashinfer(Name, Values value, Values reference) { return close(value, reference, 1e-2, 1e-2); }

bool attention_gym(Name, Values value, Values reference) {
  return close(value, reference, 1e-2, 1e-1);
}

bool torch_bf16(Name, Values value, Values reference) {
  return close(value, reference, 1.6e-2, 1e-5);
}

}  // namespace

const std::vector<PublicRule>& public_rules() {
  static const std::vector<PublicRule> rules{
      {"fla_strict", "flash-linear-attention: RMSE/RMS < 0.005 (o, ht), 0.01 (dq dk dv dh0), 0.02", fla_strict},
      {"fla_ci", "the same in its CI: a warning while the ratio is < 0.01 or no error > 0.3", fla_ci},
      {"cudnn", "cuDNN frontend: rtol = atol = 0.02 forward, 0.04 backward, 0.3 gate gradients", cudnn},
      {"flashinfer", "FlashInfer: rtol = atol = 0.01", flashinfer},
      {"attention_gym", "attention-gym: atol = 0.1, rtol = 0.01", attention_gym},
      {"torch_bf16", "torch.testing.assert_close, defaults of bf16: rtol = 0.016, atol = 1e-5", torch_bf16},
  };
  return rules;
}

std::vector<std::string> rejecting_rules(const Tensors& results,
                                         const std::map<Name, std::vector<double>>& reference) {
  std::map<Name, std::vector<double>> values;
  for (const auto& [name, tensor] : results) values[name] = tensor.to_doubles();
  std::vector<std::string> names;
  for (const auto& rule : public_rules())
    if (std::any_of(values.begin(), values.end(), [&](const auto& entry) {
          return !rule.accepts(entry.first, entry.second, reference.at(entry.first));
        }))
      names.push_back(rule.name);
  return names;
}

}  // namespace gdr2::power
