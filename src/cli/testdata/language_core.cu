// SPDX-License-Identifier: Apache-2.0
// The language itself: what C++ offers in device code, each result compared with what the language
// says. Inputs come from memory, so that the compiler cannot answer in advance.
#include <cuda_runtime.h>
#include <cassert>
#include <cstdio>
#include <cstring>

__device__ int failed;
#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) {                              \
      printf("line %d: %s\n", __LINE__, #condition); \
      atomicAdd(&failed, 1);                         \
    }                                                \
  } while (0)

struct Input {
  int i[8];
  float f[8];
  double d[4];
  long long l[4];
};

// Recursion, direct and mutual; calls that stay calls.
__device__ int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
__device__ bool Odd(int n);
__device__ __noinline__ bool Even(int n) { return n == 0 || Odd(n - 1); }
__device__ __noinline__ bool Odd(int n) { return n != 0 && Even(n - 1); }
__device__ int Depth(int n) {
  int local[4] = {n, n + 1, n + 2, n + 3};
  return n == 0 ? 0 : local[n & 3] - local[0] + Depth(n - 1);
}

// Pointers to functions: in a table, from the host, chosen per thread.
typedef int (*Binary)(int, int);
__device__ int Add(int a, int b) { return a + b; }
__device__ int Mul(int a, int b) { return a * b; }
__device__ int Sub(int a, int b) { return a - b; }
__device__ Binary table[3] = {Add, Mul, Sub};
__device__ Binary for_host = Mul;

struct Shape {
  __device__ virtual int Area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int Area() const override { return side * side; }
};
struct Box : Shape {
  int a, b;
  __device__ Box(int x, int y) : a(x), b(y) {}
  __device__ int Area() const override { return a * b; }
};

union Word {
  float f;
  unsigned u;
  unsigned char b[4];
  struct {
    unsigned mantissa : 23, exponent : 8, sign : 1;
  } parts;
};
struct Flags {
  unsigned a : 3, b : 5;
  int c : 6;
  unsigned long long d : 40;
};
struct Big {
  int v[40];
};
struct Pair {
  char tag;
  double value;
  short s[3];
};

template <int N>
struct Power {
  __device__ static int Of(int x) { return x * Power<N - 1>::Of(x); }
};
template <>
struct Power<0> {
  __device__ static int Of(int) { return 1; }
};
template <class... T>
__device__ int Sum(T... values) {
  return (0 + ... + int(values));
}
template <class F>
__device__ int Twice(F f, int x) {
  return f(f(x));
}
template <class T>
__device__ T Clamp(T x, T low, T high) {
  if constexpr (sizeof(T) == 8)
    return x < low ? low : x > high ? high : x;
  else
    return max(low, min(x, high));
}
template <class Derived>
struct Base {
  __device__ int Run(int x) { return static_cast<Derived*>(this)->Step(x) + 1; }
};
struct Stepper : Base<Stepper> {
  __device__ int Step_(int x) { return x * 3; }
  __device__ int Step(int x) { return Step_(x); }
};
enum class Color : unsigned char { kRed = 1, kBlue = 200 };
namespace deep {
namespace down {
__device__ constexpr int kValue = 42;
}
}  // namespace deep

__device__ __noinline__ void Fill(int* p, int n, int start) {
  for (int i = 0; i < n; ++i) p[i] = start + i;
}
__device__ __noinline__ Big MakeBig(int seed) {
  Big b;
  for (int i = 0; i < 40; ++i) b.v[i] = seed * i;
  return b;
}
__device__ __noinline__ int SumBig(Big b) {
  int s = 0;
  for (int i = 0; i < 40; ++i) s += b.v[i];
  return s;
}

