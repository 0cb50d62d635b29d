#include <torch/extension.h>
#include <tuple>

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> batch_norm_forward(
    const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
    torch::Tensor& running_mean, torch::Tensor& running_var, bool training, double momentum, double eps);
