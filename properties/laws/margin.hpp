// SPDX-License-Identifier: Apache-2.0
// How far two results may lie apart that are equal but for rounding: z sigma, sigma^2 the sum of the
// variances that the contracts of the runs explain (properties/judge/envelope.hpp). Where nothing
// rounds, sigma is 0 and the law is exact. What lies further off is asked of a second look
// (docs/NUMERICS.md, Laws) before the law is broken: no sigma that holds already is raised by it.
#pragma once

#include <functional>

#include "properties/judge/envelope.hpp"
#include "properties/laws/law_run.hpp"

namespace gdr2::laws {

class Margin {
 public:
  /// Deviations as a look knows them; what the second knows is never less than what the first does.
  using SigmaOf = std::function<Values<double>(Look)>;

  /// Of one run of a kernel. Throws EnvelopeOverflow. The last few are remembered (for each thread).
  Margin(const Kernel& kernel, const Call& call);
  Margin(const Contract& contract, const Call& call);

  /// And of another run whose result is added or compared.
  Margin& with(const Margin& other) { return with(other.sigma_of_); }
  Margin& with(const SigmaOf& more);

  /// And what a reference in double leaves, `relative` to the rms of a tensor.
  Margin& with_reference_error(double relative);

  /// Every element's sigma replaced by the tensor's root mean square of them.
  SigmaOf levelled() const;

  /// The margin as the second look knows it.
  Margin looked_at_again() const;

  const std::vector<double>& truth(Name name) const { return truth_.at(name); }
  Values<double> sigma(Look look) const { return sigma_of_(look); }

  double allowed(Name name, std::int64_t i) const;  ///< z sigma of an element

  /// Nothing is further off than the first look allows.
  bool near(const Tensors& got, const Values<double>& want) const;

  /// The first element that is further off than allowed by either look, in one sentence. NaN is never near.
  std::optional<std::string> beyond(Name name, const std::vector<double>& got,
                                    const std::vector<double>& want) const;
  /// Over all tensors that both hold.
  std::optional<std::string> beyond(const Tensors& got, const Values<double>& want) const;
  std::optional<std::string> beyond(const Tensors& got, const Tensors& want) const;

 private:
  std::optional<std::string> violation(Name name, const std::vector<double>& got,
                                       const std::vector<double>& want) const;

  Problem problem_;
  Values<double> truth_;
  double z_;
  SigmaOf sigma_of_;
  Values<double> sigma_;  // as this margin's look knows it
};

}  // namespace gdr2::laws
