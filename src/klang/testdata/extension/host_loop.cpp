// Plain C++ that only handles tensors.
#include <torch/extension.h>
#include <ATen/ATen.h>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
struct Plan {
  std::vector<int64_t> shape;
  std::string name;
};
std::map<std::string, Plan>& plans() {
  static std::map<std::string, Plan> all;
  return all;
}
}  // namespace

torch::Tensor head(const torch::Tensor& x, int64_t n, const std::string& name) {
  if (n < 0) throw std::invalid_argument("n must not be negative");
  std::ostringstream out;
  out << "head of " << x.size(0) << " by " << n;
  plans()[name] = Plan{x.sizes().vec(), out.str()};
  return x.narrow(0, 0, std::min<int64_t>(n, x.size(0)));
}
std::vector<torch::Tensor> heads(std::vector<torch::Tensor> all, int64_t n) {
  std::vector<torch::Tensor> out;
  out.reserve(all.size());
  std::transform(all.begin(), all.end(), std::back_inserter(out), [n](const torch::Tensor& t) { return head(t, n, "all"); });
  return out;
}
double host_exp(double v) { return std::exp(v); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("head", &head, py::arg("x"), py::arg("n") = 2, py::arg("name") = "plan");
  m.def("heads", &heads);
  m.def("exp", &host_exp);
}
