// SPDX-License-Identifier: Apache-2.0
// The tensor functions of candidates and the streams: what they return, what they refuse, and that
// nothing that was never written is taken for written. Method: the C functions are called as a
// candidate would, on a session without kernels.
#include <gtest/gtest.h>

#include <cstring>

#include "device/profile.h"
#include "hostabi/session.h"
#include "hostabi/tensors.h"

extern "C" {
int cudaMalloc(void** out, size_t bytes);
int cudaFree(void* p);
int cudaMallocHost(void** out, size_t bytes);
int cudaFreeHost(void* p);
int cudaMemcpy(void* dst, const void* src, size_t bytes, int kind);
int cudaMemcpyAsync(void* dst, const void* src, size_t bytes, int kind, void* stream);
int cudaMemsetAsync(void* dst, int value, size_t bytes, void* stream);
int cudaStreamCreateWithFlags(void** stream, unsigned flags);
int cudaStreamSynchronize(void* stream);
int cudaStreamWaitEvent(void* stream, void* event, unsigned flags);
int cudaStreamDestroy(void* stream);
int cudaEventCreate(void** event);
int cudaEventRecord(void* event, void* stream);
int cudaEventDestroy(void* event);
int musaGetDeviceCount(int* count);
}

namespace kuafu::hostabi {
namespace {

class TensorApi : public ::testing::Test {
 protected:
  TensorApi()
      : session_({.profile = device::FindProfile("h100"), .memory_bytes = size_t{1} << 20}) {
    SetCurrent(&session_);
  }
  KuafuTensor* New(std::vector<int64_t> sizes, int32_t dtype = KUAFU_FLOAT32, uint32_t flags = 0) {
    return kuafu_tensor_new(static_cast<int32_t>(sizes.size()), sizes.data(), nullptr, dtype,
                            flags);
  }
  float* Data(KuafuTensor* t) { return static_cast<float*>(kuafu_tensor_data(t)); }
  uint64_t NeverWritten(KuafuTensor* t) {
    std::vector<uint8_t> out(ElementBytes(t));
    return Gather(session_, t, out).never_written;
  }
  // Values 0, 1, 2, ...
  KuafuTensor* Iota(std::vector<int64_t> sizes) {
    TensorLayout layout{KUAFU_FLOAT32, sizes, std::vector<int64_t>(sizes.size()), 0};
    int64_t step = 1;
    for (size_t i = sizes.size(); i-- > 0; step *= sizes[i]) layout.strides[i] = step;
    std::vector<float> values(static_cast<size_t>(step));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return MakeTensor(session_, layout,
                      {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4}, "x")
        .value();
  }
  Session session_;
};

TEST_F(TensorApi, NewHasTheSizesItWasAskedFor) {
  KuafuTensor* t = New({2, 3}, KUAFU_INT64, KUAFU_TENSOR_ZERO);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(kuafu_tensor_ndim(t), 2);
  EXPECT_EQ(kuafu_tensor_sizes(t)[1], 3);
  EXPECT_EQ(kuafu_tensor_strides(t)[0], 3);
  EXPECT_EQ(kuafu_tensor_numel(t), 6);
  EXPECT_EQ(kuafu_tensor_dtype(t), KUAFU_INT64);
  EXPECT_EQ(kuafu_tensor_is_cuda(t), 1);
  EXPECT_EQ(NeverWritten(t), 0u);
  kuafu_tensor_release(t);
  EXPECT_EQ(session_.memory().used_bytes(), 0u);
}

TEST_F(TensorApi, EmptyTensorHasNoAddress) {
  KuafuTensor* t = New({0, 5});
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(kuafu_tensor_data(t), nullptr);
  EXPECT_EQ(kuafu_tensor_fill(t, 1), 0);
  KuafuTensor* copy = kuafu_tensor_to_dtype(t, KUAFU_INT32);
  ASSERT_NE(copy, nullptr);
  kuafu_tensor_release(copy);
  kuafu_tensor_release(t);
}

TEST_F(TensorApi, StridesAndOffsetsThatReachNoElement) {
  KuafuTensor* t = Iota({4});
  const int64_t far = INT64_MAX / 8;
  const int64_t none = 0;
  KuafuTensor* empty = kuafu_tensor_as_strided(t, 1, &none, &far, far);
  ASSERT_NE(empty, nullptr) << kuafu_tensor_error();
  EXPECT_EQ(kuafu_tensor_data(empty), nullptr);
  const int64_t sizes[] = {1, 2, 1}, strides[] = {INT64_MAX, 2, INT64_MAX};
  KuafuTensor* view = kuafu_tensor_as_strided(t, 3, sizes, strides, 1);
  ASSERT_NE(view, nullptr) << kuafu_tensor_error();
  KuafuTensor* copy = kuafu_tensor_contiguous(view);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(Data(copy)[0], 1);
  EXPECT_EQ(Data(copy)[1], 3);
  for (KuafuTensor* tensor : {t, empty, view, copy}) kuafu_tensor_release(tensor);
}

TEST_F(TensorApi, BadSizesAreRefused) {
  EXPECT_EQ(New({-1}), nullptr);
  EXPECT_NE(std::string(kuafu_tensor_error()).find("negative"), std::string::npos);
  EXPECT_EQ(New({int64_t{1} << 40, int64_t{1} << 40}), nullptr);
  EXPECT_EQ(New({0, int64_t{1} << 62, 4}), nullptr);
  EXPECT_EQ(New({3, int64_t{1} << 62, 0, 2}), nullptr);
  EXPECT_EQ(New({INT64_MAX}), nullptr);
  EXPECT_EQ(New({1 << 20}), nullptr);  // 4 MiB of 1 MiB
  EXPECT_NE(std::string(kuafu_tensor_error()).find("device memory"), std::string::npos);
  EXPECT_EQ(New({4}, 99), nullptr);
  EXPECT_EQ(kuafu_tensor_new(17, nullptr, nullptr, KUAFU_FLOAT32, 0), nullptr);
  EXPECT_EQ(kuafu_tensor_new(-1, nullptr, nullptr, KUAFU_FLOAT32, 0), nullptr);
  const int64_t size = 2, stride = INT64_MAX;
  EXPECT_EQ(kuafu_tensor_new(1, &size, &stride, KUAFU_FLOAT32, 0), nullptr);
  EXPECT_EQ(session_.memory().used_bytes(), 0u);
}

TEST_F(TensorApi, DeadHandlesAreRefusedNotFollowed) {
  KuafuTensor* t = New({4});
  EXPECT_EQ(kuafu_tensor_retain(t), t);
  kuafu_tensor_release(t);
  EXPECT_EQ(kuafu_tensor_numel(t), 4);
  kuafu_tensor_release(t);
  EXPECT_EQ(kuafu_tensor_numel(t), -1);
  EXPECT_EQ(kuafu_tensor_retain(t), nullptr);
  kuafu_tensor_release(t);
  EXPECT_EQ(kuafu_tensor_data(nullptr), nullptr);
}

TEST_F(TensorApi, TensorWhoseMemoryTheCandidateFreedIsRefused) {
  KuafuTensor* t = New({4});
  EXPECT_EQ(cudaFree(kuafu_tensor_data(t)), 0);
  EXPECT_EQ(kuafu_tensor_fill(t, 0), -1);
  EXPECT_FALSE(IsTensor(session_, t));
  kuafu_tensor_release(t);
}

TEST_F(TensorApi, ViewsShareTheStorageAndStayInside) {
  KuafuTensor* t = Iota({2, 3});
  const int64_t sizes[] = {3, 2}, strides[] = {1, 3};
  KuafuTensor* view = kuafu_tensor_as_strided(t, 2, sizes, strides, 0);
  ASSERT_NE(view, nullptr);
  kuafu_tensor_release(t);
  KuafuTensor* copy = kuafu_tensor_contiguous(view);
  ASSERT_NE(copy, nullptr);
  EXPECT_NE(copy, view);
  const float expected[] = {0, 3, 1, 4, 2, 5};
  EXPECT_EQ(std::memcmp(Data(copy), expected, sizeof expected), 0);
  KuafuTensor* again = kuafu_tensor_contiguous(copy);
  EXPECT_EQ(again, copy);
  EXPECT_EQ(kuafu_tensor_as_strided(view, 2, sizes, strides, 1), nullptr);
  EXPECT_EQ(kuafu_tensor_as_strided(view, 2, sizes, strides, -1), nullptr);
  const int64_t negative[] = {-1, 3};
  EXPECT_EQ(kuafu_tensor_as_strided(view, 2, sizes, negative, 5), nullptr);
  for (KuafuTensor* each : {view, copy, again}) kuafu_tensor_release(each);
  EXPECT_EQ(session_.memory().used_bytes(), 0u);
}

TEST_F(TensorApi, CopiesKeepWhatWasNeverWritten) {
  KuafuTensor* t = New({2, 2});
  session_.memory().MarkInitialized(Data(t), 12);  // the last element stays unwritten
  const int64_t sizes[] = {2, 2}, strides[] = {1, 2};
  KuafuTensor* transposed = kuafu_tensor_as_strided(t, 2, sizes, strides, 0);
  KuafuTensor* contiguous = kuafu_tensor_contiguous(transposed);
  EXPECT_EQ(NeverWritten(transposed), 4u);
  EXPECT_EQ(NeverWritten(contiguous), 4u);
  KuafuTensor* wide = kuafu_tensor_to_dtype(contiguous, KUAFU_FLOAT64);
  EXPECT_EQ(NeverWritten(wide), 8u);
  KuafuTensor* zeros = New({2, 2}, KUAFU_FLOAT32, KUAFU_TENSOR_ZERO);
  EXPECT_EQ(kuafu_tensor_copy(zeros, contiguous), 0);
  EXPECT_EQ(NeverWritten(zeros), 4u);
  KuafuTensor* raw = New({2, 2});
  EXPECT_EQ(cudaMemcpy(Data(raw), Data(t), 16, 3), 0);
  EXPECT_EQ(NeverWritten(raw), 4u);
  EXPECT_EQ(kuafu_tensor_fill(zeros, 1), 0);
  EXPECT_EQ(NeverWritten(zeros), 0u);
  for (KuafuTensor* each : {t, transposed, contiguous, wide, zeros, raw})
    kuafu_tensor_release(each);
}

TEST_F(TensorApi, PaddingBetweenElementsIsNotAnOutput) {
  const int64_t sizes[] = {2, 2}, strides[] = {3, 1};
  KuafuTensor* t = kuafu_tensor_new(2, sizes, strides, KUAFU_FLOAT32, 0);
  EXPECT_EQ(NeverWritten(t), 16u);
  EXPECT_EQ(kuafu_tensor_fill(t, 2), 0);
  EXPECT_EQ(NeverWritten(t), 0u);
  kuafu_tensor_release(t);
}

TEST_F(TensorApi, ItemOfAnUnwrittenElementIsAFinding) {
  KuafuTensor* t = New({1});
  double real = 0;
  int64_t integer = 0;
  EXPECT_EQ(kuafu_tensor_item(t, &real, &integer), 0);
  ASSERT_EQ(session_.findings().size(), 1u);
  EXPECT_EQ(KindName(session_.findings()[0]), "uninit");
  EXPECT_EQ(kuafu_tensor_fill(t, -2.75), 0);
  session_.Begin(0);
  EXPECT_EQ(kuafu_tensor_item(t, &real, &integer), 0);
  EXPECT_EQ(real, -2.75);
  EXPECT_EQ(integer, -2);
  EXPECT_TRUE(session_.findings().empty());
  KuafuTensor* two = New({2});
  EXPECT_EQ(kuafu_tensor_item(two, &real, &integer), -1);
  kuafu_tensor_release(two);
  kuafu_tensor_release(t);
}

TEST_F(TensorApi, ConversionsRoundOnceAndClamp) {
  KuafuTensor* t = New({1}, KUAFU_INT64);
  const int64_t big = (int64_t{1} << 53) + 1;  // not a double
  std::memcpy(kuafu_tensor_data(t), &big, 8);
  session_.memory().MarkInitialized(kuafu_tensor_data(t), 8);
  KuafuTensor* back = kuafu_tensor_to_dtype(t, KUAFU_INT64);
  EXPECT_EQ(std::memcmp(kuafu_tensor_data(back), &big, 8), 0);
  KuafuTensor* f = New({1}, KUAFU_FLOAT64);
  EXPECT_EQ(kuafu_tensor_fill(f, 1e300), 0);
  KuafuTensor* i = kuafu_tensor_to_dtype(f, KUAFU_INT64);
  double real = 0;
  int64_t integer = 0;
  EXPECT_EQ(kuafu_tensor_item(i, &real, &integer), 0);
  EXPECT_EQ(integer, INT64_MAX);
  KuafuTensor* h = kuafu_tensor_to_dtype(f, KUAFU_FLOAT16);
  EXPECT_EQ(kuafu_tensor_item(h, &real, &integer), 0);
  EXPECT_GT(real, 1e300);
  for (KuafuTensor* each : {t, back, f, i, h}) kuafu_tensor_release(each);
}

TEST_F(TensorApi, WritingThroughAnExpandedTensorIsRefused) {
  KuafuTensor* t = New({1});
  const int64_t sizes[] = {int64_t{1} << 50}, strides[] = {0};
  KuafuTensor* expanded = kuafu_tensor_as_strided(t, 1, sizes, strides, 0);
  ASSERT_NE(expanded, nullptr);
  EXPECT_EQ(kuafu_tensor_fill(expanded, 1), -1);
  EXPECT_EQ(kuafu_tensor_to_dtype(expanded, KUAFU_FLOAT32), nullptr);  // 2^52 bytes
  kuafu_tensor_release(expanded);
  kuafu_tensor_release(t);
}

TEST_F(TensorApi, OverlappingCopyReadsBeforeItWrites) {
  KuafuTensor* t = Iota({4});
  const int64_t three = 3, one = 1;
  KuafuTensor* head = kuafu_tensor_as_strided(t, 1, &three, &one, 0);
  KuafuTensor* tail = kuafu_tensor_as_strided(t, 1, &three, &one, 1);
  EXPECT_EQ(kuafu_tensor_copy(tail, head), 0);
  const float expected[] = {0, 0, 1, 2};
  EXPECT_EQ(std::memcmp(Data(t), expected, sizeof expected), 0);
  EXPECT_EQ(kuafu_tensor_copy(tail, t), -1);  // other sizes
  for (KuafuTensor* each : {head, tail, t}) kuafu_tensor_release(each);
}

TEST_F(TensorApi, HostOverrunIsReportedOnce) {
  KuafuTensor* t = Iota({4});
  float* volatile p = Data(t);
  p[5] = 1;
  session_.CheckRedZones();
  ASSERT_EQ(session_.findings().size(), 1u);
  EXPECT_EQ(KindName(session_.findings()[0]), "host_overrun");
  EXPECT_EQ(session_.findings()[0].allocation, "x");
  session_.Begin(0);
  kuafu_tensor_release(t);
  EXPECT_TRUE(session_.findings().empty());
  void* raw = nullptr;  // also when it is freed before anybody looks
  ASSERT_EQ(cudaMalloc(&raw, 4), 0);
  static_cast<volatile char*>(raw)[-1] = 0;
  EXPECT_EQ(cudaFree(raw), 0);
  EXPECT_EQ(session_.findings().size(), 1u);
}

TEST_F(TensorApi, MusaNamesAreTheSameFunctions) {
  int count = 0;
  EXPECT_EQ(musaGetDeviceCount(&count), 0);
  EXPECT_EQ(count, 1);
}

class StreamOrder : public TensorApi {
 protected:
  StreamOrder() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&a_, 1), 0);
    EXPECT_EQ(cudaStreamCreateWithFlags(&b_, 1), 0);
    EXPECT_EQ(cudaMalloc(&x_, 64), 0);
    EXPECT_EQ(cudaMalloc(&y_, 64), 0);
  }
  ~StreamOrder() override {
    cudaFree(x_);
    cudaFree(y_);
    cudaStreamDestroy(a_);
    cudaStreamDestroy(b_);
  }
  bool Found() const {
    return session_.findings().size() == 1 &&
           KindName(session_.findings()[0]) == std::string_view("stream_order");
  }
  void *a_ = nullptr, *b_ = nullptr, *x_ = nullptr, *y_ = nullptr;
};

