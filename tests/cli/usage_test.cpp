// SPDX-License-Identifier: Apache-2.0
// Every way to ask for what there is not ends with exit code 2 and a message that names it.
#include <gmock/gmock.h>

#include "tests/cli/process.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

struct Misuse {
  std::vector<std::string> words;
  std::string message;
};

void expect_refused(const std::vector<Misuse>& misuses) {
  for (const auto& [words, message] : misuses) {
    const auto outcome = gdr2_with(words);
    const auto command = testing::PrintToString(words);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << command;
    EXPECT_EQ(outcome.out, "") << command;
  }
}

TEST(Usage, OfTheCommand) {
  expect_refused({
      {{}, "no subcommand is given"},
      {{"frobnicate"}, "frobnicate"},
      {{"--frobnicate", "list"}, "--frobnicate"},
      {{"list", "verify", "T=8"},
       "WHAT: verify not in {contracts,kernels,laws,mutants,problems,recipes,sets}"},
      {{"list", "nonsense"},
       "WHAT: nonsense not in {contracts,kernels,laws,mutants,problems,recipes,sets}"},
      {{"list", "--frobnicate"}, "--frobnicate"},
  });
}

TEST(Usage, OfLines) {
  expect_refused({
      {{"verify"}, "give a LINE or --set"},
      {{"verify", ""}, "LINE: '': no case"},
      {{"verify", "T=x"}, "LINE: 'T=x': problem: T: 'x' is not a number"},
      {{"verify", "T=8", "T=-1"}, "LINE: 'T=-1': problem: T"},
      {{"verify", "T=8 T=9"}, "problem: T: given twice"},
      {{"verify", "T"}, "'T' is not of the form key=value"},
      {{"verify", "T="}, "problem: T: no value"},
      {{"verify", "X=1"}, "X: unknown key"},
      {{"verify", "dtype=int8"}, "dtype: 'int8' is not one of fp64, fp32, tf32, bf16, fp16"},
      {{"verify", "recipe=none"}, "LINE: 'recipe=none': recipe"},
      {{"verify", "seed=-1"}, "seed: '-1'"},
      {{"verify", "seed=1.5"}, "seed: '1.5'"},
      {{"verify", "kernel=none"}, "LINE: 'kernel=none': kernel: 'none' is not known"},
      {{"verify", "kernel="}, "LINE: 'kernel=': kernel: '' is not known"},
      {{"verify", "kernel=cpu.chunk kernel=cpu.chunk"}, "kernel: given twice"},
      {{"verify", "file=/none.safetensors"}, "/none.safetensors"},
      {{"verify", "file=README.md"}, "README.md"},
  });
}

TEST(Usage, OfSets) {
  const TemporaryFolder folder;
  const auto empty = write_file(folder.path("empty.txt"), "# nothing\n\n");
  const auto broken = write_file(folder.path("broken.txt"), "T=8\nT=8 H=x # three\n");
  expect_refused({
      {{"verify", "--set"}, "--set"},
      {{"verify", "--set", "none"}, "--set: set: 'none' is neither a file nor one of"},
      {{"verify", "--set", folder.path("none.txt")}, folder.path("none.txt")},
      {{"verify", "--set", folder.path("")}, "--set: set: '" + folder.path("")},
      {{"verify", "--set", empty}, "--set: " + empty + ": holds no case"},
      {{"verify", "--set", broken}, "--set: " + broken + ":2: problem: H: 'x' is not a number"},
  });
}

