// SPDX-License-Identifier: Apache-2.0
// The language in device code where a compiler for a new machine goes wrong: calls, recursion,
// pointers to functions, virtual functions, lambdas, local arrays, unions and bit fields, integer
// division and shifts, conversions between all number types, device heap.
#include "check.h"

#include <cstdint>

struct In {
  int i[8];  // 0..7, so that nothing is known at compile time
};

__device__ int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
__device__ __noinline__ int Depth(int n, int* trace) {
  int here[4] = {n, n * 2, n * 3, n * 4};
  trace[n] = here[n & 3];
  const int below = n == 0 ? 0 : Depth(n - 1, trace);
  return below + here[(n + 1) & 3];  // the frame is intact after the call
}
__device__ bool Odd(unsigned n);
__device__ __noinline__ bool Even(unsigned n) { return n == 0 || Odd(n - 1); }
__device__ __noinline__ bool Odd(unsigned n) { return n != 0 && Even(n - 1); }

typedef int (*Function)(int, int);
__device__ int Plus(int a, int b) { return a + b; }
__device__ int Times(int a, int b) { return a * b; }
__device__ int Minus(int a, int b) { return a - b; }
__device__ Function functions[3] = {Plus, Times, Minus};
__device__ Function exported = Minus;
template <class F>
__device__ int Twice(F f, int x) {
  return f(f(x));
}

struct Shape {
  __device__ virtual int Area() const = 0;
  __device__ virtual int Corners() const { return 4; }
};
struct Box : Shape {
  int w, h;
  __device__ Box(int a, int b) : w(a), h(b) {}
  __device__ int Area() const override { return w * h; }
};
struct Triangle final : Box {
  __device__ Triangle(int a, int b) : Box(a, b) {}
  __device__ int Area() const override { return w * h / 2; }
  __device__ int Corners() const override { return 3; }
};
union Word {
  float f;
  unsigned u;
  unsigned char b[4];
  short s[2];
};
struct Bits {
  unsigned a : 3, b : 7;
  int c : 5;
  unsigned long long d : 37;
};
struct Heavy {
  int v[20];
};
__device__ __noinline__ Heavy Make(int seed) {
  Heavy h;
  for (int i = 0; i < 20; ++i) h.v[i] = seed + i;
  return h;
}
__device__ __noinline__ int Total(Heavy h, int factor) {
  int sum = 0;
  for (int i = 0; i < 20; ++i) sum += h.v[i] * factor;
  return sum;
}

__global__ void Calls(const In* in, Function from_host, int* out) {
  const int t = threadIdx.x;
  int* o = out + t * 16;
  int trace[12];
  o[0] = Fib(in->i[7] + t % 4);
  o[1] = Depth(in->i[5] + t % 6, trace);
  o[2] = trace[t % 5];
  o[3] = Even(unsigned(t)) ? 1 : 0;
  o[4] = functions[(t + in->i[0]) % 3](t, 3);
  o[5] = from_host(t, 3);
  Box box(in->i[3], t);
  Triangle triangle(in->i[4], t);
  const Shape* shapes[2] = {&box, &triangle};
  o[6] = shapes[t % 2]->Area() * 10 + shapes[t % 2]->Corners();
  int captured = t;
  auto add = [=](int x) { return x + captured; };
  auto count = [&captured](int x) { return captured += x; };
  o[7] = Twice(add, 5);
  o[8] = Twice(count, 1);
  Heavy h = Make(t), copy = h;
  copy.v[in->i[6]] = 1000;
  o[9] = Total(h, 2);
  o[10] = Total(copy, 1);
  Function chosen = t % 2 ? Plus : Times;  // divergent
  o[11] = chosen(t, 7);
  int table[3][5] = {};
  for (int i = 0; i < 15; ++i) table[i / 5][i % 5] = i * in->i[1];
  o[12] = table[t % 3][t % 5];
  o[13] = *(&table[0][0] + t % 15);
  int sum = 0;
  for (int i = 0;; ++i) {
    if (i > t) break;
    switch (i % 4) {
      case 0: sum += 1; break;
      case 1: continue;
      case 2: sum += 10; [[fallthrough]];
      default: sum += 100;
    }
  }
  o[14] = sum;
  o[15] = 0;
}

__global__ void Representation(const In* in, unsigned long long* out) {
  Word w;
  w.f = float(in->i[3]);
  out[0] = w.u;
  out[1] = w.b[3];
  w.s[1] = short(w.s[1] | short(0x8000));
  out[2] = (unsigned long long)(long long)w.f;
  Bits bits = {};
  bits.a = unsigned(in->i[7] + 4);
  bits.b = 127;
  bits.c = in->i[7] * 3;
  bits.d = 1ull << (36 - in->i[0]);
  out[3] = bits.a, out[4] = bits.b, out[5] = (unsigned long long)(long long)bits.c, out[6] = bits.d;
  double d = in->i[1];
  unsigned long long image;
  memcpy(&image, &d, 8);
  out[7] = image;
  unsigned char bytes[8];
  memcpy(bytes, &image, 8);
  out[8] = bytes[7] * 256u + bytes[6];
  out[9] = sizeof(long) * 1000 + sizeof(void*) * 100 + sizeof(wchar_t) * 10 + alignof(double);
}

