// SPDX-License-Identifier: Apache-2.0
// The `kuafu` program: verbs and their options.
#include <CLI/CLI.hpp>

#include "cli/cli.h"

int main(int argc, char** argv) {
  CLI::App app{"kuafu: verify and generate CUDA and MUSA kernels without a GPU"};
  app.require_subcommand(1);

  kuafu::cli::RunOptions run;
  CLI::App* run_verb = app.add_subcommand(
      "run", "run a CUDA or MUSA program on a simulated GPU, with the sanitizer");
  run_verb->add_option("file", run.file, "source file with a main(): .cu or .mu")->required();
  run_verb->add_option("--target", run.target, "simulated device, e.g. sim:h100 or sim:mtt-s4000");
  run_verb
      ->add_option("--warp-width", run.warp_width,
                   "lanes of a warp instead of the target's own: 32, 64 or 128")
      ->check(CLI::IsMember({32, 64, 128}));
  run_verb->add_option("--seed", run.seed, "order of warps, blocks and atomics; 0 = lock-step");
  run_verb->add_option("--timeout-s", run.timeout_s, "seconds the program may run")
      ->check(CLI::Range(1, 3600));
  bool no_sanitize = false;
  run_verb->add_flag("--no-sanitize", no_sanitize, "do not look for races and uninitialised reads");
  run_verb->add_flag("--json", run.json, "print the result as JSON");
  run_verb->add_option("--arg", run.arguments, "argument of the program; may be repeated");

  bool demo_json = false;
  CLI::App* demo_verb = app.add_subcommand(
      "demo", "run the bundled programs, right and defective, and show what is found");
  demo_verb->add_flag("--json", demo_json, "print the results as JSON, one object after the other");

  bool doctor_json = false;
  CLI::App* doctor_verb =
      app.add_subcommand("doctor", "print machine, compilers, packages and devices");
  doctor_verb->add_flag("--json", doctor_json, "print the result as JSON");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kuafu::cli::kOk : kuafu::cli::kUsage;
  }
  if (run_verb->parsed()) {
    run.sanitize = !no_sanitize;
    return kuafu::cli::Run(run);
  }
  if (demo_verb->parsed()) return kuafu::cli::Demo(demo_json);
  return kuafu::cli::Doctor(doctor_json);
}
