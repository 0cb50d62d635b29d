// SPDX-License-Identifier: Apache-2.0
// Vector types: size and alignment of each (CUDA programming guide, "Built-in Vector Types"), loads
// and stores of every width, fields, arrays and structs of them, cached loads and stores.
#include "check.h"

#include <algorithm>
#include <cstddef>

// Name, element, size and alignment of 1 to 4 components.
#define TYPES(F)                                                                               \
  F(char, signed char, 1, 1)                                                                   \
  F(uchar, unsigned char, 1, 1)                                                                \
  F(short, short, 2, 2)                                                                        \
  F(ushort, unsigned short, 2, 2)                                                              \
  F(int, int, 4, 4) F(uint, unsigned, 4, 4) F(float, float, 4, 4) F(longlong, long long, 8, 8) \
      F(ulonglong, unsigned long long, 8, 8) F(double, double, 8, 8)

__global__ void Layout(unsigned* out) {
  unsigned at = 0;
#define MEASURE(name, T, size, align)                                                      \
  out[at++] = sizeof(name##1), out[at++] = alignof(name##1), out[at++] = sizeof(name##2);  \
  out[at++] = alignof(name##2), out[at++] = sizeof(name##3), out[at++] = alignof(name##3); \
  out[at++] = sizeof(name##4), out[at++] = alignof(name##4);
  TYPES(MEASURE)
}
template <class V, class T, int N>
__global__ void Move(const V* in, V* out, T* sums) {
  __shared__ V tile[64];
  const int t = threadIdx.x;
  tile[t] = in[t];
  __syncthreads();
  V v = tile[63 - t];
  V local[2] = {v, in[t]};
  out[t] = local[t & 1];
  const T* scalars = reinterpret_cast<const T*>(&in[t]);  // components one by one
  T sum = 0;
  for (int i = 0; i < N; ++i) sum = T(sum + scalars[i]);
  sums[t] = sum;
}
template <class V, class T, int N>
static void CheckMove() {
  std::vector<V> in(64);
  for (int t = 0; t < 64; ++t) {
    T* scalars = reinterpret_cast<T*>(&in[t]);
    for (int i = 0; i < N; ++i) scalars[i] = T(cts::Mix(unsigned(t * 4 + i)) % 100);
  }
  cts::Buffer<V> from(in), to(64);
  cts::Buffer<T> sums(64);
  Move<V, T, N><<<1, 64>>>(from.get(), to.get(), sums.get());
  CTS_DONE();
  const std::vector<V> out = to.Read();
  const std::vector<T> sum = sums.Read();
  for (int t = 0; t < 64; ++t) {
    const T* want = reinterpret_cast<const T*>(&in[t & 1 ? t : 63 - t]);
    const T* got = reinterpret_cast<const T*>(&out[t]);
    const T* mine = reinterpret_cast<const T*>(&in[t]);
    T expected = 0;
    for (int i = 0; i < N; ++i) {
      CTS_EQ(double(got[i]), double(want[i]));
      expected = T(expected + mine[i]);
    }
    CTS_EQ(double(sum[t]), double(expected));
  }
}

struct Record {
  char tag;
  float3 position;
  double2 weight;
  uchar4 color;
};
__global__ void Records(const Record* in, Record* out, unsigned* offsets) {
  Record r = in[threadIdx.x];
  r.position = make_float3(r.position.z, r.position.x, r.position.y);
  r.weight.x += r.weight.y;
  r.color.w = (unsigned char)(r.color.x + r.color.y);
  out[threadIdx.x] = r;
  if (threadIdx.x == 0) {
    offsets[0] = unsigned(offsetof(Record, position)),
    offsets[1] = unsigned(offsetof(Record, weight));
    offsets[2] = unsigned(offsetof(Record, color)), offsets[3] = unsigned(sizeof(Record));
  }
}
__global__ void Cached(const float4* in, const int2* pairs, float4* out, int2* out_pairs) {
  const int t = threadIdx.x;
  const float4 a = __ldg(&in[t]), b = __ldcg(&in[63 - t]);
  __stcs(&out[t], make_float4(a.x + b.x, a.y - b.y, a.z, b.w));
  int2 p = __ldca(&pairs[t]);
  p.x += __ldcs(&pairs[t].y);
  __stcg(&out_pairs[t], p);
}
// The wide view of narrow data, at every element that alignment allows.
__global__ void Reinterpret(const float* in, float* out) {
  const float4* wide = reinterpret_cast<const float4*>(in);
  const float2* two = reinterpret_cast<const float2*>(in);
  const int t = threadIdx.x;
  out[t] = wide[t / 4].x + two[t / 2].y * 1000;
}

int main() {
  cts::Buffer<unsigned> layout(80);
  Layout<<<1, 1>>>(layout.get());
  CTS_DONE();
  const std::vector<unsigned> l = layout.Read();
  unsigned at = 0;
#define EXPECT(name, T, size, align)                                                    \
  for (unsigned n = 1; n <= 4; ++n) {                                                   \
    const unsigned a = n == 2 ? 2 * align : n == 4 ? std::min(4u * align, 16u) : align; \
    CTS_EQ(l[at++], n* size), CTS_EQ(l[at++], a);                                       \
  }                                                                                     \
  CTS_EQ(sizeof(name##3), size_t(3 * size)),                                            \
      CTS_EQ(alignof(name##4), size_t(std::min(4 * align, 16)));
  TYPES(EXPECT)
  // One element of each size, each number of components.
#define MOVE(name, T)                                                                 \
  CheckMove<name##1, T, 1>(), CheckMove<name##2, T, 2>(), CheckMove<name##3, T, 3>(), \
      CheckMove<name##4, T, 4>();
  MOVE(uchar, unsigned char)
  MOVE(short, short)
  MOVE(float, float)
  MOVE(double, double)

      std::vector<Record>
          records(32);
  for (int t = 0; t < 32; ++t)
    records[t] = {char(t), make_float3(float(t), float(t + 1), float(t + 2)), make_double2(t, 0.5),
                  make_uchar4((unsigned char)(t * 3), 200, 1, 0)};
  cts::Buffer<Record> in(records), out(32);
  cts::Buffer<unsigned> offsets(4);
  Records<<<1, 32>>>(in.get(), out.get(), offsets.get());
  CTS_DONE();
  const std::vector<Record> got = out.Read();
  for (int t = 0; t < 32; ++t) {
    CTS_EQ(int(got[t].tag), t), CTS_EQ(got[t].position.x, float(t + 2)),
        CTS_EQ(got[t].position.y, float(t));
    CTS_EQ(got[t].position.z, float(t + 1)), CTS_EQ(got[t].weight.x, t + 0.5),
        CTS_EQ(got[t].weight.y, 0.5);
    CTS_EQ(int(got[t].color.w), (t * 3 + 200) % 256), CTS_EQ(int(got[t].color.z), 1);
  }
  // Host and device agree on where fields are.
  const std::vector<unsigned> o = offsets.Read();
  CTS_EQ(o[0], unsigned(offsetof(Record, position))),
      CTS_EQ(o[1], unsigned(offsetof(Record, weight)));
  CTS_EQ(o[2], unsigned(offsetof(Record, color))), CTS_EQ(o[3], unsigned(sizeof(Record)));

  std::vector<float4> four(64);
  std::vector<int2> two(64);
  for (int t = 0; t < 64; ++t)
    four[t] = make_float4(float(t), float(2 * t), float(3 * t), float(4 * t)),
    two[t] = make_int2(t, 100 * t);
  cts::Buffer<float4> f(four), fo(64);
  cts::Buffer<int2> p(two), po(64);
  Cached<<<1, 64>>>(f.get(), p.get(), fo.get(), po.get());
  CTS_DONE();
  for (int t = 0; t < 64; ++t) {
    const float4 v = fo.Read()[t];
    CTS_EQ(v.x, 63.0f), CTS_EQ(v.y, float(4 * t - 126)), CTS_EQ(v.z, float(3 * t)),
        CTS_EQ(v.w, float(4 * (63 - t)));
    CTS_EQ(po.Read()[t].x, 101 * t), CTS_EQ(po.Read()[t].y, 100 * t);
  }
  std::vector<float> narrow(64);
  for (int t = 0; t < 64; ++t) narrow[t] = float(t);
  cts::Buffer<float> n(narrow), no(64);
  Reinterpret<<<1, 64>>>(n.get(), no.get());
  CTS_DONE();
  for (int t = 0; t < 64; ++t) CTS_EQ(no.Read()[t], float(t / 4 * 4 + (t / 2 * 2 + 1) * 1000));
  return cts::Finish();
}
