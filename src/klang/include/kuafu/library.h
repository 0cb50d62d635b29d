// SPDX-License-Identifier: Apache-2.0
// The library's operators as functions and operator signs, and the functional interface.
#pragma once

#include "kuafu/tensor.h"

namespace at {
#define KUAFU_OPERATOR(name, required, kinds) KUAFU_FUNCTION_##kinds(name, required)
#include "kuafu/library_ops.inc"
#undef KUAFU_OPERATOR
inline Tensor max(const Tensor&) { kuafu_library_call("at::max"); }
inline Tensor max(const Tensor&, const Tensor&) { kuafu_library_call("at::max"); }
inline std::tuple<Tensor, Tensor> max(const Tensor&, int64_t, bool = false) { kuafu_library_call("at::max"); }
inline Tensor min(const Tensor&) { kuafu_library_call("at::min"); }
inline Tensor min(const Tensor&, const Tensor&) { kuafu_library_call("at::min"); }
inline std::tuple<Tensor, Tensor> min(const Tensor&, int64_t, bool = false) { kuafu_library_call("at::min"); }
inline bool equal(const Tensor&, const Tensor&) { kuafu_library_call("at::equal"); }
inline bool allclose(const Tensor&, const Tensor&, double = 0, double = 0, bool = false) { kuafu_library_call("at::allclose"); }
inline Tensor rsub(const Tensor&, const Scalar&, const Scalar& = 1) { kuafu_library_call("at::rsub"); }
inline Tensor pow(const Scalar&, const Tensor&) { kuafu_library_call("at::pow"); }
inline Tensor& cat_out(Tensor&, TensorList, int64_t = 0) { kuafu_library_call("at::cat_out"); }

#define KUAFU_SIGN(sign, name)                                                                             \
  inline Tensor operator sign(const Tensor&, const Tensor&) { kuafu_library_call("at::" #name); }          \
  inline Tensor operator sign(const Tensor&, const Scalar&) { kuafu_library_call("at::" #name); }          \
  inline Tensor operator sign(const Scalar&, const Tensor&) { kuafu_library_call("at::" #name); }
KUAFU_SIGN(+, add) KUAFU_SIGN(-, sub) KUAFU_SIGN(*, mul) KUAFU_SIGN(/, div) KUAFU_SIGN(%, remainder)
KUAFU_SIGN(==, eq) KUAFU_SIGN(!=, ne) KUAFU_SIGN(<, lt) KUAFU_SIGN(<=, le) KUAFU_SIGN(>, gt) KUAFU_SIGN(>=, ge)
KUAFU_SIGN(&, bitwise_and) KUAFU_SIGN(|, bitwise_or) KUAFU_SIGN(^, bitwise_xor)
#undef KUAFU_SIGN
namespace native { using namespace at; }
}  // namespace at

namespace torch {
namespace linalg {
#define KUAFU_LINALG(name) inline Tensor name(const Tensor&, KUAFU_ANY(0)) { kuafu_library_call("torch::linalg::" #name); }
KUAFU_LINALG(norm) KUAFU_LINALG(vector_norm) KUAFU_LINALG(matrix_norm) KUAFU_LINALG(matmul) KUAFU_LINALG(inv) KUAFU_LINALG(det)
KUAFU_LINALG(solve) KUAFU_LINALG(cholesky)
#undef KUAFU_LINALG
}  // namespace linalg
namespace special {
inline Tensor softmax(const Tensor&, KUAFU_ANY(0)) { kuafu_library_call("torch::special::softmax"); }
inline Tensor log_softmax(const Tensor&, KUAFU_ANY(0)) { kuafu_library_call("torch::special::log_softmax"); }
inline Tensor erf(const Tensor&) { kuafu_library_call("torch::special::erf"); }
}  // namespace special
namespace nn {
namespace functional {
// Options of any function: every setter exists and does nothing.
struct AnyOptions {
  AnyOptions() = default;
  template <class T, class... A> AnyOptions(const T&, const A&...) {}
  AnyOptions(std::initializer_list<int64_t>) {}
#define KUAFU_SETTER(name) AnyOptions& name(::kuafu::Any = {}) { return *this; }
  KUAFU_SETTER(bias) KUAFU_SETTER(stride) KUAFU_SETTER(padding) KUAFU_SETTER(dilation) KUAFU_SETTER(groups) KUAFU_SETTER(weight)
  KUAFU_SETTER(eps) KUAFU_SETTER(momentum) KUAFU_SETTER(training) KUAFU_SETTER(running_mean) KUAFU_SETTER(running_var)
  KUAFU_SETTER(p) KUAFU_SETTER(dim) KUAFU_SETTER(inplace) KUAFU_SETTER(negative_slope) KUAFU_SETTER(alpha) KUAFU_SETTER(mode)
  KUAFU_SETTER(value) KUAFU_SETTER(kernel_size) KUAFU_SETTER(output_size) KUAFU_SETTER(ceil_mode) KUAFU_SETTER(reduction)
  KUAFU_SETTER(output_padding) KUAFU_SETTER(count_include_pad) KUAFU_SETTER(scale_factor) KUAFU_SETTER(size) KUAFU_SETTER(align_corners)
  KUAFU_SETTER(approximate) KUAFU_SETTER(num_groups) KUAFU_SETTER(beta) KUAFU_SETTER(threshold) KUAFU_SETTER(min_val) KUAFU_SETTER(max_val)
#undef KUAFU_SETTER
};
#define KUAFU_FUNCTIONAL(name, Options)                                                                    \
  inline Tensor name(const Tensor&, KUAFU_ANY(0)) { kuafu_library_call("torch::nn::functional::" #name); } \
  using Options = AnyOptions;
KUAFU_FUNCTIONAL(relu, ReLUFuncOptions) KUAFU_FUNCTIONAL(gelu, GELUFuncOptions) KUAFU_FUNCTIONAL(softmax, SoftmaxFuncOptions)
KUAFU_FUNCTIONAL(log_softmax, LogSoftmaxFuncOptions) KUAFU_FUNCTIONAL(linear, LinearFuncOptions)
KUAFU_FUNCTIONAL(conv1d, Conv1dFuncOptions) KUAFU_FUNCTIONAL(conv2d, Conv2dFuncOptions) KUAFU_FUNCTIONAL(conv3d, Conv3dFuncOptions)
KUAFU_FUNCTIONAL(conv_transpose1d, ConvTranspose1dFuncOptions) KUAFU_FUNCTIONAL(conv_transpose2d, ConvTranspose2dFuncOptions)
KUAFU_FUNCTIONAL(conv_transpose3d, ConvTranspose3dFuncOptions) KUAFU_FUNCTIONAL(layer_norm, LayerNormFuncOptions)
KUAFU_FUNCTIONAL(batch_norm, BatchNormFuncOptions) KUAFU_FUNCTIONAL(group_norm, GroupNormFuncOptions)
KUAFU_FUNCTIONAL(instance_norm, InstanceNormFuncOptions) KUAFU_FUNCTIONAL(normalize, NormalizeFuncOptions)
KUAFU_FUNCTIONAL(max_pool1d, MaxPool1dFuncOptions) KUAFU_FUNCTIONAL(max_pool2d, MaxPool2dFuncOptions) KUAFU_FUNCTIONAL(max_pool3d, MaxPool3dFuncOptions)
KUAFU_FUNCTIONAL(avg_pool1d, AvgPool1dFuncOptions) KUAFU_FUNCTIONAL(avg_pool2d, AvgPool2dFuncOptions) KUAFU_FUNCTIONAL(avg_pool3d, AvgPool3dFuncOptions)
KUAFU_FUNCTIONAL(adaptive_avg_pool1d, AdaptiveAvgPool1dFuncOptions) KUAFU_FUNCTIONAL(adaptive_avg_pool2d, AdaptiveAvgPool2dFuncOptions)
KUAFU_FUNCTIONAL(adaptive_avg_pool3d, AdaptiveAvgPool3dFuncOptions) KUAFU_FUNCTIONAL(leaky_relu, LeakyReLUFuncOptions)
KUAFU_FUNCTIONAL(elu, ELUFuncOptions) KUAFU_FUNCTIONAL(selu, SELUFuncOptions) KUAFU_FUNCTIONAL(silu, SiLUFuncOptions)
KUAFU_FUNCTIONAL(mish, MishFuncOptions) KUAFU_FUNCTIONAL(softplus, SoftplusFuncOptions) KUAFU_FUNCTIONAL(hardtanh, HardtanhFuncOptions)
KUAFU_FUNCTIONAL(dropout, DropoutFuncOptions) KUAFU_FUNCTIONAL(pad, PadFuncOptions) KUAFU_FUNCTIONAL(interpolate, InterpolateFuncOptions)
KUAFU_FUNCTIONAL(cross_entropy, CrossEntropyFuncOptions) KUAFU_FUNCTIONAL(mse_loss, MSELossFuncOptions)
KUAFU_FUNCTIONAL(nll_loss, NLLLossFuncOptions) KUAFU_FUNCTIONAL(smooth_l1_loss, SmoothL1LossFuncOptions)
KUAFU_FUNCTIONAL(l1_loss, L1LossFuncOptions) KUAFU_FUNCTIONAL(kl_div, KLDivFuncOptions) KUAFU_FUNCTIONAL(embedding, EmbeddingFuncOptions)
KUAFU_FUNCTIONAL(cosine_similarity, CosineSimilarityFuncOptions) KUAFU_FUNCTIONAL(binary_cross_entropy, BinaryCrossEntropyFuncOptions)
KUAFU_FUNCTIONAL(unfold, UnfoldFuncOptions) KUAFU_FUNCTIONAL(fold, FoldFuncOptions)
#undef KUAFU_FUNCTIONAL
}  // namespace functional
}  // namespace nn
}  // namespace torch