__global__ void Language(const Input* in, Binary host_function) {
  const int two = in->i[2], three = in->i[3], five = in->i[5];
  CHECK(Fib(in->i[7] + 8) == 610);
  CHECK(Even(in->i[6]) && Odd(five) && !Even(three));
  CHECK(Depth(five + 5) == 15 - 0);
  CHECK(table[threadIdx.x % 3](five, two) == (threadIdx.x % 3 == 0   ? 7
                                              : threadIdx.x % 3 == 1 ? 10
                                                                     : 3));
  CHECK(host_function(five, three) == 15);
  Binary chosen = threadIdx.x & 1 ? Add : Sub;
  CHECK(chosen(five, two) == (threadIdx.x & 1 ? 7 : 3));

  Square square(five);
  Box box(two, three);
  const Shape* shape = threadIdx.x & 1 ? static_cast<Shape*>(&square) : &box;
  CHECK(shape->Area() == (threadIdx.x & 1 ? 25 : 6));

  Word w;
  w.f = in->f[3];
  CHECK(w.u == 0x40400000u && w.b[3] == 0x40 && w.parts.exponent == 128 && w.parts.sign == 0);
  w.parts.sign = 1;
  CHECK(w.f == -3.0f);
  CHECK(__float_as_int(in->f[1]) == 0x3f800000 && __int_as_float(0x40000000 + in->i[0]) == 2.0f);
  CHECK(__double_as_longlong(in->d[1]) == 0x3ff0000000000000ll);
  CHECK(__hiloint2double(__double2hiint(in->d[3]), __double2loint(in->d[3])) == in->d[3]);
  CHECK(*reinterpret_cast<const unsigned*>(&in->f[2]) == 0x40000000u);
  unsigned copied;
  memcpy(&copied, &in->f[2], 4);
  CHECK(copied == 0x40000000u && __builtin_bit_cast(unsigned, in->f[1]) == 0x3f800000u);

  Flags flags = {};
  flags.a = static_cast<unsigned>(five + 4);
  flags.b = 31;
  flags.c = -three;
  flags.d = 1ull << (34 + five);
  CHECK(flags.a == 1 && flags.b == 31 && flags.c == -3 && flags.d == 1ull << 39);

  Big big = MakeBig(two);
  Big other = big;
  other.v[five] = 1000;
  CHECK(SumBig(big) == 2 * 780 && SumBig(other) == 2 * 780 + 990);
  Pair pairs[3] = {{'a', 1.5, {1, 2, 3}}, {'b', 2.5, {4, 5, 6}}, {'c', 3.5, {7, 8, 9}}};
  pairs[0] = pairs[two];
  CHECK(pairs[two - 2].tag == 'c' && pairs[0].value == 3.5 && pairs[in->i[1]].s[two] == 6);

  CHECK(Power<5>::Of(three) == 243 && Sum(two, three, 4.7, 'a') == 2 + 3 + 4 + 97);
  int captured = three;
  auto by_value = [=](int x) { return x * captured + 1; };
  auto by_reference = [&](int x) {
    captured += x;
    return captured;
  };
  CHECK(Twice(by_value, two) == 22);
  CHECK(Twice(by_reference, two) == 10 && captured == 10);
  CHECK(Twice([](int x) { return x - 1; }, five) == 3);
  CHECK(Clamp(five, 0, 3) == 3 && Clamp(in->d[3], 0.0, 1.0) == 1.0);
  Stepper step;
  CHECK(step.Run(two) == 7 && deep::down::kValue == 42);
  const Color color = two == 2 ? Color::kBlue : Color::kRed;
  CHECK(static_cast<int>(color) == 200);

  int grid[4][3] = {};
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 3; ++c) grid[r][c] = r * in->i[3] + c;
  CHECK(grid[three][two] == 11 && (&grid[0][0])[five] == 5);
  int filled[16];
  Fill(filled, 16, five);
  CHECK(filled[two * 3] == 11 && filled[15] == 20);

  int sum = 0;
  for (int i = 0;; ++i) {
    if (i == 20) break;
    if (i % two) continue;
    switch (i % 5) {
      case 0: sum += 1; break;
      case 2: sum += 10; [[fallthrough]];
      case 3: sum += 100; break;
      default: sum += 1000;
    }
  }
  CHECK(sum == 2 * 1 + 2 * 1000 + 2 * 110 + 2 * 1000 + 2 * 100);
  int jumps = 0;
again:
  if (++jumps < five) goto again;
  CHECK(jumps == 5);
  int diverged = 0;
  for (unsigned i = 0; i < threadIdx.x % 7; ++i) {
    if ((i + threadIdx.x) % 3 == 0) continue;
    diverged += static_cast<int>(i);
    if (diverged > 9) break;
  }
  int same = 0;
  for (unsigned i = 0; i < threadIdx.x % 7; ++i) {
    const bool skip = (i + threadIdx.x) % 3 == 0, stop = same > 9;
    same += skip || stop ? 0 : static_cast<int>(i);
  }
  CHECK(diverged == same);

  signed char small = static_cast<signed char>(in->i[6] * 40);
  unsigned char wrap = static_cast<unsigned char>(in->i[6] * 50);
  short s16 = static_cast<short>(in->l[3]);
  CHECK(small == -16 && wrap == 44 && s16 == static_cast<short>(0x3333));
  CHECK(in->l[1] / -three == -333333333333ll && in->l[1] % -7 == 1000000000000ll % 7);
  CHECK(-five / two == -2 && -five % two == -1 && -five >> 1 == -3);
  CHECK((in->l[3] >> 60) == 3 && static_cast<unsigned long long>(-in->l[1]) >> 63 == 1);
  CHECK(min(two, 3.5f) == 2.0f && max(two, 3u) == 3u && min(5ll, five - 1) == 4 &&
        max(1.5, two) == 2.0);
  CHECK(fminf(two, 3) == 2 && abs(-two) == 2 && fabs(-in->f[2]) == 2.0f &&
        std::abs(-in->d[1]) == 1.0);
  assert(two == 2);

  int* heap = static_cast<int*>(malloc(16 * sizeof(int)));
  CHECK(heap != nullptr);
  Fill(heap, 16, 7);
  CHECK(heap[15] == 22);
  free(heap);
  Square* made = new Square(three);
  CHECK(made->Area() == 9);
  delete made;
}

