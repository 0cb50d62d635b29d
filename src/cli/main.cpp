// SPDX-License-Identifier: Apache-2.0
// The `kuafu` program: verbs and their options.
#include <CLI/CLI.hpp>
#include <cstdio>

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

  kuafu::cli::VerifyOptions verify;
  CLI::App* verify_verb =
      app.add_subcommand("verify", "judge a CUDA or MUSA kernel against its PyTorch reference");
  verify_verb->add_option("reference", verify.reference,
                          "PyTorch file with Model, get_inputs and get_init_inputs");
  verify_verb->add_option("kernel", verify.kernel,
                          "kernel with an entry function: .cu or .mu; or a PyTorch file with "
                          "ModelNew and load_inline: .py");
  verify_verb->add_option("--target", verify.target,
                          "simulated devices, comma-separated; default sim:h100 for .cu and "
                          "sim:mtt-s4000 for .mu");
  verify_verb->add_option("--plan", verify.plan, "trials: quick or full")
      ->check(CLI::IsMember({"quick", "full"}));
  verify_verb->add_option("--seed", verify.seed, "of inputs and orders; 0 = drawn");
  verify_verb->add_option("--trial", verify.trial, "only the trial of this number");
  verify_verb->add_option("--timeout-s", verify.timeout_s, "seconds all trials may take")
      ->check(CLI::Range(1, 3600));
  bool verify_no_sanitize = false, verify_no_cache = false, verify_no_speed = false;
  verify_verb->add_flag("--no-sanitize", verify_no_sanitize,
                        "do not look for races and uninitialised reads");
  verify_verb->add_flag("--nominal", verify.nominal,
                        "one more trial at the sizes of the file, where memory and time allow it; "
                        "of what costs too much some blocks are executed");
  verify_verb->add_flag("--no-speed", verify_no_speed,
                        "do not model how long a right candidate and PyTorch would take (of a "
                        "batch: done with --nominal only)");
  verify_verb->add_flag("--no-cache", verify_no_cache, "run the reference even if it ran before");
  verify_verb->add_option("--policy", verify.policy,
                          "what a .py candidate may do: default, strict, lenient or a JSON file");
  verify_verb
      ->add_option("--compat", verify.compat,
                   "judge a .py candidate by the protocol of another benchmark")
      ->check(CLI::IsMember({"kernelbench"}));
  verify_verb->add_flag("--json", verify.json, "print the verdict as JSON");
  CLI::Option* batch =
      verify_verb->add_option("--batch", verify.batch,
                              "file with a line {\"id\", \"reference\", \"kernel\", \"target\"} "
                              "for each candidate; verdicts "
                              "are printed as JSON lines as they finish");
  verify_verb
      ->add_option("-o,--output", verify.output,
                   "append the verdicts to this file and skip those that are in it")
      ->needs(batch);
  verify_verb->add_option("--threads", verify.threads, "candidates at a time; 0 = one for each CPU")
      ->check(CLI::Range(0, 256));

  kuafu::cli::ProfileOptions profile;
  CLI::App* profile_verb = app.add_subcommand(
      "profile", "count what a kernel does in one trial: traffic, conflicts, occupancy");
  profile_verb
      ->add_option("reference", profile.reference,
                   "PyTorch file with Model, get_inputs and get_init_inputs")
      ->required();
  profile_verb->add_option("kernel", profile.kernel, "kernel as for verify: .cu, .mu or .py")
      ->required();
  profile_verb->add_option("--target", profile.target,
                           "simulated device; default sim:h100 for .cu and sim:mtt-s4000 for .mu");
  profile_verb->add_option("--trial", profile.trial, "number of the trial; 0 = as the file says")
      ->check(CLI::Range(0, 4095));
  profile_verb->add_option("--seed", profile.seed, "of the inputs; 0 = drawn");
  profile_verb->add_option("--timeout-s", profile.timeout_s, "seconds the trial may take")
      ->check(CLI::Range(1, 3600));
  profile_verb->add_flag("--json", profile.json, "print the profile as JSON");

  kuafu::cli::VerifyServerOptions server;
  CLI::App* server_verb = app.add_subcommand(
      "verify-server", "judge candidates that arrive over HTTP; for trainers and agents");
  server_verb->add_option("--listen", server.listen, "address and port; port 0 = one that is free");
  server_verb->add_option("--jobs", server.jobs, "candidates that run at a time; 0 = one a CPU")
      ->check(CLI::Range(0, 256));
  server_verb
      ->add_option("--compile-workers", server.compile_workers,
                   "candidates that are compiled at a time; 0 = one a CPU")
      ->check(CLI::Range(0, 256));
  server_verb->add_option("--queue", server.queue, "jobs that may wait; more are refused with 429")
      ->check(CLI::Range(1, 1'000'000));
  server_verb->add_option("--api-key-file", server.api_key_file,
                          "keys, one a line; needed unless only this machine can connect");
  server_verb->add_option("--store", server.store,
                          "folder for a journal, so that a restart forgets nothing");
  server_verb
      ->add_option("--drain-s", server.drain_s, "seconds that running jobs get after SIGTERM")
      ->check(CLI::Range(0, 3600));
  bool server_no_cache = false;
  server_verb->add_flag("--no-cache", server_no_cache, "run references even if they ran before");

  kuafu::cli::DemoOptions demo;
  CLI::App* demo_verb = app.add_subcommand(
      "demo", "verify the bundled examples, right and defective, or the files given");
  demo_verb->add_option("reference", demo.reference, "PyTorch file instead of the examples");
  demo_verb->add_option("kernel", demo.kernel, "kernel for it: .cu or .mu");
  demo_verb->add_flag("--json", demo.json, "print the verdicts as JSON lines");

  CLI::App* bench_verb = app.add_subcommand("bench", "measure");
  bench_verb->require_subcommand(1);
  kuafu::cli::BenchVerifyOptions bench;
  CLI::App* bench_verify_verb =
      bench_verb->add_subcommand("verify", "candidates a second and latency over the corpus");
  bench_verify_verb->add_option("--form", bench.form, "of the candidates")
      ->check(CLI::IsMember({"native", "extension"}));
  bench_verify_verb->add_option("--threads", bench.threads, "0 = one for each CPU")
      ->check(CLI::Range(0, 256));
  bench_verify_verb->add_option("--rounds", bench.rounds, "times over the corpus")
      ->check(CLI::Range(1, 1000));
  bench_verify_verb->add_flag("--json", bench.json, "print the result as JSON");

  kuafu::cli::KernelBenchOptions kernelbench;
  CLI::App* kernelbench_verb = bench_verb->add_subcommand(
      "kernelbench",
      "load, audit and judge the tasks of a KernelBench checkout; goes on where it "
      "was stopped");
  kernelbench_verb->add_option("--root", kernelbench.root, "folder of the checkout")->required();
  kernelbench_verb->add_option("--levels", kernelbench.levels, "comma-separated, of 1 to 4");
  kernelbench_verb->add_option("--candidates", kernelbench.candidates,
                               "folder with level_L_problem_P_sample_S_kernel.py");
  kernelbench_verb->add_option("--target", kernelbench.target, "simulated devices");
  kernelbench_verb->add_option("-o,--output", kernelbench.output,
                               "folder for tasks.jsonl, verdicts.jsonl and summary.md; default "
                               "kernelbench");
  kernelbench_verb
      ->add_option("--compat", kernelbench.compat,
                   "kernelbench: judge by that benchmark's own protocol, for comparison")
      ->check(CLI::IsMember({"kernelbench"}));
  kernelbench_verb->add_option("--jobs", kernelbench.jobs, "tasks or candidates at a time")
      ->check(CLI::Range(1, 256));
  kernelbench_verb->add_flag("--nominal", kernelbench.nominal,
                             "judge candidates at the sizes of the files too, where memory and "
                             "time allow it; speeds are of these sizes only");
  kernelbench_verb->add_option("--seed", kernelbench.seed, "of inputs; 0 = drawn");

  kuafu::cli::TimeModelOptions timemodel;
  CLI::App* timemodel_verb = bench_verb->add_subcommand(
      "timemodel", "modelled times of PyTorch and of kernels against published ones");
  timemodel_verb->add_option("--kernelbench", timemodel.kernelbench,
                             "folder of a checkout, with results/timing");
  CLI::Option* timemodel_cuda_l1 = timemodel_verb->add_option(
      "--cuda-l1", timemodel.cuda_l1,
      "folder of a checkout of CUDA-L1: modelled speed-ups of its kernels against its own");
  timemodel_verb->add_option("--gpu", timemodel.gpu, "of --cuda-l1: h100, a100 or rtx3090")
      ->needs(timemodel_cuda_l1);
  timemodel_verb->add_flag("--all", timemodel.all, "of --cuda-l1: also files without kernels")
      ->needs(timemodel_cuda_l1);
  timemodel_verb->add_option("-o,--output", timemodel.output,
                             "folder for the results; default timemodel, of --cuda-l1 "
                             "timemodel-cuda-l1; with both, one folder in it for each");
  timemodel_verb->add_option("--jobs", timemodel.jobs, "tasks at a time")
      ->check(CLI::Range(1, 256));
  timemodel_verb->add_flag("--fit", timemodel.fit,
                           "fit the constants to a third of the tasks and write constants.def");

  kuafu::cli::BenchOpsOptions bench_ops;
  CLI::App* ops_verb = bench_verb->add_subcommand(
      "ops", "operators on this CPU as fractions of its peak, beside the libraries installed");
  ops_verb->add_option("--op", bench_ops.op, "gemm: matrix products")
      ->check(CLI::IsMember({"gemm"}));
  ops_verb->add_option("--sizes", bench_ops.sizes,
                       "512,8x2048x2048: square, or rows x columns x length of the sums");
  ops_verb->add_option("--precisions", bench_ops.precisions, "of f32, f64, bf16, u8s8; all");
  ops_verb->add_option("--threads", bench_ops.threads, "1")->check(CLI::Range(1, 256));
  ops_verb->add_flag("--json", bench_ops.json, "print the result as JSON");

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
  if (verify_verb->parsed()) {
    const bool pair = !verify.reference.empty() && !verify.kernel.empty();
    if (pair == !verify.batch.empty() || (verify.reference.empty() != verify.kernel.empty())) {
      std::fputs("kuafu: verify takes REFERENCE and KERNEL, or --batch LIST\n", stderr);
      return kuafu::cli::kUsage;
    }
    verify.sanitize = !verify_no_sanitize;
    // A run more for each right candidate; of many, a speed that no reward counts is not worth it.
    verify.speed = !verify_no_speed && (verify.batch.empty() || verify.nominal);
    verify.cache = !verify_no_cache;
    return kuafu::cli::Verify(verify);
  }
  if (profile_verb->parsed()) return kuafu::cli::Profile(profile);
  if (server_verb->parsed()) {
    server.cache = !server_no_cache;
    return kuafu::cli::VerifyServer(server);
  }
  if (demo_verb->parsed()) {
    if (demo.reference.empty() != demo.kernel.empty()) {
      std::fputs("kuafu: demo takes nothing, or REFERENCE and KERNEL\n", stderr);
      return kuafu::cli::kUsage;
    }
    return kuafu::cli::Demo(demo);
  }
  if (kernelbench_verb->parsed()) return kuafu::cli::BenchKernelBench(kernelbench);
  if (ops_verb->parsed()) return kuafu::cli::BenchOps(bench_ops);
  if (timemodel_verb->parsed()) {
    if (!timemodel.cuda_l1.empty() && !timemodel.kernelbench.empty())
      return kuafu::cli::BenchBothTimeModels(timemodel);
    if (!timemodel.cuda_l1.empty()) return kuafu::cli::BenchCudaL1(timemodel);
    if (!timemodel.kernelbench.empty()) return kuafu::cli::BenchTimeModel(timemodel);
    std::fputs("kuafu: bench timemodel: --kernelbench or --cuda-l1 is needed\n", stderr);
    return kuafu::cli::kUsage;
  }
  if (bench_verify_verb->parsed()) return kuafu::cli::BenchVerify(bench);
  return kuafu::cli::Doctor(doctor_json);
}
