// SPDX-License-Identifier: Apache-2.0
// Atomics: each operation and type the language has, at three scopes, in global and in shared
// memory. Two facts are checked: the final value, and that the values returned are the ones some
// order of the operations would return (for add of 1: a permutation of 0..n-1).
#include "check.h"

#include <algorithm>

typedef unsigned long long Wide;  // one word, for casts
constexpr int kBlocks = 3, kThreads = 96, kN = kBlocks * kThreads;

// One struct per operation: how it is done, its start value, its operand for a thread.
#define OP(name, T, start, operand, call)                                \
  struct name {                                                          \
    typedef T Type;                                                      \
    static T Start() { return (T)(start); }                              \
    static __host__ __device__ T Operand(int i) { return (T)(operand); } \
    static __device__ T Do(T* p, int i) {                                \
      const T v = Operand(i);                                            \
      return call;                                                       \
    }                                                                    \
  };
#define OPS(T, Name, suffix)                                      \
  OP(Add##Name##suffix, T, 5, i % 7 + 1, atomicAdd##suffix(p, v)) \
  OP(Exch##Name##suffix, T, 1000, i, atomicExch##suffix(p, v))
#define INTEGER(T, Name, suffix)                                                                 \
  OPS(T, Name, suffix)                                                                           \
  OP(Min##Name##suffix, T, 500, (i * 37) % 300 + 3, atomicMin##suffix(p, v))                     \
  OP(Max##Name##suffix, T, 2, (i * 37) % 300 + 3, atomicMax##suffix(p, v))                       \
  OP(And##Name##suffix, T, ~T(0), ~(T(1) << (i % (sizeof(T) * 8 - 1))), atomicAnd##suffix(p, v)) \
  OP(Or##Name##suffix, T, 0, T(1) << (i % (sizeof(T) * 8 - 1)), atomicOr##suffix(p, v))          \
  OP(Xor##Name##suffix, T, 0x55, T(i) * T(0x01020304), atomicXor##suffix(p, v))
#define SCOPE(suffix)                                                               \
  INTEGER(int, I32, suffix)                                                         \
  INTEGER(unsigned, U32, suffix)                                                    \
  INTEGER(Wide, U64, suffix)                                                        \
  OPS(float, F32, suffix)                                                           \
  OP(AddF64##suffix, double, 5, i % 7 + 1, atomicAdd##suffix(p, v))                 \
  OP(SubI32##suffix, int, 5, i % 7 + 1, atomicSub##suffix(p, v))                    \
  OP(SubU32##suffix, unsigned, 5, i % 7 + 1, atomicSub##suffix(p, v))               \
  OP(MinI64##suffix, long long, 500, (i * 37) % 300 - 100, atomicMin##suffix(p, v)) \
  OP(MaxI64##suffix, long long, -500, (i * 37) % 300 - 400, atomicMax##suffix(p, v))
SCOPE()
SCOPE(_block)
SCOPE(_system)
OP(MinNegative, int, 3, (i * 37) % 300 - 200, atomicMin(p, v))
OP(MaxUnsigned, unsigned, 3, 0x80000000u + (i * 37) % 300, atomicMax(p, v))
OP(Inc, unsigned, 0, 6, atomicInc(p, v))
OP(Dec, unsigned, 3, 6, atomicDec(p, v))

template <class O>
__global__ void Global(typename O::Type* cell, typename O::Type* old) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  old[i] = O::Do(cell, i);
}
template <class O>
__global__ void Shared(typename O::Type* cells, typename O::Type* old, typename O::Type start) {
  __shared__ typename O::Type cell;
  if (threadIdx.x == 0) cell = start;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  old[i] = O::Do(&cell, threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) cells[blockIdx.x] = cell;
}

// What one thread's operation makes of a value.
enum class Kind { kAdd, kSub, kMin, kMax, kAnd, kOr, kXor, kExch, kInc, kDec };
template <class T>
T Step(Kind kind, T a, T v) {
  switch (kind) {
    case Kind::kAdd: return a + v;
    case Kind::kSub: return a - v;
    case Kind::kMin: return std::min(a, v);
    case Kind::kMax: return std::max(a, v);
    case Kind::kExch: return v;
    case Kind::kInc: return a >= v ? T(0) : a + 1;
    case Kind::kDec: return a == 0 || a > v ? v : a - 1;
    default: break;
  }
  if constexpr (T(1) / 2 == 0) {
    if (kind == Kind::kAnd) return a & v;
    if (kind == Kind::kOr) return a | v;
    if (kind == Kind::kXor) return a ^ v;
  }
  return a;
}
// The multiset of the values that were in the cell, but for the last, is that of the values
// returned: true of any order, since each operation takes one value out and puts one in.
template <class O>
void Judge(const char* name, Kind kind, const typename O::Type* old, typename O::Type last, int n) {
  typedef typename O::Type T;
  std::vector<T> out(old, old + n), in(1, O::Start());
  for (int i = 0; i < n; ++i) in.push_back(Step(kind, old[i], O::Operand(i)));
  out.push_back(last);
  std::sort(in.begin(), in.end());
  std::sort(out.begin(), out.end());
  cts::Check(in == out, __FILE__, __LINE__, std::string(name) + ": values returned",
             "no order of the operations", "a chain from the start to the last value");
  if (kind == Kind::kExch) return;  // any may be last
  T expected = O::Start();
  for (int i = 0; i < n; ++i) expected = Step(kind, expected, O::Operand(i));
  cts::Equal(last, expected, __FILE__, __LINE__, name);
}
template <class O>
void Run(const char* name, Kind kind, bool of_block) {
  typedef typename O::Type T;
  cts::Buffer<T> old(kN), cells(kBlocks);
  const T start = O::Start();
  // A scope of one block is used by one block.
  const int blocks = of_block ? 1 : kBlocks;
  CTS_OK(cudaMemcpy(cells.get(), &start, sizeof start, cudaMemcpyHostToDevice));
  Global<O><<<blocks, kThreads>>>(cells.get(), old.get());
  CTS_OK(cudaGetLastError());
  Judge<O>(name, kind, old.Read().data(), cells.Read()[0], blocks * kThreads);
  Shared<O><<<kBlocks, kThreads>>>(cells.get(), old.get(), start);
  CTS_OK(cudaGetLastError());
  const std::vector<T> all = old.Read(), last = cells.Read();
  for (int b = 0; b < kBlocks; ++b)
    Judge<O>(name, kind, all.data() + b * kThreads, last[b], kThreads);
}
#define RUN(O, kind) Run<O>(#O, Kind::kind, std::strstr(#O, "_block") != nullptr)
#define RUN_INTEGER(Name, suffix)                                                             \
  RUN(Add##Name##suffix, kAdd), RUN(Exch##Name##suffix, kExch), RUN(Min##Name##suffix, kMin), \
      RUN(Max##Name##suffix, kMax), RUN(And##Name##suffix, kAnd), RUN(Or##Name##suffix, kOr), \
      RUN(Xor##Name##suffix, kXor)
#define RUN_SCOPE(suffix)                                                                \
  RUN_INTEGER(I32, suffix), RUN_INTEGER(U32, suffix), RUN_INTEGER(U64, suffix),          \
      RUN(AddF32##suffix, kAdd), RUN(ExchF32##suffix, kExch), RUN(AddF64##suffix, kAdd), \
      RUN(SubI32##suffix, kSub), RUN(SubU32##suffix, kSub), RUN(MinI64##suffix, kMin),   \
      RUN(MaxI64##suffix, kMax)

// Compare and swap: exactly one thread wins each round, and the losers see the winner.
template <class T>
__global__ void Swap(T* cell, T* old) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  old[i] = atomicCAS(cell, T(7), T(i + 100));
}
template <class T>
static void CheckSwap() {
  cts::Buffer<T> cell(std::vector<T>{T(7), T(9)}), old(kN);
  Swap<T><<<kBlocks, kThreads>>>(cell.get(), old.get());
  CTS_DONE();
  const T now = cell.Read()[0];
  const std::vector<T> seen = old.Read();
  const int winner = int(now) - 100;
  CTS_TRUE(winner >= 0 && winner < kN);
  for (int i = 0; i < kN; ++i) CTS_EQ(seen[i], i == winner ? T(7) : now);
  CTS_EQ(cell.Read()[1], T(9));
}
// The loop by which sources make the atomics that the language lacks.
__global__ void Products(double* cell, float* low) {
  auto* bits = reinterpret_cast<unsigned long long*>(cell);
  unsigned long long seen = *reinterpret_cast<volatile unsigned long long*>(bits), expected;
  do {
    expected = seen;
    const double next = __longlong_as_double((long long)expected) * (threadIdx.x % 2 ? 2.0 : 0.5);
    seen = atomicCAS(bits, expected, (unsigned long long)__double_as_longlong(next));
  } while (seen != expected);
  // Minimum of floats by integer order of their bits: right for numbers that are not negative.
  atomicMin(reinterpret_cast<int*>(low), __float_as_int(1.0f + float((threadIdx.x * 29) % 96)));
}
// A ticket by a subset of the lanes: no lane that stays away counts.
__global__ void Tickets(int* next, int* mine) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  mine[i] = -1;
  if (i % 3 == 1) mine[i] = atomicAdd(next, 1);
}
// Neighbouring cells do not disturb each other.
__global__ void Scatter(int* bins, unsigned short* halves) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&bins[i % 13], i);
  unsigned short* h = halves + i % 4;
  unsigned short seen = *(volatile unsigned short*)h, expected;
  do {
    expected = seen;
    seen = atomicCAS(h, expected, (unsigned short)(expected + 1));
  } while (seen != expected);
}

int main() {
  RUN_SCOPE();
  RUN_SCOPE(_block);
  RUN_SCOPE(_system);
  RUN(MinNegative, kMin), RUN(MaxUnsigned, kMax), RUN(Inc, kInc), RUN(Dec, kDec);
  CheckSwap<int>();
  CheckSwap<unsigned>();
  CheckSwap<unsigned long long>();
  CheckSwap<unsigned short>();

  cts::Buffer<double> product(std::vector<double>{3.0});
  cts::Buffer<float> low(std::vector<float>{1e9f});
  Products<<<2, 96>>>(product.get(), low.get());
  CTS_DONE();
  CTS_EQ(product.Read()[0], 3.0), CTS_EQ(low.Read()[0], 1.0f);

  cts::Buffer<int> next(1), mine(kN);
  Tickets<<<kBlocks, kThreads>>>(next.get(), mine.get());
  CTS_DONE();
  std::vector<int> tickets;
  for (const int t : mine.Read())
    if (t >= 0) tickets.push_back(t);
  std::sort(tickets.begin(), tickets.end());
  CTS_EQ(int(tickets.size()), kN / 3), CTS_EQ(next.Read()[0], kN / 3);
  for (int i = 0; i < int(tickets.size()); ++i) CTS_EQ(tickets[i], i);

  cts::Buffer<int> bins(13);
  cts::Buffer<unsigned short> halves(4);
  Scatter<<<kBlocks, kThreads>>>(bins.get(), halves.get());
  CTS_DONE();
  std::vector<int> sums(13);
  for (int i = 0; i < kN; ++i) sums[i % 13] += i;
  for (int i = 0; i < 13; ++i) CTS_EQ(bins.Read()[i], sums[i]);
  for (int i = 0; i < 4; ++i) CTS_EQ(int(halves.Read()[i]), kN / 4);
  return cts::Finish();
}