__constant__ int numbers[4] = {1, 2, 3, 4};
__constant__ float weights[8];
__device__ float scale = 2.5f;
__device__ const int lookup[3] = {10, 20, 30};
struct Point {
  float x, y;
  Point() = default;
  __host__ __device__ Point(float a, float b) : x(a), y(b) {}
};

template <class T>
__global__ void Reverse(const T* x, T* y, int n) {
  extern __shared__ unsigned char raw[];
  T* s = reinterpret_cast<T*>(raw);
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = s[n - 1 - i];
}

template <int N>
__global__ void Memories(float* out) {
  __shared__ float tile[N][N + 1];
  __shared__ Point points[N];
  __shared__ union {
    int i[N];
    float f[N];
  } either;
  const int t = threadIdx.x, lane = t % N;
  for (int r = t / N; r < N; r += blockDim.x / N) tile[r][lane] = r * N + lane;
  if (t < N) {
    points[t] = Point(t, -t);
    either.i[t] = __float_as_int(t * 0.5f);
  }
  __syncthreads();
  CHECK(tile[lane][t % 5] == lane * N + t % 5 && points[lane].y == -lane &&
        either.f[lane] == lane * 0.5f);
  CHECK(numbers[t % 4] == t % 4 + 1 && weights[t % 8] == t % 8 * 0.25f &&
        lookup[t % 3] == 10 * (t % 3 + 1));
  if (t == 0) out[0] = scale * weights[3];
}

struct Arguments {
  int n;
  float scale[3];
  const float* x;
  char tail;
};
__global__ void ByValue(Arguments a, float* y, char one, double d) {
  const int i = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  if (i == 0 && t < a.n) y[t] = a.x[t] * a.scale[t % 3] + one + static_cast<float>(d);
  if (i == 23 && t == 23) CHECK(threadIdx.z == 3 && blockIdx.z == 3 && a.tail == 'z');
}
template <class F>
__global__ void ForEach(int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

int main() {
  int bad = 0;
  auto expect = [&](bool right, const char* what) {
    if (!right) std::printf("host: %s\n", what);
    bad += !right;
  };
  Input input;
  for (int i = 0; i < 8; ++i) input.i[i] = i, input.f[i] = i;
  for (int i = 0; i < 4; ++i)
    input.d[i] = i, input.l[i] = i == 1 ? 1000000000000ll : 0x1111111111111111ll * i;
  Input* d_input;
  cudaMalloc(&d_input, sizeof input);
  cudaMemcpy(d_input, &input, sizeof input, cudaMemcpyHostToDevice);
  Binary function;
  cudaMemcpyFromSymbol(&function, for_host, sizeof function);
  Language<<<2, 64>>>(d_input, function);

  float w[8], *buffer, host[64];
  for (int i = 0; i < 8; ++i) w[i] = i * 0.25f;
  cudaMemcpyToSymbol(weights, w, sizeof w);
  cudaMalloc(&buffer, 64 * sizeof(float));
  Memories<16><<<1, 64>>>(buffer);
  cudaMemcpy(host, buffer, sizeof(float), cudaMemcpyDeviceToHost);
  expect(host[0] == 2.5f * 0.75f, "device and constant variables");

  double x[10], y[10], *dx, *dy;
  for (int i = 0; i < 10; ++i) x[i] = i;
  cudaMalloc(&dx, sizeof x);
  cudaMalloc(&dy, sizeof y);
  cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
  Reverse<<<1, 4, sizeof x>>>(dx, dy, 10);
  cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost);
  expect(y[0] == 9 && y[9] == 0, "templated dynamic shared memory");

  float fx[24], fy[24];
  for (int i = 0; i < 24; ++i) fx[i] = i;
  cudaMemcpy(buffer, fx, sizeof fx, cudaMemcpyHostToDevice);
  ByValue<<<dim3(2, 3, 4), dim3(2, 3, 4)>>>(Arguments{24, {1, 2, 3}, buffer, 'z'}, buffer + 32, 1,
                                            0.5);
  cudaMemcpy(fy, buffer + 32, sizeof fy, cudaMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < 24; ++i) right = right && fy[i] == fx[i] * (i % 3 + 1) + 1.5f;
  expect(right, "struct parameter, three dimensions");

  float* target = buffer;
  const float factor = 3.0f;
  ForEach<<<1, 32>>>(20, [=] __device__(int i) { target[i] = factor * i; });
  cudaMemcpy(fy, buffer, sizeof(float) * 20, cudaMemcpyDeviceToHost);
  expect(fy[19] == 57.0f, "lambda as kernel argument");
  int failures = 0;
  cudaMemcpyFromSymbol(&failures, failed, sizeof failures);
  return bad + failures == 0 ? 0 : 1;
}