// Integer arithmetic with edge operands; both sides compute, the host is the reference.
template <class T>
__host__ __device__ void Arithmetic(T a, T b, T* o) {
  o[0] = T(a + b), o[1] = T(a - b), o[2] = T(1u * a * b), o[3] = b ? T(a / b) : T(0);
  o[4] = b ? T(a % b) : T(0), o[5] = T(a & b), o[6] = T(a ^ b), o[7] = T(~a);
  const int s = int(b) & int(sizeof(T) * 8 - 1);
  o[8] = T((unsigned long long)a << s), o[9] = T(a >> s), o[10] = T(a < b), o[11] = T(a == b),
  o[12] = a > b ? a : b;
}
template <class T>
__global__ void ArithmeticKernel(const T* values, int n, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * n) Arithmetic(values[i / n], values[i % n], out + i * 13);
}
template <class T, class Bits>
static void CheckArithmetic() {
  const int width = sizeof(T) * 8;
  std::vector<T> values;
  for (const long long small : {0, 1, 2, 3, 7, 10, 100, -1, -2, -7}) values.push_back(T(small));
  for (int bit = 4; bit < width; bit += 9) values.push_back(T(Bits(1) << bit));
  values.push_back(T(Bits(~Bits(0)) >> 1));
  values.push_back(T(Bits(0x123456789abcdef1ull)));
  // The one quotient and the sums that C++ leaves undefined are not asked for: T is unsigned, or
  // small enough to be computed as int.
  const int n = int(values.size());
  cts::Buffer<T> in(values), out(size_t(n * n * 13));
  ArithmeticKernel<T><<<(n * n + 127) / 128, 128>>>(in.get(), n, out.get());
  CTS_DONE();
  const std::vector<T> got = out.Read();
  for (int i = 0; i < n * n; ++i) {
    T expected[13];
    Arithmetic(values[i / n], values[i % n], expected);
    for (int k = 0; k < 13; ++k) CTS_EQ((long long)got[i * 13 + k], (long long)expected[k]);
  }
}
__global__ void Signed(const int* a, const int* b, const long long* c, long long* out) {
  const int t = threadIdx.x;
  out[t * 6] = a[t] / b[t], out[t * 6 + 1] = a[t] % b[t], out[t * 6 + 2] = c[t] / b[t];
  out[t * 6 + 3] = c[t] % b[t], out[t * 6 + 4] = a[t] >> (t % 31),
              out[t * 6 + 5] = c[t] >> (t % 63);
}

// Every conversion between number types, in range.
template <class To>
__global__ void Convert(const double* d, const float* f, const long long* l, const short* s,
                        To* out) {
  const int t = threadIdx.x;
  out[t * 4] = To(d[t]), out[t * 4 + 1] = To(f[t]), out[t * 4 + 2] = To(l[t]),
          out[t * 4 + 3] = To(s[t]);
}
template <class To>
static void CheckConvert() {
  std::vector<double> d;
  std::vector<float> f;
  std::vector<long long> l;
  std::vector<short> s;
  for (int i = 0; i < 32; ++i) {
    const bool is_signed = To(-1) < To(0);
    const int v = int(cts::Mix(unsigned(i)) % 120) - (is_signed ? 60 : 0);
    d.push_back(v + 0.75 * (v < 0 ? -1 : 1)), f.push_back(float(v) * 1.03f), l.push_back(v);
    s.push_back(short(v));
  }
  cts::Buffer<double> dd(d);
  cts::Buffer<float> df(f);
  cts::Buffer<long long> dl(l);
  cts::Buffer<short> ds(s);
  cts::Buffer<To> out(128);
  Convert<To><<<1, 32>>>(dd.get(), df.get(), dl.get(), ds.get(), out.get());
  CTS_DONE();
  const std::vector<To> got = out.Read();
  for (int i = 0; i < 32; ++i) {
    CTS_EQ(double(got[i * 4]), double(To(d[i]))), CTS_EQ(double(got[i * 4 + 1]), double(To(f[i])));
    CTS_EQ(double(got[i * 4 + 2]), double(To(l[i]))),
        CTS_EQ(double(got[i * 4 + 3]), double(To(s[i])));
  }
}

struct Node {
  int value;
  Node* next;
};
__global__ void Heap(int* out) {
  Node* head = nullptr;
  for (int i = 0; i < int(threadIdx.x % 5) + 1; ++i) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) return;
    node->value = i * i + int(threadIdx.x), node->next = head, head = node;
  }
  int sum = 0;
  while (head != nullptr) {
    sum += head->value;
    Node* next = head->next;
    free(head);
    head = next;
  }
  int* array = new int[3];
  array[2] = sum;
  out[threadIdx.x] = array[2];
  delete[] array;
}