TEST(Usage, OfOptionsOfVerify) {
  expect_refused({
      {{"verify", "T=8", "--frobnicate"}, "--frobnicate"},
      {{"verify", "T=8", "--kernel"}, "--kernel"},
      {{"verify", "T=8", "--kernel", "none"}, "--kernel: kernel: 'none' is not known"},
      {{"verify", "T=8", "--kernel", "cpu.chunk", "--kernel", "none"}, "'none'"},
      {{"verify", "T=8", "--kernel", "./none.so"}, "--kernel: "},
      {{"verify", "T=8", "--kernel", "./none.so"}, "none.so"},
      {{"verify", "T=8", "--recipe"}, "--recipe"},
      {{"verify", "T=8", "--recipe", "none"}, "--recipe: recipe"},
      {{"verify", "T=8", "--seed"}, "--seed"},
      {{"verify", "T=8", "--seed", "-1"}, "--seed: '-1' is not an integer"},
      {{"verify", "T=8", "--seed", "7x"}, "--seed: '7x' is not an integer"},
      {{"verify", "T=8", "--seed", "18446744073709551616"}, "--seed: '18446744073709551616'"},
      {{"verify", "T=8", "--seeds", "0"}, "--seeds"},
      {{"verify", "T=8", "--seeds", "-3"}, "--seeds"},
      {{"verify", "T=8", "--seeds", "1.5"}, "--seeds"},
      {{"verify", "T=8", "--seeds", "1000001"}, "--seeds"},
      {{"verify", "T=8", "--seed", "18446744073709551615", "--seeds", "2"},
       "--seeds: 2 seeds from 18446744073709551615 on pass the largest seed"},
      {{"verify", "T=8", "--threads", "0"}, "--threads"},
      {{"verify", "T=8", "--threads", "x"}, "--threads"},
      {{"verify", "T=8", "--threads", "257"}, "--threads"},
      {{"verify", "T=8", "--strict=maybe"}, "--strict"},
  });
}

TEST(Usage, OfAReportThatCannotBeWritten) {
  const TemporaryFolder folder;
  const auto missing = folder.path("none/report.json");
  expect_refused({
      {{"verify", "T=8", "--json"}, "--json"},
      {{"verify", "T=8", "--json", missing},
       "--json: " + missing + ": cannot write: No such file or directory"},
      {{"verify", "T=8", "--json", folder.path("")}, folder.path("") + ": is a directory"},
      {{"repro", "T=8", "--json", missing}, "--json: " + missing},
  });
}

TEST(Usage, OfRepro) {
  expect_refused({
      {{"repro"}, "LINE"},
      {{"repro", "T=8", "T=9"}, "T=9"},
      {{"repro", "T=x"}, "LINE: 'T=x': problem: T: 'x' is not a number"},
      {{"repro", "T=8", "--kernel", "cpu.chunk"}, "--kernel"},
      {{"repro", "T=8", "--threads", "0"}, "--threads"},
  });
}

TEST(Usage, OfLaws) {
  expect_refused({
      {{"laws", "T=x"}, "LINE: 'T=x': problem: T: 'x' is not a number"},
      {{"laws", "T=8", "--law"}, "--law"},
      {{"laws", "T=8", "--law", "none"}, "law: 'none' is not known; known are query_balance"},
      {{"laws", "T=8", "--kernel", "none"}, "--kernel: kernel: 'none' is not known"},
      {{"laws", "--set", "none"}, "--set: set: 'none' is neither a file nor one of"},
      {{"laws", "T=8", "--resident", "--isolate"}, "--resident: not with --isolate"},
  });
}

TEST(Usage, OfGradcheck) {
  expect_refused({
      {{"gradcheck", "T=x"}, "LINE: 'T=x': problem: T: 'x' is not a number"},
      {{"gradcheck", "T=8", "--kernel", "none"}, "--kernel: kernel: 'none' is not known"},
      {{"gradcheck", "--set", "none"}, "--set: set: 'none' is neither a file nor one of"},
      {{"gradcheck", "T=8", "--law", "causality"}, "--law"},
  });
}

TEST(Usage, OfPower) {
  expect_refused({
      {{"power", "T=x"}, "LINE: 'T=x': problem: T: 'x' is not a number"},
      {{"power", "T=8", "--mutant", "none"}, "mutant: 'none' is not known"},
      {{"power", "T=8", "--sample", "0"}, "--sample"},
      {{"power", "T=8", "--least", "101"}, "--least"},
      {{"power", "--merge", "none.json"}, "none.json: cannot read: No such file or directory"},
      {{"power", "--library", "none.so", "T=8"}, "kernel library none.so: no such file"},
  });
}

TEST(Usage, OfCalibrate) {
  expect_refused({
      {{"calibrate", "--cases", "0"}, "--cases"},
      {{"calibrate", "--kernel", "none"}, "kernel: 'none' is not known"},
      {{"calibrate", "--dtype", "int8", "--cases", "1"}, "--dtype: 'int8'"},
      {{"calibrate", "--resume"}, "--resume: without --json there is nothing to resume"},
      {{"calibrate", "--merge", "none.json"}, "none.json: cannot read: No such file or directory"},
  });
}

