// SPDX-License-Identifier: Apache-2.0
// What every conformance program is made of: checks on the host that name what they got and what
// the contract says, and buffers that copy themselves. Kernels only write what they saw; the host
// judges, so that a broken device cannot vouch for itself.
//
//   CTS_EQ(out[3], 7);
//   CTS_OK(cudaMemset(p, 0, bytes));
//   int main() { ...; return cts::Finish(); }
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace cts {

// More lines than this say nothing new.
constexpr int kLinesMax = 40;

struct Tally {
  long checks = 0, failed = 0;
};
inline Tally& Counts() {
  static Tally tally;
  return tally;
}

inline std::string Text(bool v) { return v ? "true" : "false"; }
inline std::string Text(const char* v) { return v; }
inline std::string Text(const std::string& v) { return v; }
inline std::string Text(const void* v) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", v);
  return text;
}
inline std::string Text(double v) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g (%a)", v, v);
  return text;
}
inline std::string Text(float v) { return Text(static_cast<double>(v)); }
inline std::string Text(long long v) { return std::to_string(v); }
inline std::string Text(unsigned long long v) {
  char text[64];
  std::snprintf(text, sizeof text, "%llu (0x%llx)", v, v);
  return text;
}
inline std::string Text(int v) { return Text(static_cast<long long>(v)); }
inline std::string Text(long v) { return Text(static_cast<long long>(v)); }
inline std::string Text(unsigned v) { return Text(static_cast<unsigned long long>(v)); }
inline std::string Text(unsigned long v) { return Text(static_cast<unsigned long long>(v)); }
inline std::string Text(cudaError_t v) {
  return std::to_string(static_cast<int>(v)) + " (" + cudaGetErrorName(v) + ")";
}

inline bool Check(bool right, const char* file, int line, const std::string& what,
                  const std::string& got, const std::string& expected) {
  Tally& tally = Counts();
  ++tally.checks;
  if (right) return true;
  if (++tally.failed <= kLinesMax) {
    const char* name = std::strrchr(file, '/');
    std::printf("%s:%d: %s: got %s, expected %s\n", name == nullptr ? file : name + 1, line,
                what.c_str(), got.c_str(), expected.c_str());
  }
  return false;
}
template <class A, class B>
bool Equal(const A& got, const B& expected, const char* file, int line, const char* what) {
  if (got == expected) {  // no text is made for the many checks that pass
    ++Counts().checks;
    return true;
  }
  return Check(false, file, line, what, Text(got), Text(expected));
}
inline bool OneOf(cudaError_t got, std::initializer_list<cudaError_t> allowed, const char* file,
                  int line, const char* what) {
  std::string text;
  bool right = false;
  for (const cudaError_t e : allowed) {
    right = right || got == e;
    text += (text.empty() ? "" : " or ") + Text(e);
  }
  return Check(right, file, line, what, Text(got), text);
}

// The last line of every program; the driver reads it.
inline int Finish() {
  const Tally& tally = Counts();
  if (tally.failed > kLinesMax)
    std::printf("... and %ld more failed checks\n", tally.failed - kLinesMax);
  std::printf("checks %ld failed %ld\n", tally.checks, tally.failed);
  std::fflush(stdout);
  return tally.failed == 0 && tally.checks > 0 ? 0 : 1;
}

// Device memory that starts with every byte set, and comes back as a vector.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count, int byte = 0) : count_(count) {
    if (cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)) != cudaSuccess ||
        cudaMemset(data_, byte, count * sizeof(T)) != cudaSuccess) {
      std::printf("cannot allocate %zu bytes on the device\n", count * sizeof(T));
      std::exit(1);
    }
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }
  // Waits for the kernels before it; a failed one shows as values that were never written.
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost);
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

inline int WarpSize() {
  int width = 0;
  cudaDeviceGetAttribute(&width, cudaDevAttrWarpSize, 0);
  return width;
}
// Small seeded numbers, the same everywhere.
inline unsigned Mix(unsigned x) {
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
  return x;
}

}  // namespace cts

#define CTS_EQ(got, expected) cts::Equal((got), (expected), __FILE__, __LINE__, #got)
#define CTS_TRUE(condition) cts::Equal(bool(condition), true, __FILE__, __LINE__, #condition)
#define CTS_OK(call) cts::Equal((call), cudaSuccess, __FILE__, __LINE__, #call)
#define CTS_ERROR(call, ...) cts::OneOf((call), {__VA_ARGS__}, __FILE__, __LINE__, #call)
// Waits for the device; the launch before it must have gone well.
#define CTS_DONE()                   \
  do {                               \
    CTS_OK(cudaGetLastError());      \
    CTS_OK(cudaDeviceSynchronize()); \
  } while (0)
