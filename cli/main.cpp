// SPDX-License-Identifier: Apache-2.0
// gdr2: the command line. Exit codes: 0 all passed, 1 something did not, 2 usage, 3 nothing ran.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/commands.hpp"
#include "cli/help_page.hpp"
#include "cli/kernel_options.hpp"
#include "cli/placement.hpp"
#include "reference/error.hpp"
#include "reports/build_info.hpp"

namespace {

constexpr int kUsage = 2;

/// Before anything looks for a GPU: the ranks of a host share its GPUs out among themselves.
void take_gpu_of_rank() {
  std::error_code none;
  const std::filesystem::directory_iterator gpus("/proc/driver/nvidia/gpus", none);
  const auto count = none ? 0 : std::distance(begin(gpus), end(gpus));
  if (const auto visible = gdr2::visible_devices(gdr2::process_environment(), int(count)))
    setenv("CUDA_VISIBLE_DEVICES", visible->c_str(), 1);
}

int run(CLI::App& app, const std::vector<gdr2::Command>& commands,
        const gdr2::KernelOptions& kernel_options) {
  for (const auto& command : commands) {
    if (!command.app->parsed()) continue;
    try {
      take_gpu_of_rank();
      if (kernel_options.taken_by(*command.app)) kernel_options.apply();
      return command.run();
    } catch (const gdr2::Error& error) {
      std::cerr << "gdr2 " << command.app->get_name() << ": " << error.what() << '\n';
      return kUsage;
    }
  }
  std::cerr << "gdr2: no subcommand is given\n" << app.help();
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  const gdr2::Argv words(argv, argv + argc);
  CLI::App app("Numerical verification of gated delta rule-2 kernels", "gdr2");
  app.set_version_flag("--version", fmt::format("gdr2 {} ({}{})", gdr2::build_info::version,
                                                gdr2::build_info::git_sha,
                                                gdr2::build_info::git_dirty ? ", modified" : ""));
  app.formatter(std::make_shared<gdr2::HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this page");
  app.require_subcommand(0, 1);  // none is an error of ours: CLI11's would hide an unknown word
  const std::vector<gdr2::Command> commands{
      gdr2::add_list(app),              //
      gdr2::add_verify(app, words),     //
      gdr2::add_laws(app, words),       //
      gdr2::add_gradcheck(app, words),  //
      gdr2::add_judge(app, words),      //
      gdr2::add_repro(app, words),      //
      gdr2::add_calibrate(app, words),  //
      gdr2::add_power(app, words),      //
      gdr2::add_report(app),            //
      gdr2::add_compare(app),           //
      gdr2::add_history(app),           //
      gdr2::add_merge(app),             //
      gdr2::add_search(app, words),     //
      gdr2::add_bench(app, words),      //
      gdr2::add_export(app),            //
      gdr2::add_help(app),              //
      gdr2::add_worker(app),            //
  };
  gdr2::KernelOptions kernel_options;
  for (const auto& command : commands) kernel_options.add_to(*command.app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return run(app, commands, kernel_options);
}
