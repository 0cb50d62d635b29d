// SPDX-License-Identifier: Apache-2.0
// The commands behind the verbs of the `kuafu` program. Each prints its result on stdout, errors on
// stderr, and returns the exit status.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kuafu::cli {

// One exit status per reason, so that scripts can branch.
enum ExitStatus : int {
  kOk = 0,
  kNegative = 1,
  kUsage = 2,
  kEnvironment = 3,
  kInternal = 4,
  kInterrupted = 5
};
ExitStatus StatusOf(const Error& error);

struct RunOptions {
  std::string file;  // .cu or .mu with a main()
  std::string target = "sim:h100";
  int warp_width = 0;  // 0 = the target's own
  uint64_t seed = 0;   // order of warps, blocks and atomics; 0 = lock-step
  bool sanitize = true;
  bool json = false;
  int timeout_s = 60;
  std::vector<std::string> arguments;  // of the program
};
ExitStatus Run(const RunOptions& options);

struct VerifyOptions {
  std::string reference, kernel;  // a PyTorch file; a .cu, .mu or .py file
  std::string target;             // comma-separated; empty = one that fits the kernel's dialect
  std::string plan = "quick";
  uint64_t seed = 0;  // 0 = drawn
  int trial = -1;     // only this one; -1 = all
  int timeout_s = 0;  // 0 = the plan's own
  bool sanitize = true;
  bool nominal = false;  // one more trial, at the task's own sizes
  bool speed = false;    // a right one is compared with PyTorch in eager mode, modelled
  bool cache = true;
  bool json = false;
  std::string policy = "default";  // of legality, for .py
  std::string compat;              // "kernelbench": its protocol instead of ours
  std::string batch;               // a list of candidates instead of one
  std::string output;              // of a batch: results are appended, finished ids are skipped
  int threads = 0;                 // of a batch; 0 = one for each CPU
};
ExitStatus Verify(const VerifyOptions& options);

// `kuafu profile`: one trial of a candidate with counters on, as text or JSON.
struct ProfileOptions {
  std::string reference, kernel;  // as for Verify
  std::string target;             // one; empty = one that fits the kernel's dialect
  int trial = 0;
  uint64_t seed = 0;  // 0 = drawn
  int timeout_s = 60;
  bool json = false;
};
ExitStatus Profile(const ProfileOptions& options);

// Verifies the bundled examples, right ones and one for each of several defects; kOk when each got
// its class. With a reference and a kernel it verifies these instead.
struct DemoOptions {
  std::string reference, kernel;
  bool json = false;
};
ExitStatus Demo(const DemoOptions& options);

// `kuafu bench verify`: the bundled corpus through the verifier, warm; rates and latencies.
struct BenchVerifyOptions {
  std::string form = "native";  // or extension
  int threads = 0;              // 0 = one for each CPU
  int rounds = 2;
  bool json = false;
};
ExitStatus BenchVerify(const BenchVerifyOptions& options);

// `kuafu bench kernelbench`: the tasks of a checkout of KernelBench, and candidates for them.
struct KernelBenchOptions {
  std::string root;  // of the checkout
  std::string levels = "1,2,3";
  std::string candidates;  // folder of level_L_problem_P_sample_S_kernel.py; empty = tasks only
  std::string target = "sim:h100";
  std::string output;  // folder of results; empty = kernelbench
  std::string compat;  // "kernelbench": its own protocol instead of ours
  int jobs = 2;
  uint64_t seed = 0;     // of inputs; 0 = fixed for the tasks, drawn for candidates
  bool nominal = false;  // candidates also at the sizes of the files
};
ExitStatus BenchKernelBench(const KernelBenchOptions& options);

// `kuafu bench timemodel`: modelled times of PyTorch against published ones.
struct TimeModelOptions {
  std::string kernelbench;  // checkout with tasks and results/timing
  std::string cuda_l1;      // checkout with optimized_cuda_code
  std::string gpu;          // of cuda_l1: one set only, by its profile; empty = all
  std::string output;       // folder of results; empty = timemodel, or timemodel-cuda-l1
  bool all = false;         // of cuda_l1: also files without kernels
  int jobs = 2;
  bool fit = false;  // fit the constants instead, without a look at the other tasks
};
ExitStatus BenchTimeModel(const TimeModelOptions& options);
// `kuafu bench timemodel --cuda-l1`: modelled speed-ups of kernels against published ones.
ExitStatus BenchCudaL1(const TimeModelOptions& options);
// One after the other; in folders kernelbench and cuda-l1 of `output`, if there is one.
ExitStatus BenchBothTimeModels(const TimeModelOptions& options);

// `kuafu bench ops`: operators of the engine as fractions of the peak of this machine.
struct BenchOpsOptions {
  std::string op = "gemm";
  std::string sizes = "512,1024,2048";
  std::string precisions;  // empty = all
  int threads = 1;
  bool json = false;
};
ExitStatus BenchOps(const BenchOpsOptions& options);

// `kuafu verify-server`: the verifier as an HTTP service, until SIGTERM or SIGINT.
struct VerifyServerOptions {
  std::string listen = "127.0.0.1:8077";
  int jobs = 0;             // candidates that run at a time; 0 = one for each CPU
  int compile_workers = 0;  // 0 = one for each CPU
  int64_t queue = 256;      // jobs that may wait
  std::string api_key_file;
  std::string store;     // folder of the journal; empty = a restart forgets
  int64_t drain_s = 60;  // that running jobs get after a signal
  bool cache = true;
};
ExitStatus VerifyServer(const VerifyServerOptions& options);

// A program of this installation, beside the running one.
Result<std::string> SiblingProgram(const char* name);

ExitStatus Doctor(bool json);

}  // namespace kuafu::cli
