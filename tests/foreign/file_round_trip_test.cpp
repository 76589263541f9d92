// SPDX-License-Identifier: Apache-2.0
// gdr2 export and judge, with the adapter's file mode between them: a case goes out, results come back.
#include <gmock/gmock.h>

#include "fixtures/activation_file.hpp"
#include "tests/cli/process.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

TEST(Export, WritesInputsAndWhatIsExpected) {
  const TemporaryFolder folder;
  const auto path = folder.path("case.safetensors");
  const auto outcome = gdr2_with({"export", "T=20 K=4 V=3 h0=1 view=padded", "--out", path, "--contract", "bf16"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("gdr2 judge '" + path + "' --contract 'bf16'"));
  const auto file = read_activations(path);
  EXPECT_EQ(to_string(file.problem), "T=20 K=4 V=3 h0=1");
  EXPECT_TRUE(file.results.empty());
  for (auto names : {output_names(file.problem), gradient_names(file.problem)})
    for (auto name : names) {
      EXPECT_EQ(file.expected.at(name).shape(), shape_of(file.problem, name));
      EXPECT_GT(file.sigma.at(name).get(1), 0) << to_string(name);
    }
}

TEST(Export, OfResultsThatAreExpectedIsJudgedPassed) {
  const TemporaryFolder folder;
  const auto path = folder.path("case.safetensors");
  gdr2_with({"export", "T=20 K=4 V=3 dtype=fp16", "--out", path});
  auto file = read_activations(path);
  for (const auto& [name, y] : file.expected) {
    file.results[name] = Tensor(dtype_of(file.problem, name), y.shape());
    file.results[name].assign(y.to_doubles());
  }
  write_activations(path, file);
  EXPECT_EQ(gdr2_with({"judge", path}).status, 0);
  auto& dk = file.results.at(Name::dk);
  dk.set(7, dk.get(7) + 30 * file.sigma.at(Name::dk).get(7));
  write_activations(path, file);
  EXPECT_EQ(gdr2_with({"judge", path}).status, 1);
}

TEST(Contract, IsFoundByNameFileAndWords) {
  const TemporaryFolder folder;
  const auto path = folder.path("case.safetensors");
  gdr2_with({"export", "T=8 K=4 V=3", "--out", path});
  auto file = read_activations(path);
  file.results[Name::o] = Tensor(DType::kBF16, shape_of(file.problem, Name::o));
  file.results[Name::o].assign(file.expected.at(Name::o).to_doubles());
  write_activations(path, file);
  const auto own = write_file(folder.path("own.json"), R"({"kernel": "mine", "dtypes": {"bf16": "bf16,state=bf16"}})");
  for (const std::string contract : {"fla.gdn2.chunk", own.c_str(), "bf16,auxiliary=bf16"})
    EXPECT_EQ(gdr2_with({"judge", path, "--contract", contract}).status, 0) << contract;
  for (const auto& [content, message] :
       {std::pair<std::string, std::string>{"{", "not JSON"},
        {R"({"kernel": "x"})", "'dtypes' is not an object"},
        {R"({"dtypes": {}})", "'kernel' is not a text"},
        {R"({"kernel": "x", "dtypes": {"bf17": "bf16"}})", "bf17"},
        {R"({"kernel": "x", "dtypes": {"fp16": "fp16"}})", "says nothing about bf16"},
        {R"({"kernel": "x", "dtypes": {"bf16": "bf16,hair=red"}})", "hair"}}) {
    const auto outcome =
        gdr2_with({"judge", path, "--contract", write_file(folder.path("bad.json"), content)});
    EXPECT_EQ(outcome.status, 2) << content;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }
  EXPECT_THAT(gdr2_with({"judge", path, "--contract", "flo"}).err, HasSubstr("fla.gdn2.chunk"));
}

}  // namespace
}  // namespace gdr2
