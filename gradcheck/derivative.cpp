// SPDX-License-Identifier: Apache-2.0
#include "gradcheck/derivative.hpp"

namespace gdr2 {
namespace {

template <class Real>
Values<Real> outputs(const Problem& problem, const Values<Real>& inputs) {
  return run_forward(problem, inputs, Exact<Real>(), TokenRule());
}

/// inputs + step * direction
Values<Mpfr> moved(const Values<Mpfr>& inputs, const Values<Mpfr>& direction, const Mpfr& step) {
  auto values = inputs;
  for (const auto& [name, d] : direction)
    for (std::size_t i = 0; i < d.size(); ++i) values.at(name)[i] += step * d[i];
  return values;
}

/// x := (a x - b) / (a - 1), elementwise.
void extrapolate(Values<Mpfr>& x, const Values<Mpfr>& b, const Mpfr& a) {
  for (auto& [name, values] : x)
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (a * values[i] - b.at(name)[i]) / (a - 1);
}

constexpr std::pair<Name, Name> kGradients[] = {
    {Name::dq, Name::q},         {Name::dk, Name::k},   {Name::dv, Name::v},
    {Name::dg, Name::g},         {Name::db, Name::b},   {Name::dw, Name::w},
    {Name::dA_log, Name::A_log}, {Name::dh0, Name::h0}, {Name::ddt_bias, Name::dt_bias}};

}  // namespace

template <class Real>
Values<Real> jvp(const Problem& problem, const Values<Real>& inputs,
                 const Values<Real>& direction) {
  Values<Dual<Real>> moving;
  for (const auto& [name, x] : inputs) {
    auto& values = moving[name];
    values.assign(x.begin(), x.end());
    const auto d = direction.find(name);
    if (d == direction.end()) continue;
    for (std::size_t i = 0; i < x.size(); ++i) values[i].tangent = d->second[i];
  }
  Values<Real> tangents;
  for (const auto& [name, y] : outputs(problem, moving))
    for (const auto& value : y) tangents[name].push_back(value.tangent);
  return tangents;
}

template <class Real>
Values<Real> adjoint(const Problem& problem, const Values<Real>& inputs) {
  return run_backward(problem, inputs, Exact<Real>(), TokenRule());
}

Values<Mpfr> difference_quotient(const Problem& problem, const Values<Mpfr>& inputs,
                                 const Values<Mpfr>& direction, int levels) {
  std::vector<Values<Mpfr>> row;  // the last row of the tableau
  for (int level = 0; level < levels; ++level) {
    const Mpfr step = ldexp(Mpfr(1), -30 - level);
    auto quotient = outputs(problem, moved(inputs, direction, step));
    const auto behind = outputs(problem, moved(inputs, direction, -step));
    for (auto& [name, y] : quotient)
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = (y[i] - behind.at(name)[i]) / (2 * step);
    for (auto& coarser : row) {
      auto finer = quotient;
      const auto order = &coarser - row.data() + 1;
      extrapolate(finer, coarser, ldexp(Mpfr(1), 2 * int(order)));
      coarser = std::exchange(quotient, std::move(finer));
    }
    row.push_back(std::move(quotient));
  }
  return row.back();
}

Name input_of(Name gradient) {
  for (const auto& [d, x] : kGradients)
    if (d == gradient) return x;
  fail("{} is no gradient", to_string(gradient));
}

template <class Real>
Values<Real> as_inputs(const Values<Real>& gradients) {
  Values<Real> values;
  for (const auto& [name, d] : gradients) values[input_of(name)] = d;
  return values;
}

template <class Real>
Values<Real> as_outputs(const Values<Real>& inputs) {
  Values<Real> values;
  if (const auto found = inputs.find(Name::do_); found != inputs.end())
    values[Name::o] = found->second;
  if (const auto found = inputs.find(Name::dht); found != inputs.end())
    values[Name::ht] = found->second;
  return values;
}

template Values<double> jvp(const Problem&, const Values<double>&, const Values<double>&);
template Values<Mpfr> jvp(const Problem&, const Values<Mpfr>&, const Values<Mpfr>&);
template Values<Mpfr> adjoint(const Problem&, const Values<Mpfr>&);
template Values<Mpfr> as_inputs(const Values<Mpfr>&);
template Values<Mpfr> as_outputs(const Values<Mpfr>&);
template Values<double> as_outputs(const Values<double>&);

}  // namespace gdr2