TEST_F(StreamOrder, ReadInAnotherStreamIsFound) {
  cudaMemsetAsync(x_, 0, 64, a_);
  cudaMemcpyAsync(y_, x_, 64, 3, b_);
  EXPECT_TRUE(Found());
}
TEST_F(StreamOrder, EventOrdersTwoStreams) {
  void* event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), 0);
  cudaMemsetAsync(x_, 0, 64, a_);
  cudaEventRecord(event, a_);
  cudaStreamWaitEvent(b_, event, 0);
  cudaMemcpyAsync(y_, x_, 64, 3, b_);
  EXPECT_TRUE(session_.findings().empty());
  cudaMemsetAsync(x_, 0, 64, a_);  // while b may still read it
  EXPECT_TRUE(Found());
  cudaEventDestroy(event);
}
TEST_F(StreamOrder, HalvesOfOneAllocationDoNotMeet) {
  cudaMemsetAsync(x_, 0, 32, a_);
  cudaMemsetAsync(static_cast<char*>(x_) + 32, 1, 32, b_);
  EXPECT_TRUE(session_.findings().empty());
  cudaMemsetAsync(static_cast<char*>(x_) + 31, 1, 2, b_);
  EXPECT_TRUE(Found());
}
TEST_F(StreamOrder, DefaultStreamWaitsForBlockingStreamsOnly) {
  void* blocking = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&blocking, 0), 0);
  cudaMemsetAsync(x_, 0, 64, blocking);
  cudaMemcpyAsync(y_, x_, 64, 3, nullptr);
  EXPECT_TRUE(session_.findings().empty());
  cudaStreamSynchronize(nullptr);
  cudaMemsetAsync(x_, 1, 64, a_);
  char host[64];
  cudaMemcpy(host, x_, 64, 2);
  EXPECT_TRUE(Found());
  cudaStreamDestroy(blocking);
}
TEST_F(StreamOrder, CopyToPinnedMemoryArrivesAtTheSynchronisation) {
  void* host = nullptr;
  ASSERT_EQ(cudaMallocHost(&host, 64), 0);
  std::memset(host, 7, 64);
  cudaMemsetAsync(x_, 0, 64, a_);
  cudaMemcpyAsync(host, x_, 64, 2, a_);
  EXPECT_EQ(static_cast<char*>(host)[0], 7);
  cudaMemcpyAsync(y_, host, 64, 1, a_);  // in the same stream: after the copy
  EXPECT_EQ(static_cast<char*>(y_)[0], 0);
  cudaStreamSynchronize(a_);
  EXPECT_EQ(static_cast<char*>(host)[0], 0);
  EXPECT_TRUE(session_.findings().empty());
  EXPECT_EQ(cudaFreeHost(host), 0);
}
TEST_F(StreamOrder, ReturnedTensorMustNotBeInUse) {
  KuafuTensor* t = New({4});
  cudaMemsetAsync(kuafu_tensor_data(t), 0, 16, a_);
  session_.Finish({AllocationId(t)});
  EXPECT_TRUE(Found());
  session_.Begin(0);
  cudaMemsetAsync(kuafu_tensor_data(t), 0, 16, a_);
  cudaStreamSynchronize(a_);
  session_.Finish({AllocationId(t)});
  EXPECT_TRUE(session_.findings().empty());
  kuafu_tensor_release(t);
}
TEST_F(StreamOrder, UnknownStreamIsRefused) {
  char nothing = 0;
  EXPECT_EQ(cudaMemsetAsync(x_, 0, 64, &nothing), kInvalidResourceHandle);
}