TEST(Usage, OfSearch) {
  expect_refused({
      {{"search", "--time", "x"}, "--time"},
      {{"search", "--time", "-1"}, "--time"},
      {{"search", "--dtype", "int8", "--time", "1"}, "--dtype: 'int8' is not one of"},
      {{"search", "--kernel", "none"}, "kernel: 'none' is not known"},
      {{"search", "--fault", "none"}, "none"},
      {{"search", "--fault", "forward.state_dropped", "--kernel", "cpu.chunk"}, "--kernel"},
      {{"search", "--findings", "0"}, "--findings"},
      {{"search", "--faults", "2", "--kernel", "cpu.chunk"}, "--faults"},
      {{"search", "--cases", "3", "--time", "3"}, "--cases"},
      {{"search", "--json", "/none/x.json"}, "/none/x.json: cannot write"},
      {{"laws", "--faults", "2", "--json", "/none/x.json"}, "/none/x.json: cannot write"},
      {{"search", "T=8"}, "T=8"},
  });
}

TEST(Usage, OfJudge) {
  const TemporaryFolder folder;
  const auto garbage = write_file(folder.path("garbage.safetensors"), "garbage");
  const std::string good = "fixtures/activations/layer1_head0.safetensors";
  expect_refused({
      {{"judge"}, "FILE"},
      {{"judge", "none.safetensors"}, "none.safetensors"},
      {{"judge", good, "none.safetensors"}, "none.safetensors"},
      {{"judge", garbage}, garbage},
      {{"judge", "--frobnicate", good}, "--frobnicate"},
      {{"judge", good, "--contract"}, "--contract"},
      {{"judge", good, "--contract", "int8"},
       "--contract: 'int8' is not one of fp64, fp32, tf32, bf16, fp16"},
      {{"judge", good, "--contract", "bf16,frob=bf16"}, "--contract: 'frob' is no site"},
      {{"judge", good, "--contract", "bf16,state=int8"}, "--contract: state: 'int8' is not one of"},
      {{"judge", good, "--contract", "bf16,direct_rows=65"}, "direct_rows: '65' is not in 0 .. 64"},
      {{"judge", good, "--json", folder.path("none/x.json")},
       "--json: " + folder.path("none/x.json")},
      {{"judge", good, "--threads", "-1"}, "--threads"},
  });
}

TEST(Usage, KeepsAnEarlierReportWhenTheCommandIsWrong) {
  const TemporaryFolder folder;
  const auto report = write_file(folder.path("report.json"), "earlier");
  gdr2_with({"verify", "T=x", "--json", report});
  EXPECT_EQ(read_file(report), "earlier");
}

TEST(Usage, ComparesReportsOfOneKindAndNoEmptyFile) {
  const TemporaryFolder folder;
  const std::string bench = GDR2_SOURCE_DIR "/reports/baselines/nvidia-h200/bench_decode.json";
  const std::string power = GDR2_SOURCE_DIR "/reports/baselines/cpu/power.json";
  EXPECT_EQ(gdr2_with({"compare", bench, bench, "--gate"}).status, 0);
  EXPECT_EQ(gdr2_with({"compare", power, power, "--gate"}).status, 0);
  const auto mixed = gdr2_with({"compare", power, bench, "--gate"});
  EXPECT_EQ(mixed.status, 2);
  EXPECT_NE(mixed.err.find("is a report of power"), std::string::npos) << mixed.err;
  for (const auto& bad : {write_file(folder.path("empty.json"), ""), folder.path("missing.json"),
                          write_file(folder.path("brace.json"), "{}")})
    for (const auto& good : {bench, power}) {
      const auto outcome = gdr2_with({"compare", good, bad, "--gate"});
      EXPECT_EQ(outcome.status, 2) << bad;
      EXPECT_NE(outcome.err.find(bad), std::string::npos) << outcome.err;
    }
}

TEST(Usage, HelpAndVersionAreNoErrors) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                {"--version"},
                                                {"list", "--help"},
                                                {"verify", "--help"},
                                                {"judge", "--help"},
                                                {"repro", "--help"}}) {
    const auto outcome = gdr2_with(words);
    EXPECT_EQ(outcome.status, 0) << testing::PrintToString(words);
    EXPECT_NE(outcome.out, "") << testing::PrintToString(words);
    EXPECT_EQ(outcome.err, "") << testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace gdr2
