// SPDX-License-Identifier: Apache-2.0
// Goal: the tolerance accepts every legitimate implementation and rejects every degenerate one.
// Method: for files of the corpus, python/tests/make_variants.py makes the trials and what other
// fp32 implementations (serial, fused, reversed, blocked sums; functions by exp2) return for them;
// here both are put before task::CompareOutput, and then zeros, constants, copies, another trial's
// output, and one element that is off by 1e-4.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "frontend/decode.h"
#include "os/file.h"
#include "os/memfd.h"
#include "os/process.h"
#include "task/compare.h"

namespace kuafu::frontend {
namespace {

using tensor::DType;
using tensor::HostTensor;

constexpr int64_t kFileBytesMax = int64_t{1} << 30;
constexpr const char* kVariants[] = {"serial", "fma", "reverse", "blocked", "fast"};
constexpr const char* kFiles[] = {"kernels/attention_naive",  "kernels/avg_pool",
                                  "kernels/batch_norm_stats", "kernels/batched_matmul",
                                  "kernels/bf16_scale_shift", "kernels/black_scholes",
                                  "kernels/conv2d_direct",    "kernels/cross_entropy",
                                  "kernels/cumsum_rows",      "kernels/gelu",
                                  "kernels/group_norm",       "kernels/half_row_sum",
                                  "kernels/layer_norm",       "kernels/log_softmax",
                                  "kernels/matmul_naive",     "kernels/matvec",
                                  "kernels/mse_loss",         "kernels/reduce_atomics",
                                  "kernels/rms_norm",         "kernels/softmax_online",
                                  "kernels/stencil2d",        "kernels/scale_add"};

os::UniqueFd ToMemfd(const std::string& bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  os::UniqueFd fd = os::CreateMemfd("test", count).value();
  if (count > 0) {
    os::Mapping map = os::MapFd(fd.get(), count, os::Access::kReadWrite).value();
    std::memcpy(map.bytes().data(), bytes.data(), bytes.size());
  }
  EXPECT_TRUE(os::SealAll(fd.get()).ok());
  return fd;
}

HostTensor FromBytes(DType dtype, const tensor::Shape& shape, const std::string& bytes,
                     size_t& at) {
  HostTensor result = HostTensor::Create(dtype, shape).value();
  const auto count = static_cast<size_t>(result.count() * tensor::DTypeBytes(dtype));
  EXPECT_LE(at + count, bytes.size());
  if (count > 0) std::memcpy(result.data(), bytes.data() + at, count);
  at += count;
  return result;
}

// The truth rounded to the output's dtype, element by element changed.
HostTensor Changed(const task::Expected& expected, const std::function<double(int64_t)>& value) {
  HostTensor y = HostTensor::Create(expected.dtype, expected.y64.shape()).value();
  for (int64_t i = 0; i < y.count(); ++i) y.Set(i, value(i));
  return y;
}

double Rms(const HostTensor& t) {
  double sum = 0;
  for (int64_t i = 0; i < t.count(); ++i) sum += t.At(i) * t.At(i);
  return std::sqrt(sum / static_cast<double>(std::max<int64_t>(t.count(), 1)));
}

bool Accepted(const HostTensor& y, const task::Expected& expected) {
  return task::CompareOutput(y, expected).ok;
}

// The first trial: nominal sizes, values as written.
void RejectsDegenerateAnswers(const std::string& file, const TrialSet& set) {
  const task::Expected& expected = set.trials[0].outputs[0].expected;
  const HostTensor& truth = expected.y64;
  const int64_t row = truth.shape().empty() ? 1 : truth.shape().back();
  double mean = 0;
  for (int64_t i = 0; i < truth.count(); ++i)
    mean += truth.At(i) / static_cast<double>(truth.count());
  EXPECT_TRUE(Accepted(Changed(expected, [&](int64_t i) { return truth.At(i); }), expected))
      << file;
  EXPECT_FALSE(Accepted(Changed(expected, [](int64_t) { return 0.0; }), expected)) << file;
  EXPECT_FALSE(Accepted(Changed(expected, [](int64_t) { return NAN; }), expected)) << file;
  EXPECT_FALSE(Accepted(Changed(expected, [&](int64_t i) { return -truth.At(i); }), expected))
      << file;
  if (truth.count() > 1) {
    EXPECT_FALSE(Accepted(Changed(expected, [&](int64_t) { return mean; }), expected)) << file;
    EXPECT_FALSE(Accepted(
        Changed(expected, [&](int64_t i) { return truth.At((i + 1) % truth.count()); }), expected))
        << file;
  }
  if (truth.count() > row) {
    EXPECT_FALSE(
        Accepted(Changed(expected, [&](int64_t i) { return truth.At(i % row); }), expected))
        << file;
  }
  for (size_t i = 1; i < set.trials.size(); ++i) {
    const HostTensor& other = set.trials[i].outputs[0].expected.y64;
    if (other.shape() != truth.shape()) continue;
    EXPECT_FALSE(Accepted(Changed(expected, [&](int64_t k) { return other.At(k); }), expected))
        << file << ": the output of trial " << i;
  }
}

// In every trial with ordinary values.
void RejectsSmallCorruption(const std::string& file, const Trial& trial, HostTensor y,
                            const task::Expected& expected) {
  if (trial.value_class != "normal" && trial.value_class != "uniform") return;
  const double rms = Rms(expected.y64);
  if (rms == 0 || y.count() < 2) return;
  const double relative = expected.dtype == DType::kBF16  ? 0.1
                          : expected.dtype == DType::kF16 ? 0.03
                                                          : 1e-4;
  const int64_t at = y.count() / 2;
  y.Set(at, y.At(at) + relative * std::max(rms, std::fabs(y.At(at))));
  EXPECT_FALSE(Accepted(y, expected)) << file << " " << trial.shape_label;
}

TEST(Tolerance, AcceptsReorderingsRejectsDegenerateAnswers) {
  const os::TempDir dir = os::TempDir::Create("tolerance").value();
  std::vector<std::string> command = {"/usr/bin/python3", "-B", KUAFU_MAKE_VARIANTS, dir.path()};
  for (const char* file : kFiles) command.push_back(std::string(file) + "/ref.py");
  os::SpawnOptions options;
  options.stderr_stream = os::Stream::kCapture;
  os::Process child = os::Spawn(command, options).value();
  const os::ExitStatus status = child.Wait(os::Deadline::AfterMs(280'000)).value();
  ASSERT_TRUE(status.ok()) << status.ToString() << "\n" << child.captured_stderr();

  int64_t compared = 0;
  for (size_t n = 0; n < std::size(kFiles); ++n) {
    const std::string file = kFiles[n];
    const auto read = [&](const char* kind) {
      return os::ReadFile(dir.File(std::to_string(n) + "." + kind), kFileBytesMax).value();
    };
    const os::UniqueFd truth = ToMemfd(read("truth"));
    auto decoded = DecodeReply(read("reply"), ToMemfd(read("inputs")), truth);
    ASSERT_TRUE(decoded.ok()) << file << ": " << decoded.error().message;
    const TrialSet& set = decoded.value();
    EXPECT_GE(set.trials.size(), 8u) << file;
    const std::string variants = read("variants");
    size_t at = 0;
    for (const Trial& trial : set.trials) {
      for (const char* variant : kVariants) {
        for (const TrialOutput& output : trial.outputs) {
          const task::Expected& expected = output.expected;
          HostTensor y = FromBytes(expected.dtype, expected.y64.shape(), variants, at);
          const task::CompareResult result = task::CompareOutput(y, expected);
          EXPECT_TRUE(result.ok) << file << " " << variant << " at " << trial.shape_label << ", "
                                 << trial.value_class << ": " << result.Text();
          ++compared;
          if (std::string_view(variant) == "serial") {
            RejectsSmallCorruption(file, trial, std::move(y), expected);
          }
        }
      }
    }
    EXPECT_EQ(at, variants.size()) << file;
    RejectsDegenerateAnswers(file, set);
  }
  EXPECT_GE(compared, 900);
}

}  // namespace
}  // namespace kuafu::frontend
