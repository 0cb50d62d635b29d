// SPDX-License-Identifier: Apache-2.0
// From a PyTorch reference file to trials: the task as data, and for each trial the arguments and
// the fp64 truth. Real PyTorch runs in a helper process that is forked anew for every file, so a
// hostile file costs its own request only.
//
//   KUAFU_TRY(auto helper, frontend::Helper::Start({}));
//   KUAFU_TRY(frontend::TrialSet set, helper->MakeTrials({.source = text, .seed = 7}, deadline));
//
// Errors: invalid_input = the file is at fault, with the reason in its author's terms; exhausted =
// it asks for more memory than allowed; deadline; unavailable = no usable PyTorch here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/clock.h"
#include "os/fd.h"
#include "task/compare.h"
#include "task/operators.h"
#include "task/task.h"

namespace kuafu::frontend {

enum class Plan : uint8_t {
  kQuick,  // nominal and 4 more shapes, 3 value classes
  kFull,   // every shape variant, every value class
};

struct TrialRequest {
  std::string source;           // text of the PyTorch file
  std::string name = "ref.py";  // for messages
  Plan plan = Plan::kQuick;
  uint64_t seed = 0;
  bool nominal_only = false;  // candidates that hard-code the task's sizes
  // One more trial, at the sizes as the file has them, if these were scaled and memory and time
  // allow it; the notes say why not.
  bool nominal_trial = false;
  // Parameters and buffers exactly as the constructor makes them after torch.manual_seed. Otherwise
  // those that are all equal, such as a bias of zeros, are drawn anew.
  bool as_built = false;
  // KernelBench's own protocol instead of a plan: five trials at the nominal sizes (scaled like
  // those of the quick plan), inputs as written, parameters as built, its seeds. The expected
  // results are PyTorch's in their own precision, without an error model: for task::AllClose.
  bool compat_kernelbench = false;
  // Also what the reference gives for other inputs and with other parameters, to find out what
  // trivial answers would pass. Together with compat_kernelbench the sizes are as large as memory
  // reasonably allows and long sums stay long: what makes a task degenerate is often their length.
  bool alternatives = false;
  int64_t memory_bytes = int64_t{4} << 30;  // of the process that runs the file
};

// What is passed for one entry of Task::arguments. Tensors are views of storages in
// TrialSet::inputs; a storage may be larger than the view (sliced or expanded inputs).
struct ArgumentValue {
  enum class Kind : uint8_t { kNone, kTensor, kInt, kReal, kBool, kIntList };
  Kind kind = Kind::kNone;
  // kTensor
  tensor::DType dtype = tensor::DType::kF32;
  tensor::Shape shape;
  tensor::Shape strides;   // in elements
  int64_t offset = 0;      // of the first element in the storage, in elements
  int64_t storage_at = 0;  // in TrialSet::inputs, in bytes, a multiple of 256
  int64_t storage_bytes = 0;
  // the other kinds
  int64_t integer = 0;  // kInt, kBool
  double real = 0;      // kReal
  std::vector<int64_t> integers;
};

struct TrialOutput {
  task::Expected expected;
  int argument = -1;  // a buffer that the reference changes: index in arguments; -1 = a result
  // With TrialRequest::alternatives, of results; in the form of expected.y64.
  std::optional<tensor::HostTensor> other_inputs, other_parameters;
};

struct Trial {
  std::string shape_label;  // "nominal", "tile", "tile+1", "odd", "prime", "one", "strided", ...
  std::string shape_text;   // "x [7, 129]": what a person needs to build the inputs
  std::string value_class;  // "uniform", "normal", "large_mean", ...
  uint64_t seed = 0;
  bool sampled = false;  // at sizes at which not every block has to be executed
  // To build a module with equal parameters: torch.manual_seed(model_seed), then the constructor
  // with these arguments, {"args": [...], "kwargs": {...}}; python/kuafu_frontend/init_json.py has
  // the encoding. Empty = they cannot be written; TrialSet::notes says why.
  uint64_t model_seed = 0;
  std::string init_json;
  // Parallel to Task::arguments: task::InputCount of them are what forward() takes.
  std::vector<ArgumentValue> arguments;
  std::vector<TrialOutput> outputs;
};

struct TrialSet {
  task::Task task;  // at the nominal shapes
  std::vector<Trial> trials;
  os::UniqueFd inputs;  // sealed memfd with every storage of every trial
  int64_t inputs_bytes = 0;
  // Of the first trial, where they differ from the file's: {"rows": 64}; for OperatorRequest.
  std::string sizes_json = "{}";
  std::vector<std::string> notes;  // dropped value classes and shapes, scaled sizes, and why
  bool inputs_mutated = false;     // the reference changes its inputs: they are not checked then
  // The module has dropout, which has no single right answer. It was switched off here (dropout
  // modules in eval mode, `dropout` of recurrent and attention modules 0), and has to be in a
  // candidate's module.
  bool dropout_off = false;
  // forward() draws numbers (an initial state, say): those that torch.manual_seed(Trial::seed) just
  // before it gives, in a candidate's process as well.
  bool forward_draws = false;
  double seconds = 0;  // measured, of the helper
};

// What forward() would launch on a GPU, without computing anything.
struct OperatorRequest {
  std::string source;
  std::string name = "ref.py";
  std::string sizes_json = "{}";            // as in TrialSet; {} = the sizes as written
  int64_t memory_bytes = int64_t{4} << 30;  // of the process that runs the file
};

// One helper process; one thread at a time. Restarts its zygote when that has died.
class Helper {
 public:
  struct Options {
    std::string python = "/usr/bin/python3";
    std::string script;     // empty = the one found at build time
    std::string cache_dir;  // of trial sets, by source, plan, seed and versions; empty = none
  };
  static Result<std::unique_ptr<Helper>> Start(const Options& options);
  ~Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  Result<TrialSet> MakeTrials(const TrialRequest& request, const os::Deadline& deadline);
  // Beside the errors above: unsupported = a shape depends on values, or the installed PyTorch
  // cannot tell it.
  Result<task::OperatorList> ListOperators(const OperatorRequest& request,
                                           const os::Deadline& deadline);
  std::string torch_version() const;

 private:
  struct Impl;
  explicit Helper(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kuafu::frontend
