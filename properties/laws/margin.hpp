// SPDX-License-Identifier: Apache-2.0
// How far two results may lie apart that are equal but for rounding: z sigma, sigma^2 the sum of the
// variances that the contracts of the runs explain (properties/judge/envelope.hpp). Where nothing
// rounds, sigma is 0 and the law is exact.
#pragma once

#include "properties/judge/envelope.hpp"
#include "properties/laws/law_run.hpp"

namespace gdr2::laws {

class Margin {
 public:
  /// Of one run of a kernel. Throws EnvelopeOverflow. The last few are remembered (for each thread).
  Margin(const Kernel& kernel, const Call& call);
  Margin(const Contract& contract, const Call& call);

  /// And of another run whose result is added or compared.
  Margin& with(const Margin& other) { return with(other.envelope_.sigma); }
  Margin& with(const Values<double>& sigma);

  /// And what a reference in double leaves, `relative` to the rms of a tensor.
  Margin& with_reference_error(double relative);

  /// Every element's sigma replaced by the tensor's root mean square of them.
  Values<double> levelled() const;

  const std::vector<double>& truth(Name name) const { return envelope_.reference.at(name); }
  const Values<double>& sigma() const { return envelope_.sigma; }

  double allowed(Name name, std::int64_t i) const;  ///< z sigma of an element

  /// The first element that is further off than allowed, in one sentence. NaN is never near.
  std::optional<std::string> beyond(Name name, const std::vector<double>& got,
                                    const std::vector<double>& want) const;
  /// Over all tensors that both hold.
  std::optional<std::string> beyond(const Tensors& got, const Values<double>& want) const;
  std::optional<std::string> beyond(const Tensors& got, const Tensors& want) const;

 private:
  Problem problem_;
  Envelope envelope_;
  double z_;
};

}  // namespace gdr2::laws
