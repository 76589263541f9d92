// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <limits>

#include "fixtures/activation_file.hpp"
#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "reports/report_file.hpp"
#include "tests/cli/process.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

/// Inputs of a small case and what the chunk kernel made of them.
ActivationFile recorded(const std::string& line) {
  const auto c = parse_case(line);
  ActivationFile file{.problem = c.problem, .inputs = make_inputs(c)};
  auto outputs = allocated(c.problem, output_names(c.problem)),
       gradients = allocated(c.problem, gradient_names(c.problem));
  const auto& kernel = find_kernel("cpu.chunk");
  kernel.forward(c.problem, file.inputs, outputs);
  kernel.backward(c.problem, file.inputs, gradients);
  file.results = outputs;
  file.results.merge(gradients);
  file.info["source"] = "somebody else's kernel";
  return file;
}

class Judge : public testing::Test {
 protected:
  Judge() : file(recorded("T=70 K=16 V=8 recipe=slow")) {}

  std::string written() const {
    write_activations(path(), file);
    return path();
  }
  std::string path() const { return folder.path("recorded.safetensors"); }

  TemporaryFolder folder;
  ActivationFile file;
};

TEST_F(Judge, PassesRightResults) {
  const auto outcome = gdr2_with({"judge", written()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(": 1 PASSED"));
}

TEST_F(Judge, GivesAVerdictOnEveryTensor) {
  const auto json = folder.path("report.json");
  gdr2_with({"judge", written(), "--json", json});
  const auto run = read_report(json);
  ASSERT_EQ(run.cases.size(), 1u);
  EXPECT_EQ(run.cases[0].kernel, "recorded");
  EXPECT_EQ(run.cases[0].repro, "gdr2 judge '" + path() + "'");
  EXPECT_THAT(run.cases[0].note, HasSubstr("of a kernel of this suite: somebody else's kernel"));
  EXPECT_EQ(run.cases[0].verdict.tensors.size(), file.results.size());
}

TEST_F(Judge, FailsOneWrongElementAndNamesIt) {
  auto& dk = file.results.at(Name::dk);  // [1, 70, 1, 16]
  dk.set(17 * 16 + 3, dk.get(17 * 16 + 3) + 100);
  const auto outcome = gdr2_with({"judge", written()});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAILED      recorded"));
  EXPECT_THAT(outcome.out, HasSubstr("b=0 t=17 h=0 c=3"));
  EXPECT_THAT(outcome.out, HasSubstr("FAILED      gdr2 judge '" + path() + "'"));
}

TEST_F(Judge, FailsANaN) {
  file.results.at(Name::ht).set(5, std::numeric_limits<double>::quiet_NaN());
  const auto outcome = gdr2_with({"judge", written()});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("NaN"));
}

TEST_F(Judge, JudgesTheResultsThatAreThere) {
  std::erase_if(file.results, [](const auto& result) { return result.first != Name::o; });
  EXPECT_EQ(gdr2_with({"judge", written()}).status, 0);
}

TEST_F(Judge, RefusesAFileWithoutResults) {
  file.results.clear();
  const auto outcome = gdr2_with({"judge", written()});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr(path() + ": no results to judge"));
}

TEST_F(Judge, HoldsResultsToTheContractThatIsAsked) {
  const auto outcome = gdr2_with({"judge", written(), "--contract", "fp32"});
  EXPECT_EQ(outcome.status, 1) << "bf16 products pass for fp32 ones";
  EXPECT_THAT(outcome.out, HasSubstr("contract operand=fp32"));
}

}  // namespace
}  // namespace gdr2
