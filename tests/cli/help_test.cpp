// SPDX-License-Identifier: Apache-2.0
// The pages under docs/cli are what the subcommands say of themselves. After a change of an option:
//   gdr2 help --write docs/cli
#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "tests/cli/process.hpp"

namespace gdr2 {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

std::set<std::string> pages_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

TEST(Help, EveryPageIsInTheDocumentationAsItIs) {
  const TemporaryFolder folder;
  const auto written = folder.path("pages");
  fs::create_directory(written);
  ASSERT_EQ(gdr2_with({"help", "--write", written}).status, 0);
  const auto pages = pages_in(written);
  EXPECT_GT(pages.size(), 10u);
  EXPECT_EQ(pages, pages_in(GDR2_SOURCE_DIR "/docs/cli"));
  for (const auto& page : pages)
    EXPECT_EQ(read_file(written + "/" + page), read_file(GDR2_SOURCE_DIR "/docs/cli/" + page))
        << "gdr2 help --write docs/cli";
}

TEST(Help, OfASubcommandIsItsPage) {
  for (const auto& page : pages_in(GDR2_SOURCE_DIR "/docs/cli")) {
    const auto name = fs::path(page).stem().string();
    const auto help = gdr2_with({name, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_EQ(help.out, read_file(GDR2_SOURCE_DIR "/docs/cli/" + page));
    EXPECT_EQ(gdr2_with({"help", name}).out, help.out);
  }
}

TEST(Help, NamesEverySubcommandWithAPageOfMoreThanItsOptions) {
  const auto overview = gdr2_with({"help"}).out;
  const auto list = gdr2_with({"--help"}).out;
  EXPECT_EQ(overview, read_file(GDR2_SOURCE_DIR "/docs/CLI.md"));
  for (const auto& page : pages_in(GDR2_SOURCE_DIR "/docs/cli")) {
    const auto name = fs::path(page).stem().string();
    EXPECT_THAT(overview, HasSubstr("(cli/" + page + ")"));
    const auto text = read_file(GDR2_SOURCE_DIR "/docs/cli/" + page);
    ASSERT_THAT(text, StartsWith("# gdr2 " + name + "\n\n"));
    const auto description = text.substr(text.find("\n\n") + 2);
    EXPECT_THAT(list, HasSubstr(description.substr(0, description.find('\n'))))
        << "one description, two places";
    EXPECT_THAT(text, HasSubstr("\n    gdr2 " + name)) << "an example";
  }
}

TEST(Help, RefusesASubcommandThatThereIsNot) {
  const auto outcome = gdr2_with({"help", "verfy"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("'verfy'"));
}

}  // namespace
}  // namespace gdr2
