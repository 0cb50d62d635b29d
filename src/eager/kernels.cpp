// SPDX-License-Identifier: Apache-2.0
// The time of one kernel from what it must move and compute. One function for each family of
// library kernels; what a family cannot avoid is in the operation, what it wastes is here.
#include <algorithm>
#include <cmath>
#include <limits>

#include "eager/model.h"

namespace kuafu::eager {
namespace {

using task::Operator;
using task::OperatorKind;

constexpr double kTf32PerFp16 = 0.5;         // of tensor core peaks, on every GPU that has both
constexpr double kResidentRowBytes = 65536;  // of a row that a block keeps instead of reading again
constexpr int64_t kPersistentSoftmax = 1024;

struct Context {
  const Machine& machine;
  const Constants& c;
  const device::Profile& gpu;

  double BytesPerUs() const { return gpu.dram_gb_per_s * 1e3 * c[machine.bandwidth]; }
  double Fp32PerUs() const { return gpu.fp32_tflops * 1e6 * c[machine.compute]; }
  double TensorPerUs(double share) const {
    return gpu.fp16_tensor_tflops * 1e6 * share * c[machine.tensor];
  }
  // Bytes of `traffic` at `efficiency`; `blocks` > 0 = only so many blocks of threads move them.
  double Move(const Traffic& traffic, double efficiency, double blocks = 0) const {
    double speed = BytesPerUs() * efficiency;
    double near = speed * c[Constant::l2_speed];
    if (blocks > 0) {
      const double limit = blocks * c[Constant::block_gb_per_s] * 1e3;
      speed = std::min(speed, limit);
      near = std::min(near, limit);
    }
    return traffic.dram_bytes / speed + traffic.l2_bytes / near;
  }
};

double Ceil(double a, double b) { return std::ceil(a / b); }

bool IsHalf(const Operator& op) {
  return op.dtype == tensor::DType::kF16 || op.dtype == tensor::DType::kBF16;
}

// FLOP of a product of m x n x k in tiles of one SM, with idle SMs in the last wave and the start
// of each tile's loop; the best of the library's tiles and of splits along k.
double TiledFlops(const Operator& op, int sms, double ramp) {
  static constexpr struct {
    double m, n, speed;
  } kTiles[] = {{256, 128, 1.0}, {128, 128, 1.0}, {128, 64, 0.9}, {64, 64, 0.75}, {32, 32, 0.4}};
  const auto m = static_cast<double>(std::max<int64_t>(op.m, 1));
  const auto n = static_cast<double>(std::max<int64_t>(op.n, 1));
  const auto k = static_cast<double>(std::max<int64_t>(op.k, 1));
  const auto batch = static_cast<double>(std::max<int64_t>(op.batch, 1));
  double best = std::numeric_limits<double>::infinity();
  for (const auto& tile : kTiles) {
    for (const bool swap : {false, true}) {
      const double tiles =
          Ceil(m, swap ? tile.n : tile.m) * Ceil(n, swap ? tile.m : tile.n) * batch;
      for (double split = 1; split <= 32 && k / split >= 64; split *= 2) {
        const double waves = Ceil(tiles * split, sms);
        const double loop = k / split + ramp;
        best = std::min(best, waves * sms * tile.m * tile.n * loop * 2 / tile.speed);
      }
      if (k < 64)
        best =
            std::min(best, Ceil(tiles, sms) * sms * tile.m * tile.n * (k + ramp) * 2 / tile.speed);
    }
  }
  return best;
}

KernelTime Longer(double memory_us, double compute_us) {
  return {.us = std::max(memory_us, compute_us), .memory_us = memory_us, .compute_us = compute_us};
}

KernelTime Gemm(const Operator& op, const Traffic& traffic, const Context& x) {
  const double peak = IsHalf(op) ? x.TensorPerUs(1)
                      : op.tf32  ? x.TensorPerUs(kTf32PerFp16)
                                 : x.Fp32PerUs();
  const double flops = TiledFlops(op, x.gpu.sm_count, x.c[Constant::gemm_ramp]);
  // A product with a vector is a reduction.
  const bool thin = std::min(op.m, op.n) <= 4;
  return Longer(x.Move(traffic, thin ? x.c[Constant::reduce_inner] : 1),
                thin ? static_cast<double>(op.flops) / peak : flops / peak);
}

// cuDNN may use TF32 for FP32 tensors (PyTorch's default), and its tensor core kernels take
// channels last, so that operands are copied before and after.
KernelTime Conv(const Operator& op, const Traffic& traffic, const Context& x) {
  double efficiency = 1;
  if (op.in_channels > 0 && op.in_channels <= 4) efficiency *= x.c[Constant::conv_thin];
  if (op.dims == 1) efficiency *= x.c[Constant::conv_1d];
  if (op.dims == 3) efficiency *= x.c[Constant::conv_3d];
  if (op.transposed) efficiency *= x.c[Constant::conv_transposed];
  if (op.batch > 1) efficiency *= x.c[Constant::conv_grouped];
  const double peak = x.TensorPerUs(IsHalf(op) ? 1 : kTf32PerFp16);
  const double flops = TiledFlops(op, x.gpu.sm_count, x.c[Constant::conv_ramp]);
  const double moved = static_cast<double>(op.read_bytes + op.written_bytes);
  const double layout =
      op.channels_last ? 0 : 2 * x.c[Constant::conv_layout] * moved / x.BytesPerUs();
  KernelTime time = Longer(x.Move(traffic, 1), flops / (peak * efficiency));
  time.us += layout;
  time.memory_us += layout;
  return time;
}

KernelTime Depthwise(const Operator& op, const Traffic& traffic, const Context& x) {
  const bool hard = op.dims == 3 || op.transposed;
  const double share = x.c[hard ? Constant::depthwise_3d : Constant::depthwise];
  return Longer(x.Move(traffic, x.c[Constant::pool]),
                static_cast<double>(op.flops) / (x.Fp32PerUs() * share));
}

bool HasBroadcast(const Operator& op) {
  const int64_t largest =
      op.use_bytes.empty() ? 0 : *std::max_element(op.use_bytes.begin(), op.use_bytes.end());
  return std::any_of(op.use_bytes.begin(), op.use_bytes.end(),
                     [&](int64_t bytes) { return bytes > 16 && bytes < largest / 2; });
}

double Elementwise(const Operator& op, const Traffic& traffic, const Context& x) {
  double efficiency = 1;
  if (op.strided) {
    efficiency = x.c[Constant::strided];
  } else if (HasBroadcast(op)) {
    efficiency = x.c[Constant::broadcast];
  }
  return x.Move(traffic, efficiency);
}

// The rows that are worked on at a time, if they are read more than once.
Traffic Again(const Operator& op, const Context& x, double passes) {
  const double read = static_cast<double>(op.read_bytes);
  const double row_bytes = static_cast<double>(op.row) * static_cast<double>(DTypeBytes(op.dtype));
  if (row_bytes <= kResidentRowBytes) return {};
  const double live =
      row_bytes * std::min<double>(static_cast<double>(op.rows), 2.0 * x.gpu.sm_count);
  const double near = x.gpu.l2_mib * 1048576.0 * x.c[Constant::l2_share];
  if (live <= near) return {.dram_bytes = 0, .l2_bytes = read * passes};
  return {.dram_bytes = read * passes, .l2_bytes = 0};
}

Traffic Sum(const Traffic& a, const Traffic& b) {
  return {.dram_bytes = a.dram_bytes + b.dram_bytes, .l2_bytes = a.l2_bytes + b.l2_bytes};
}

double Softmax(const Operator& op, const Traffic& traffic, const Context& x) {
  const double share = x.c[Constant::softmax];
  if (op.row <= kPersistentSoftmax && op.inner == 1) return x.Move(traffic, share);
  const auto blocks = static_cast<double>(op.rows);
  return x.Move(Sum(traffic, Again(op, x, 2)), share, op.inner == 1 ? blocks : 0);
}

double Norm(const Operator& op, const Traffic& traffic, const Context& x) {
  if (op.op.find("batch_norm") != std::string::npos) {
    if (!op.training) return x.Move(traffic, x.c[Constant::norm_batch]);
    return x.Move(Sum(traffic, {.dram_bytes = static_cast<double>(op.read_bytes), .l2_bytes = 0}),
                  x.c[Constant::norm_batch]);
  }
  Traffic more = Again(op, x, 1);
  // Statistics and application are two kernels of group_norm.
  if (op.op.find("group_norm") != std::string::npos && more.dram_bytes + more.l2_bytes == 0)
    more.l2_bytes = static_cast<double>(op.read_bytes);
  // PyTorch's layer_norm gives each row a block of 128 threads, an eighth of what others get, and
  // what a block can stream goes with the loads that its threads have in flight.
  const double share = op.op.find("layer_norm") != std::string::npos ? 1.0 / 8 : 1;
  return x.Move(Sum(traffic, more), x.c[Constant::norm_row], share * static_cast<double>(op.rows));
}

double Reduction(const Operator& op, const Traffic& traffic, const Context& x) {
  const bool place = op.makes.size() > 1 || op.op.find("arg") != std::string::npos ||
                     op.op.find("cum") != std::string::npos;
  const double share = x.c[op.inner == 1 ? Constant::reduce_inner : Constant::reduce_outer] *
                       (place ? x.c[Constant::reduce_index] : 1);
  return x.Move(traffic, share);
}

KernelTime Pooling(const Operator& op, const Traffic& traffic, const Context& x) {
  const double visits = static_cast<double>(op.taps) * static_cast<double>(op.rows);
  const double rate = x.gpu.sm_count * static_cast<double>(x.gpu.clock_mhz) *
                      x.c[Constant::pool_rate];  // a microsecond
  return Longer(x.Move(traffic, x.c[Constant::pool]), visits / rate);
}

KernelTime Rnn(const Operator& op, const Traffic& traffic, const Context& x) {
  const double chain =
      static_cast<double>(op.steps) * static_cast<double>(std::max<int64_t>(op.layers, 1)) *
      static_cast<double>(std::max<int64_t>(op.batch, 1)) * x.c[Constant::rnn_step_us];
  const double products = static_cast<double>(op.flops) / (x.Fp32PerUs() * x.c[Constant::rnn]);
  return Longer(x.Move(traffic, 1), std::max(chain, products));
}

}  // namespace

KernelTime TimeKernel(const Operator& op, const Traffic& traffic, const Machine& machine,
                      const Constants& constants) {
  const Context x{machine, constants, machine.gpu};
  const auto memory = [](double us) { return Longer(us, 0); };
  const auto scaled = [&](Constant share) { return memory(x.Move(traffic, constants[share])); };
  switch (op.kind) {
    case OperatorKind::kGemm: return Gemm(op, traffic, x);
    case OperatorKind::kConv: return Conv(op, traffic, x);
    case OperatorKind::kDepthwise: return Depthwise(op, traffic, x);
    case OperatorKind::kElementwise: return memory(Elementwise(op, traffic, x));
    case OperatorKind::kReduction: return memory(Reduction(op, traffic, x));
    case OperatorKind::kScan:
      return scaled(op.inner == 1 ? Constant::scan_inner : Constant::scan_outer);
    case OperatorKind::kNorm: return memory(Norm(op, traffic, x));
    case OperatorKind::kSoftmax: return memory(Softmax(op, traffic, x));
    case OperatorKind::kAttention:
      return Longer(x.Move(traffic, 1), static_cast<double>(op.flops) /
                                            (x.Fp32PerUs() * constants[Constant::attention]));
    case OperatorKind::kRnn: return Rnn(op, traffic, x);
    case OperatorKind::kPooling: return Pooling(op, traffic, x);
    case OperatorKind::kGather: return scaled(Constant::gather);
    case OperatorKind::kCopy: return scaled(op.strided ? Constant::strided : Constant::copy);
    case OperatorKind::kFill: return memory(x.Move(traffic, 1));
    case OperatorKind::kSort: return scaled(Constant::sort);
    case OperatorKind::kRandom:
    case OperatorKind::kFft:
    case OperatorKind::kOther: return scaled(Constant::unknown);
  }
  return {};
}

double KindSigma(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kElementwise:
    case OperatorKind::kFill: return 0.08;
    case OperatorKind::kGemm:
    case OperatorKind::kReduction:
    case OperatorKind::kCopy: return 0.15;
    case OperatorKind::kNorm:
    case OperatorKind::kSoftmax:
    case OperatorKind::kPooling: return 0.25;
    case OperatorKind::kConv:
    case OperatorKind::kAttention:
    case OperatorKind::kRnn:
    case OperatorKind::kScan: return 0.45;
    case OperatorKind::kDepthwise:
    case OperatorKind::kGather:
    case OperatorKind::kSort:
    case OperatorKind::kRandom:
    case OperatorKind::kFft:
    case OperatorKind::kOther: return 0.7;
  }
  return 0.7;
}

}  // namespace kuafu::eager
