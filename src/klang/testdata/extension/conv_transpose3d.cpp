#include <torch/extension.h>
torch::Tensor conv_transpose3d_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b, std::vector<int> stride, std::vector<int> padding, std::vector<int> output_padding, int groups);