// An extension returns numbers and absent tensors too; the native entry returns tensors alone.
TEST_F(TensorApi, ResultsAreValuesWhereTheCallerWantsThem) {
  KuafuTensor* x = New({4});
  KuafuValue values[4] = {};
  char text[200] = {};
  KuafuCall call{};
  call.result_capacity = 4;
  call.error = text;
  call.error_capacity = sizeof text;
  EXPECT_THROW(kuafu_call_return_number(&call, KUAFU_INT, 1, 0), std::runtime_error);
  EXPECT_THROW(kuafu_call_return(&call, nullptr), std::runtime_error);
  call.values = values;
  kuafu_call_return(&call, x);
  kuafu_call_return(&call, nullptr);
  kuafu_call_return_number(&call, KUAFU_INT, 7, 0);
  kuafu_call_return_number(&call, KUAFU_REAL, 0, 2.5);
  ASSERT_EQ(call.result_count, 4);
  EXPECT_EQ(values[0].tensor, x);
  EXPECT_EQ(values[1].kind, KUAFU_NONE);
  EXPECT_EQ(values[2].integer, 7);
  EXPECT_EQ(values[3].real, 2.5);
  EXPECT_THROW(kuafu_call_return(&call, x), std::runtime_error);
  kuafu_tensor_release(x);
  EXPECT_TRUE(IsTensor(session_, x));  // one reference is in values[0]
  kuafu_call_fail(&call, KUAFU_CALL_THREW, "after some results");
  EXPECT_EQ(call.result_count, 0);
  EXPECT_FALSE(IsTensor(session_, x));
  EXPECT_THROW(kuafu_library_call("at::matmul"), std::runtime_error);
}

}  // namespace
}  // namespace kuafu::hostabi
