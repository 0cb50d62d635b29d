// Each function says what it was given: called with every kind of value.
#include <torch/extension.h>
#include <array>
#include <string>
#include <vector>

int64_t of_tensors(torch::Tensor a, const torch::Tensor& b, at::Tensor& c) { return a.numel() + 10 * b.numel() + 100 * c.numel(); }
int64_t of_optional(c10::optional<torch::Tensor> a, const std::optional<torch::Tensor>& b, torch::optional<int64_t> c, std::optional<double> d) {
    return (a.has_value() ? 1 : 0) + (b ? 2 : 0) + (c ? 4 * *c : 0) + (d.has_value() ? (int64_t)(100 * d.value()) : 0);
}
double of_numbers(int a, int64_t b, size_t c, float d, double e, bool f) { return a + 10.0 * b + 100.0 * c + d + e + (f ? 1000 : 0); }
int64_t of_strings(std::string a, const std::string& b) { return (int64_t)a.size() + 10 * (b == "mean") + 100 * (b.find('x') != std::string::npos); }
double of_lists(const std::vector<int64_t>& a, std::vector<int> b, std::vector<double> c, std::vector<float> d) {
    double sum = 0;
    for (auto v : a) sum += v;
    for (auto v : b) sum += 10 * v;
    for (auto v : c) sum += 100 * v;
    for (auto v : d) sum += 1000 * v;
    return sum;
}
int64_t of_refs(torch::IntArrayRef a, at::ArrayRef<torch::Tensor> b, at::TensorList c) {
    int64_t sum = 0;
    for (auto v : a) sum += v;
    for (const auto& t : b) sum += 10 * t.numel();
    return sum + 100 * (int64_t)c.size();
}
int64_t of_tensor_list(std::vector<torch::Tensor> a, const std::vector<at::Tensor>& b) {
    int64_t sum = 0;
    for (auto& t : a) sum += t.numel();
    return sum + 100 * (int64_t)b.size();
}
int64_t of_tuples(std::tuple<int, int> a, std::array<int64_t, 3> b, std::pair<int64_t, double> c) {
    return std::get<0>(a) + 10 * std::get<1>(a) + 100 * (b[0] + b[1] + b[2]) + (int64_t)(c.first * c.second);
}
int64_t of_type(at::ScalarType type, at::Scalar a, const c10::optional<std::vector<int64_t>>& list, c10::optional<std::string> name) {
    return (int64_t)type + (a.isFloatingPoint() ? 100 : 200) + (list ? (int64_t)list->size() * 1000 : 0) + (name ? 10000 : 0);
}
int64_t of_chars(const char* a, c10::Device b, torch::Device c) {
    return (int64_t)strlen(a) + 10 * (std::string(a) == "mean") + 100 * b.is_cuda() + 1000 * c.is_cpu();
}
void nothing() {}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("of_tensors", &of_tensors);
    m.def("of_optional", &of_optional, py::arg("a") = py::none(), py::arg("b") = c10::nullopt, py::arg("c") = std::nullopt, py::arg("d") = 0.5);
    m.def("of_numbers", &of_numbers, py::arg("a"), py::arg("b") = 2, py::arg("c") = 3, py::arg("d") = 0.25f, py::arg("e") = 0.5, py::arg("f") = false);
    m.def("of_strings", &of_strings, py::arg("a") = "abc", py::arg("reduction") = std::string("mean"));
    m.def("of_lists", &of_lists);
    m.def("of_refs", &of_refs);
    m.def("of_tensor_list", &of_tensor_list);
    m.def("of_tuples", &of_tuples);
    m.def("of_type", &of_type, py::arg("type") = torch::kFloat32, py::arg("a") = 1, py::arg("list") = std::vector<int64_t>{1, 2}, py::arg("name") = py::none());
    m.def("of_chars", &of_chars, py::arg("a") = "abc", py::arg("b") = "cuda:0", py::arg("c") = "cpu");
    m.def("nothing", &nothing);
    auto inner = m.def_submodule("inner", "functions of their own");
    inner.def("of_chars", &of_chars).def_submodule("deep").def("nothing", &nothing);
}
