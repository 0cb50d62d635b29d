#include <torch/extension.h>

using namespace torch::indexing;
using torch::Tensor;

std::vector<Tensor> views(Tensor x) {  // 2 x 3 x 4
    TORCH_CHECK_GE(x.ndimension(), 3);
    const auto sizes = x.sizes().vec();
    int64_t total = 1;
    for (auto s : x.sizes()) total *= s;
    for (const auto d : c10::irange(x.dim())) total += x.stride(d) * 0;
    TORCH_CHECK(total == x.numel(), "sizes of ", x.sizes(), " and number ", x.numel(), " differ for ", x.dtype(), " on ", x.device());
    std::vector<Tensor> v;
    v.emplace_back(x.view(-1));
    v.emplace_back(x.view({sizes[0], -1}));
    v.emplace_back(x.reshape({-1, x.size(-1)}));
    v.emplace_back(x.transpose(1, 2));
    v.emplace_back(x.permute({2, 0, 1}).contiguous());
    v.emplace_back(x.select(0, 1).t());
    v.emplace_back(x[0][1]);
    v.emplace_back(x.unsqueeze(0).expand({2, -1, -1, -1}));
    v.emplace_back(x.narrow(2, 1, 2));
    v.emplace_back(x.slice(/*dim=*/2, /*start=*/0, /*end=*/4, /*step=*/2));
    v.emplace_back(x.flatten(1));
    v.emplace_back(x.squeeze(0));
    v.emplace_back(x.index({0, Slice(1, None), "..."}));
    v.emplace_back(x.index({Slice(), 0, Slice(None, None, 2)}));
    v.emplace_back(x.index({Ellipsis, -1}));
    v.emplace_back(x.chunk(2, 2)[1]);
    v.emplace_back(x.split(2, 1)[0]);
    v.emplace_back(torch::transpose(x, 0, 1).clone());
    v.emplace_back(x.detach().to(torch::kFloat64));
    v.emplace_back(x.to(x.device(), torch::kHalf));
    v.emplace_back(x.to(torch::kCUDA));
    v.emplace_back(x.to(x.options().dtype(torch::kInt32)));
    v.emplace_back(x.unfold(2, 2, 1));
    v.emplace_back(x.movedim(0, 2).is_contiguous() ? x : x.mT());
    Tensor y = x.clone();
    y.zero_();
    y.fill_(2).copy_(x);
    y.index_put_({0, 0, 0}, 7);
    v.push_back(std::move(y));
    if (!x.is_floating_point() || x.element_size() != sizeof(float) || !x.defined() || x.requires_grad()) v.clear();
    return v;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("views", &views); }
