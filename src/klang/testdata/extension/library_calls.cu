// Every way to leave the work to the library: compiles, and ends the call by name.
#include <torch/extension.h>
#include <torch/nn/functional.h>

namespace F = torch::nn::functional;
using torch::Tensor;
#define CALL(name, ...) m.def(#name, [](Tensor x) -> Tensor { return __VA_ARGS__; })

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    CALL(matmul, torch::matmul(x, x));
    CALL(matmul_method, x.matmul(x));
    CALL(mm, at::mm(x, x.t()));
    CALL(bmm, x.bmm(x));
    CALL(addmm, torch::addmm(x, x, x, /*beta=*/1.0, /*alpha=*/2.0));
    CALL(linear, torch::linear(x, x, c10::optional<Tensor>()));
    CALL(conv2d, torch::conv2d(x, x, {}, /*stride=*/{1, 1}, /*padding=*/{0, 0}, /*dilation=*/1, /*groups=*/1));
    CALL(conv2d_at, at::conv2d(x, x, x, 1, 1));
    CALL(conv_transpose3d, torch::conv_transpose3d(x, x, x, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, 1, {1, 1, 1}));
    CALL(softmax, torch::softmax(x, -1));
    CALL(softmax_method, x.softmax(1, torch::kFloat32));
    CALL(log_softmax, at::log_softmax(x, /*dim=*/1));
    CALL(relu, torch::relu(x));
    CALL(relu_method, x.relu_());
    CALL(gelu, at::gelu(x, "tanh"));
    CALL(sigmoid, torch::sigmoid(x) * x);
    CALL(sum, x.sum({0, 1}, /*keepdim=*/true));
    CALL(sum_all, torch::sum(x));
    CALL(mean, x.mean(-1, true));
    CALL(mean_dims, torch::mean(x, {2, 3}, true));
    CALL(max_all, x.max());
    CALL(max_dim, std::get<0>(x.max(1)));
    CALL(max_two, torch::max(x, x));
    CALL(min_dim, std::get<0>(torch::min(x, 1, true)));
    CALL(exp, x.exp());
    CALL(layer_norm, torch::layer_norm(x, {x.size(-1)}, x, x, 1e-5));
    CALL(native_layer_norm, std::get<0>(at::native_layer_norm(x, {4}, x, x, 1e-5)));
    CALL(batch_norm, torch::batch_norm(x, x, x, x, x, true, 0.1, 1e-5, true));
    CALL(group_norm, torch::group_norm(x, 2, x, x, 1e-5));
    CALL(max_pool2d, torch::max_pool2d(x, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false));
    CALL(avg_pool3d, at::avg_pool3d(x, 2));
    CALL(adaptive, at::adaptive_avg_pool2d(x, {1, 1}));
    CALL(einsum, torch::einsum("ij,jk->ik", {x, x}));
    CALL(cat, torch::cat({x, x}, 1));
    CALL(stack, torch::stack(std::vector<Tensor>{x, x}));
    CALL(where, torch::where(x > 0, x, torch::zeros_like(x)));
    CALL(sort, std::get<0>(x.sort(-1, true)));
    CALL(topk, std::get<1>(torch::topk(x, 3, -1, true, true)));
    CALL(cumsum, torch::cumsum(x, 1));
    CALL(dropout, torch::dropout(x, 0.5, true));
    CALL(norm, x.norm(2, -1, true));
    CALL(norm_all, torch::norm(x));
    CALL(attention, torch::scaled_dot_product_attention(x, x, x, {}, 0.0, true));
    CALL(plus, x + x);
    CALL(minus, 1.0 - x);
    CALL(times, x * 2);
    CALL(divide, x / x.size(0));
    CALL(negate, -x);
    CALL(plus_assign, x += 1);
    CALL(times_assign, x *= x);
    CALL(add_method, x.add_(x, 0.5));
    CALL(mul_method, x.mul(2.0).add(x));
    CALL(div_method, x.div_(3));
    CALL(pow, torch::pow(x, 2));
    CALL(clamp, torch::clamp(x, 0.0, 1.0));
    CALL(clamp_method, x.clamp_min(0));
    CALL(sqrt, (x.square() + 1e-5).sqrt());
    CALL(pad, torch::constant_pad_nd(x, {1, 1}, 0));
    CALL(repeat, x.repeat({2, 1}));
    CALL(index_select, x.index_select(0, x));
    CALL(index, x.index({x}));
    CALL(masked_fill, x.masked_fill(x == 0, -INFINITY));
    CALL(gather, at::gather(x, 1, x));
    CALL(scatter_add, x.scatter_add_(0, x, x));
    CALL(randn, torch::randn({2, 3}, x.options()));
    CALL(rand_like, torch::rand_like(x));
    CALL(functional_relu, F::relu(x, F::ReLUFuncOptions().inplace(true)));
    CALL(functional_softmax, F::softmax(x, F::SoftmaxFuncOptions(1)));
    CALL(functional_conv2d, F::conv2d(x, x, F::Conv2dFuncOptions().stride(2).padding(1).bias(x)));
    CALL(functional_max_pool2d, torch::nn::functional::max_pool2d(x, F::MaxPool2dFuncOptions(3).stride(2).padding(1)));
    CALL(linalg, torch::linalg::vector_norm(x, 2));
    CALL(mm_out, at::mm_out(x, x, x));
    CALL(variance, x.var(1, false, true));
    CALL(logsumexp, torch::logsumexp(x, 1));
    CALL(argmax, x.argmax(1));
    CALL(tril, torch::tril(torch::ones_like(x)));
}