static int HostFib(int n) { return n < 2 ? n : HostFib(n - 1) + HostFib(n - 2); }

int main() {
  In input;
  for (int i = 0; i < 8; ++i) input.i[i] = i;
  cts::Buffer<In> in(std::vector<In>{input});
  Function function = nullptr;
  CTS_OK(cudaMemcpyFromSymbol(&function, exported, sizeof function));
  constexpr int kThreads = 40;
  cts::Buffer<int> out(kThreads * 16);
  Calls<<<1, kThreads>>>(in.get(), function, out.get());
  CTS_DONE();
  const std::vector<int> got = out.Read();
  for (int t = 0; t < kThreads; ++t) {
    const int* o = &got[t * 16];
    CTS_EQ(o[0], HostFib(7 + t % 4));
    const int depth = 5 + t % 6;
    int sum = 0;
    for (int n = 0; n <= depth; ++n) sum += n * (((n + 1) & 3) + 1);
    CTS_EQ(o[1], sum), CTS_EQ(o[2], t % 5 * ((t % 5 & 3) + 1)), CTS_EQ(o[3], t % 2 == 0 ? 1 : 0);
    CTS_EQ(o[4], t % 3 == 0 ? t + 3 : t % 3 == 1 ? t * 3 : t - 3), CTS_EQ(o[5], t - 3);
    CTS_EQ(o[6], t % 2 ? 4 * t / 2 * 10 + 3 : 3 * t * 10 + 4);
    CTS_EQ(o[7], 5 + 2 * t), CTS_EQ(o[8], (t + 1) * 2);
    CTS_EQ(o[9], 2 * (20 * t + 190)), CTS_EQ(o[10], 20 * t + 190 - (t + 6) + 1000);
    CTS_EQ(o[11], t % 2 ? t + 7 : t * 7), CTS_EQ(o[12], t % 3 * 5 + t % 5), CTS_EQ(o[13], t % 15);
    int walk = 0;
    for (int i = 0; i <= t; ++i) walk += i % 4 == 0 ? 1 : i % 4 == 1 ? 0 : i % 4 == 2 ? 110 : 100;
    CTS_EQ(o[14], walk);
  }
  cts::Buffer<unsigned long long> words(10);
  Representation<<<1, 1>>>(in.get(), words.get());
  CTS_DONE();
  const unsigned long long expected[10] = {
      0x40400000,
      0x40,
      ~0ull - 2,
      3,
      127,
      ~0ull - 10,
      1ull << 36,
      0x3ff0000000000000ull,
      0x3ff0,
      sizeof(long) * 1000 + sizeof(void*) * 100 + sizeof(wchar_t) * 10 + alignof(double)};
  for (int i = 0; i < 10; ++i) CTS_EQ(words.Read()[i], expected[i]);

  CheckArithmetic<unsigned, unsigned>();
  CheckArithmetic<unsigned long long, unsigned long long>();
  CheckArithmetic<unsigned char, unsigned char>();
  CheckArithmetic<unsigned short, unsigned>();
  CheckArithmetic<signed char, unsigned char>();
  std::vector<int> a, b;
  std::vector<long long> c;
  for (int t = 0; t < 64; ++t) {
    a.push_back(int(cts::Mix(unsigned(t))) >> (t % 20));
    b.push_back(int(cts::Mix(unsigned(t) + 99)) >> (t % 28) | 1);
    if (b[t] == -1) b[t] = 3;
    c.push_back((long long)(cts::Mix(unsigned(t) + 7) * 0x9e3779b97f4a7c15ull));
  }
  cts::Buffer<int> da(a), db(b);
  cts::Buffer<long long> dc(c), quotients(64 * 6);
  Signed<<<1, 64>>>(da.get(), db.get(), dc.get(), quotients.get());
  CTS_DONE();
  const std::vector<long long> q = quotients.Read();
  for (int t = 0; t < 64; ++t) {
    const long long want[6] = {a[t] / b[t], a[t] % b[t],      c[t] / b[t],
                               c[t] % b[t], a[t] >> (t % 31), c[t] >> (t % 63)};
    for (int k = 0; k < 6; ++k) CTS_EQ(q[t * 6 + k], want[k]);
  }
  CheckConvert<signed char>();
  CheckConvert<unsigned char>();
  CheckConvert<short>();
  CheckConvert<int>();
  CheckConvert<unsigned>();
  CheckConvert<long long>();
  CheckConvert<unsigned long long>();
  CheckConvert<float>();
  CheckConvert<double>();

  cts::Buffer<int> heap(64);
  Heap<<<1, 64>>>(heap.get());
  CTS_DONE();
  for (int t = 0; t < 64; ++t) {
    int sum = 0;
    for (int i = 0; i < t % 5 + 1; ++i) sum += i * i + t;
    CTS_EQ(heap.Read()[t], sum);
  }
  return cts::Finish();
}
