// SPDX-License-Identifier: Apache-2.0
// The parts of CUB that work within one block or warp, for kernels. Ours: shuffles over tiles of a warp, so
// that they are right at any warp width and block size, and shared memory with the accesses of the original,
// so that a TempStorage used again without a barrier is a race here as there. Results that only thread 0 gets
// are given to thread 0 only. Functions over whole arrays (cub::DeviceReduce) are a library: they end the call.
#pragma once

#include "kuafu/library_any.h"
#include "kuafu/prelude.h"

#define KUAFU_CUB static __inline__ __attribute__((always_inline, device))
#define KUAFU_CUB_METHOD __inline__ __attribute__((always_inline, device))

namespace cub {

struct Sum { template <class A, class B> KUAFU_METHOD auto operator()(const A& a, const B& b) const { return a + b; } };
struct Difference { template <class A, class B> KUAFU_METHOD auto operator()(const A& a, const B& b) const { return a - b; } };
struct Max { template <class T> KUAFU_METHOD T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
struct Min { template <class T> KUAFU_METHOD T operator()(const T& a, const T& b) const { return b < a ? b : a; } };
struct Equality { template <class A, class B> KUAFU_METHOD bool operator()(const A& a, const B& b) const { return a == b; } };
struct Inequality { template <class A, class B> KUAFU_METHOD bool operator()(const A& a, const B& b) const { return !(a == b); } };
template <class K, class V> struct KeyValuePair {
  typedef K Key;
  typedef V Value;
  K key;
  V value;
  KeyValuePair() = default;
  KUAFU_METHOD KeyValuePair(const K& k, const V& v) : key(k), value(v) {}
};
// The extreme value; among equal ones that with the smaller key.
struct ArgMax {
  template <class K, class V> KUAFU_METHOD KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
    return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class K, class V> KUAFU_METHOD KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct NullType {};

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED };

namespace kuafu_detail {
// Memory for T without its constructors, which shared memory cannot have.
template <class T, int N> struct Slots {
  alignas(T) unsigned char bytes[sizeof(T) * N];
  KUAFU_CUB_METHOD T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; }
};
// A value from lane `from` of the caller's tile of `size` lanes, of any size in bytes.
template <class T> KUAFU_CUB T Lane(int size, T value, int from) {
  if constexpr (sizeof(T) <= 16 && (sizeof(T) < 4 || sizeof(T) % 4 == 0)) {
    return __kuafu_tile_shfl(size, value, from, size);
  } else {
    constexpr int kWords = (int)(sizeof(T) + 3) / 4;
    unsigned words[kWords] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (int i = 0; i < kWords; ++i) words[i] = __kuafu_shfl_idx_i32_tile(size, words[i], from, size);
    T result = value;
    __builtin_memcpy(&result, words, sizeof(T));
    return result;
  }
}
// Of the first `valid` lanes; in lane 0. Keeps the order of the operands. Lanes beyond are not read: there may
// be none.
template <class T, class Op> KUAFU_CUB T ReduceTile(int size, int lane, int valid, T value, Op op) {
  if (valid > size) valid = size;
  for (int by = 1; by < size; by *= 2) {
    const bool more = lane + by < valid;
    const T other = Lane(size, value, more ? lane + by : lane);
    if (more) value = op(value, other);
  }
  return value;
}
template <class T> KUAFU_CUB T Left(int size, int lane, T value, int by) { return Lane(size, value, lane >= by ? lane - by : lane); }
template <class T, class Op> KUAFU_CUB T ScanTile(int size, int lane, T value, Op op) {
  for (int by = 1; by < size; by *= 2) {
    const T other = Left(size, lane, value, by);
    if (lane >= by) value = op(other, value);
  }
  return value;
}
template <int X, int Y, int Z> struct Block {
  static constexpr int kThreads = X * Y * Z;
  static constexpr int kWarpsMax = (kThreads + 31) / 32;
  KUAFU_CUB int Thread() {
    int t = (int)threadIdx.x;
    if constexpr (Y > 1 || Z > 1) t += (int)threadIdx.y * X;
    if constexpr (Z > 1) t += (int)threadIdx.z * X * Y;
    return t;
  }
};
template <class T, int N, class Op> KUAFU_CUB T ReduceItems(const T (&items)[N], Op op) {
  T value = items[0];
  for (int i = 1; i < N; ++i) value = op(value, items[i]);
  return value;
}
}  // namespace kuafu_detail

template <class T, int BLOCK_DIM_X, BlockReduceAlgorithm ALGORITHM = BLOCK_REDUCE_WARP_REDUCTIONS, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int = 0>
class BlockReduce {
  using Block = kuafu_detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;

 public:
  struct TempStorage { kuafu_detail::Slots<T, Block::kWarpsMax> warps; };
  KUAFU_CUB_METHOD BlockReduce() : storage_(Private()) {}
  KUAFU_CUB_METHOD BlockReduce(TempStorage& storage) : storage_(storage) {}
  template <class Op> KUAFU_CUB_METHOD T Reduce(T value, Op op) { return Run(value, op, Block::kThreads); }
  template <class Op> KUAFU_CUB_METHOD T Reduce(T value, Op op, int valid) { return Run(value, op, valid); }
  template <int N, class Op> KUAFU_CUB_METHOD T Reduce(T (&items)[N], Op op) { return Run(kuafu_detail::ReduceItems(items, op), op, Block::kThreads); }
  KUAFU_CUB_METHOD T Sum(T value) { return Run(value, cub::Sum(), Block::kThreads); }
  KUAFU_CUB_METHOD T Sum(T value, int valid) { return Run(value, cub::Sum(), valid); }
  template <int N> KUAFU_CUB_METHOD T Sum(T (&items)[N]) { return Reduce(items, cub::Sum()); }

 private:
  KUAFU_CUB TempStorage& Private() {
    __shared__ TempStorage storage;
    return storage;
  }
  template <class Op> KUAFU_CUB_METHOD T Run(T value, Op op, int valid) {
    const int width = warpSize, thread = Block::Thread();
    const int warp = thread / width, lane = thread % width;
    value = kuafu_detail::ReduceTile(width, lane, valid - warp * width, value, op);
    if (lane == 0) storage_.warps[warp] = value;
    __syncthreads();
    if (thread == 0) {
      for (int i = 1; i * width < valid; ++i) value = op(value, storage_.warps[i]);
    }
    return value;
  }
  TempStorage& storage_;
};

template <class T, int BLOCK_DIM_X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int = 0>
class BlockScan {
  using Block = kuafu_detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;

 public:
  struct TempStorage {
    kuafu_detail::Slots<T, Block::kWarpsMax> warps;
    kuafu_detail::Slots<T, 1> prefix;
  };
  KUAFU_CUB_METHOD BlockScan() : storage_(Private()) {}
  KUAFU_CUB_METHOD BlockScan(TempStorage& storage) : storage_(storage) {}

  template <class Op> KUAFU_CUB_METHOD void InclusiveScan(T in, T& out, Op op) { out = Run(in, op).Inclusive(op); }
  template <class Op> KUAFU_CUB_METHOD void InclusiveScan(T in, T& out, Op op, T& aggregate) {
    const Parts p = Run(in, op);
    out = p.Inclusive(op);
    aggregate = p.all;
  }
  template <class Op, class Prefix> KUAFU_CUB_METHOD void InclusiveScan(T in, T& out, Op op, Prefix& prefix) {
    const Parts p = Run(in, op);
    out = op(Before(p, prefix), p.Inclusive(op));
  }
  // Without a first value that of thread 0 is undefined.
  template <class Op> KUAFU_CUB_METHOD void ExclusiveScan(T in, T& out, Op op) {
    const Parts p = Run(in, op);
    if (p.thread > 0) out = p.Exclusive(op);
  }
  template <class Op> KUAFU_CUB_METHOD void ExclusiveScan(T in, T& out, T first, Op op) {
    const Parts p = Run(in, op);
    out = p.thread > 0 ? op(first, p.Exclusive(op)) : first;
  }
  template <class Op> KUAFU_CUB_METHOD void ExclusiveScan(T in, T& out, T first, Op op, T& aggregate) {
    const Parts p = Run(in, op);
    out = p.thread > 0 ? op(first, p.Exclusive(op)) : first;
    aggregate = p.all;
  }
  template <class Op, class Prefix> KUAFU_CUB_METHOD void ExclusiveScan(T in, T& out, Op op, Prefix& prefix) {
    const Parts p = Run(in, op);
    const T before = Before(p, prefix);
    out = p.thread > 0 ? op(before, p.Exclusive(op)) : before;
  }
  KUAFU_CUB_METHOD void InclusiveSum(T in, T& out) { InclusiveScan(in, out, cub::Sum()); }
  KUAFU_CUB_METHOD void InclusiveSum(T in, T& out, T& aggregate) { InclusiveScan(in, out, cub::Sum(), aggregate); }
  template <class Prefix> KUAFU_CUB_METHOD void InclusiveSum(T in, T& out, Prefix& prefix) { InclusiveScan(in, out, cub::Sum(), prefix); }
  KUAFU_CUB_METHOD void ExclusiveSum(T in, T& out) { ExclusiveScan(in, out, T(0), cub::Sum()); }
  KUAFU_CUB_METHOD void ExclusiveSum(T in, T& out, T& aggregate) { ExclusiveScan(in, out, T(0), cub::Sum(), aggregate); }
  template <class Prefix> KUAFU_CUB_METHOD void ExclusiveSum(T in, T& out, Prefix& prefix) { ExclusiveScan(in, out, cub::Sum(), prefix); }

  // Several items a thread, one after another.
  template <int N, class Op> KUAFU_CUB_METHOD void InclusiveScan(T (&in)[N], T (&out)[N], Op op) {
    T all;
    InclusiveScan(in, out, op, all);
  }
  template <int N, class Op> KUAFU_CUB_METHOD void InclusiveScan(T (&in)[N], T (&out)[N], Op op, T& aggregate) {
    const Parts p = Run(kuafu_detail::ReduceItems(in, op), op);
    aggregate = p.all;
    T value = in[0];
    if (p.thread > 0) value = op(p.Exclusive(op), value);
    out[0] = value;
    for (int i = 1; i < N; ++i) out[i] = value = op(value, in[i]);
  }
  template <int N, class Op> KUAFU_CUB_METHOD void ExclusiveScan(T (&in)[N], T (&out)[N], T first, Op op) {
    T all;
    ExclusiveScan(in, out, first, op, all);
  }
  template <int N, class Op> KUAFU_CUB_METHOD void ExclusiveScan(T (&in)[N], T (&out)[N], T first, Op op, T& aggregate) {
    const Parts p = Run(kuafu_detail::ReduceItems(in, op), op);
    aggregate = p.all;
    T value = p.thread > 0 ? op(first, p.Exclusive(op)) : first;
    for (int i = 0; i < N; ++i) {
      const T next = op(value, in[i]);
      out[i] = value;
      value = next;
    }
  }
  template <int N> KUAFU_CUB_METHOD void InclusiveSum(T (&in)[N], T (&out)[N]) { InclusiveScan(in, out, cub::Sum()); }
  template <int N> KUAFU_CUB_METHOD void InclusiveSum(T (&in)[N], T (&out)[N], T& aggregate) { InclusiveScan(in, out, cub::Sum(), aggregate); }
  template <int N> KUAFU_CUB_METHOD void ExclusiveSum(T (&in)[N], T (&out)[N]) { ExclusiveScan(in, out, T(0), cub::Sum()); }
  template <int N> KUAFU_CUB_METHOD void ExclusiveSum(T (&in)[N], T (&out)[N], T& aggregate) { ExclusiveScan(in, out, T(0), cub::Sum(), aggregate); }

 private:
  struct Parts {
    int thread, warp, lane;
    T within;  // of the warp, up to this lane
    T left;    // the same of the lane before; of lane 0 nothing
    T warps;   // of the warps before; of warp 0 nothing
    T all;
    template <class Op> KUAFU_CUB_METHOD T Inclusive(Op op) const { return warp > 0 ? op(warps, within) : within; }
    template <class Op> KUAFU_CUB_METHOD T Exclusive(Op op) const { return warp == 0 ? left : lane == 0 ? warps : op(warps, left); }
  };
  KUAFU_CUB TempStorage& Private() {
    __shared__ TempStorage storage;
    return storage;
  }
  template <class Op> KUAFU_CUB_METHOD Parts Run(T value, Op op) {
    const int width = warpSize, thread = Block::Thread();
    const int warp = thread / width, lane = thread % width;
    const T within = kuafu_detail::ScanTile(width, lane, value, op);
    const T left = kuafu_detail::Left(width, lane, within, 1);
    const int last = Block::kThreads - warp * width < width ? Block::kThreads - warp * width - 1 : width - 1;
    if (lane == last) storage_.warps[warp] = within;
    __syncthreads();
    T all = storage_.warps[0], warps = all;
    for (int i = 1; i * width < Block::kThreads; ++i) {
      if (i == warp) warps = all;
      all = op(all, storage_.warps[i]);
    }
    return {thread, warp, lane, within, left, warps, all};
  }
  // Threads of the first warp call the prefix; what the first of them gets is what counts.
  template <class Prefix> KUAFU_CUB_METHOD T Before(const Parts& p, Prefix& prefix) {
    if (p.warp == 0) {
      const T value = prefix(p.all);
      if (p.lane == 0) storage_.prefix[0] = value;
    }
    __syncthreads();
    return storage_.prefix[0];
  }
  TempStorage& storage_;
};

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0>
class WarpReduce {
  static_assert((LOGICAL_WARP_THREADS & (LOGICAL_WARP_THREADS - 1)) == 0, "kuafu: cub::WarpReduce takes a power of two of lanes: write the reduction in the kernel");

 public:
  struct TempStorage {};
  KUAFU_CUB_METHOD WarpReduce(TempStorage&) {}
  template <class Op> KUAFU_CUB_METHOD T Reduce(T value, Op op) { return Reduce(value, op, LOGICAL_WARP_THREADS); }
  template <class Op> KUAFU_CUB_METHOD T Reduce(T value, Op op, int valid) {
    return kuafu_detail::ReduceTile(LOGICAL_WARP_THREADS, Lane(), valid, value, op);
  }
  KUAFU_CUB_METHOD T Sum(T value) { return Reduce(value, cub::Sum()); }
  KUAFU_CUB_METHOD T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }

 private:
  KUAFU_CUB int Lane() { return (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % LOGICAL_WARP_THREADS; }
};

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0>
class WarpScan {
  static_assert((LOGICAL_WARP_THREADS & (LOGICAL_WARP_THREADS - 1)) == 0, "kuafu: cub::WarpScan takes a power of two of lanes: write the scan in the kernel");
  static constexpr int kSize = LOGICAL_WARP_THREADS;

 public:
  struct TempStorage {};
  KUAFU_CUB_METHOD WarpScan(TempStorage&) {}
  template <class Op> KUAFU_CUB_METHOD void InclusiveScan(T in, T& out, Op op) { out = kuafu_detail::ScanTile(kSize, Lane(), in, op); }
  template <class Op> KUAFU_CUB_METHOD void InclusiveScan(T in, T& out, Op op, T& aggregate) {
    InclusiveScan(in, out, op);
    aggregate = Broadcast(out, kSize - 1);
  }
  template <class Op> KUAFU_CUB_METHOD void ExclusiveScan(T in, T& out, T first, Op op) {
    const T left = kuafu_detail::Left(kSize, Lane(), kuafu_detail::ScanTile(kSize, Lane(), in, op), 1);
    out = Lane() > 0 ? op(first, left) : first;
  }
  template <class Op> KUAFU_CUB_METHOD void ExclusiveScan(T in, T& out, T first, Op op, T& aggregate) {
    const T within = kuafu_detail::ScanTile(kSize, Lane(), in, op), left = kuafu_detail::Left(kSize, Lane(), within, 1);
    out = Lane() > 0 ? op(first, left) : first;
    aggregate = Broadcast(within, kSize - 1);
  }
  KUAFU_CUB_METHOD void InclusiveSum(T in, T& out) { InclusiveScan(in, out, cub::Sum()); }
  KUAFU_CUB_METHOD void InclusiveSum(T in, T& out, T& aggregate) { InclusiveScan(in, out, cub::Sum(), aggregate); }
  KUAFU_CUB_METHOD void ExclusiveSum(T in, T& out) { ExclusiveScan(in, out, T(0), cub::Sum()); }
  KUAFU_CUB_METHOD void ExclusiveSum(T in, T& out, T& aggregate) { ExclusiveScan(in, out, T(0), cub::Sum(), aggregate); }
  KUAFU_CUB_METHOD T Broadcast(T value, unsigned lane) { return __kuafu_tile_shfl(kSize, value, (int)lane, kSize); }

 private:
  KUAFU_CUB int Lane() { return (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % kSize; }
};

// Whatever way the items take through shared memory, a thread gets the same ones.
template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int = 0>
class BlockLoad {
  using Block = kuafu_detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;
  KUAFU_CUB int At(int i) { return ALGORITHM == BLOCK_LOAD_STRIPED ? Block::Thread() + i * Block::kThreads : Block::Thread() * ITEMS_PER_THREAD + i; }

 public:
  struct TempStorage {};
  KUAFU_CUB_METHOD BlockLoad() {}
  KUAFU_CUB_METHOD BlockLoad(TempStorage&) {}
  template <class I> KUAFU_CUB_METHOD void Load(I from, T (&items)[ITEMS_PER_THREAD]) {
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) items[i] = from[At(i)];
  }
  template <class I> KUAFU_CUB_METHOD void Load(I from, T (&items)[ITEMS_PER_THREAD], int valid) {
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) if (At(i) < valid) items[i] = from[At(i)];
  }
  template <class I, class D> KUAFU_CUB_METHOD void Load(I from, T (&items)[ITEMS_PER_THREAD], int valid, D other) {
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) items[i] = At(i) < valid ? (T)from[At(i)] : (T)other;
  }
};
template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1, int = 0>
class BlockStore {
  using Block = kuafu_detail::Block<BLOCK_DIM_X, BLOCK_DIM_Y, BLOCK_DIM_Z>;
  KUAFU_CUB int At(int i) { return ALGORITHM == BLOCK_STORE_STRIPED ? Block::Thread() + i * Block::kThreads : Block::Thread() * ITEMS_PER_THREAD + i; }

 public:
  struct TempStorage {};
  KUAFU_CUB_METHOD BlockStore() {}
  KUAFU_CUB_METHOD BlockStore(TempStorage&) {}
  template <class O> KUAFU_CUB_METHOD void Store(O to, T (&items)[ITEMS_PER_THREAD]) {
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) to[At(i)] = items[i];
  }
  template <class O> KUAFU_CUB_METHOD void Store(O to, T (&items)[ITEMS_PER_THREAD], int valid) {
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) if (At(i) < valid) to[At(i)] = items[i];
  }
};
template <class T, int, int...> struct BlockRadixSort {
  static_assert(sizeof(T) == 0, "kuafu: cub::BlockRadixSort is not available: write the sort in the kernel");
};

// Over whole arrays.
template <class... A> struct CountingInputIterator { template <class... B> CountingInputIterator(const B&...) {} };
template <class... A> struct ConstantInputIterator { template <class... B> ConstantInputIterator(const B&...) {} };
template <class... A> struct TransformInputIterator { template <class... B> TransformInputIterator(const B&...) {} };
template <class... A> struct ArgIndexInputIterator { template <class... B> ArgIndexInputIterator(const B&...) {} };
template <class... A> struct DoubleBuffer {
  template <class... B> DoubleBuffer(const B&...) {}
  void* Current() { kuafu_library_call("cub::DoubleBuffer"); }
};
#define KUAFU_CUB_DEVICE(group, name) \
  template <class... A> static cudaError_t name(const A&...) { kuafu_library_call("cub::" #group "::" #name); }
struct DeviceReduce {
  KUAFU_CUB_DEVICE(DeviceReduce, Reduce) KUAFU_CUB_DEVICE(DeviceReduce, Sum) KUAFU_CUB_DEVICE(DeviceReduce, Max)
  KUAFU_CUB_DEVICE(DeviceReduce, Min) KUAFU_CUB_DEVICE(DeviceReduce, ArgMax) KUAFU_CUB_DEVICE(DeviceReduce, ArgMin)
  KUAFU_CUB_DEVICE(DeviceReduce, ReduceByKey) KUAFU_CUB_DEVICE(DeviceReduce, TransformReduce)
};
struct DeviceSegmentedReduce {
  KUAFU_CUB_DEVICE(DeviceSegmentedReduce, Reduce) KUAFU_CUB_DEVICE(DeviceSegmentedReduce, Sum)
  KUAFU_CUB_DEVICE(DeviceSegmentedReduce, Max) KUAFU_CUB_DEVICE(DeviceSegmentedReduce, Min)
  KUAFU_CUB_DEVICE(DeviceSegmentedReduce, ArgMax) KUAFU_CUB_DEVICE(DeviceSegmentedReduce, ArgMin)
};
struct DeviceScan {
  KUAFU_CUB_DEVICE(DeviceScan, InclusiveSum) KUAFU_CUB_DEVICE(DeviceScan, ExclusiveSum)
  KUAFU_CUB_DEVICE(DeviceScan, InclusiveScan) KUAFU_CUB_DEVICE(DeviceScan, ExclusiveScan)
  KUAFU_CUB_DEVICE(DeviceScan, InclusiveSumByKey) KUAFU_CUB_DEVICE(DeviceScan, ExclusiveSumByKey)
};
struct DeviceRadixSort {
  KUAFU_CUB_DEVICE(DeviceRadixSort, SortKeys) KUAFU_CUB_DEVICE(DeviceRadixSort, SortKeysDescending)
  KUAFU_CUB_DEVICE(DeviceRadixSort, SortPairs) KUAFU_CUB_DEVICE(DeviceRadixSort, SortPairsDescending)
};
struct DeviceSegmentedRadixSort {
  KUAFU_CUB_DEVICE(DeviceSegmentedRadixSort, SortKeys) KUAFU_CUB_DEVICE(DeviceSegmentedRadixSort, SortKeysDescending)
  KUAFU_CUB_DEVICE(DeviceSegmentedRadixSort, SortPairs) KUAFU_CUB_DEVICE(DeviceSegmentedRadixSort, SortPairsDescending)
};
struct DeviceSelect {
  KUAFU_CUB_DEVICE(DeviceSelect, If) KUAFU_CUB_DEVICE(DeviceSelect, Flagged) KUAFU_CUB_DEVICE(DeviceSelect, Unique)
};
struct DeviceHistogram { KUAFU_CUB_DEVICE(DeviceHistogram, HistogramEven) KUAFU_CUB_DEVICE(DeviceHistogram, HistogramRange) };
struct DeviceFor { KUAFU_CUB_DEVICE(DeviceFor, Bulk) KUAFU_CUB_DEVICE(DeviceFor, ForEach) KUAFU_CUB_DEVICE(DeviceFor, ForEachN) };
#undef KUAFU_CUB_DEVICE

}  // namespace cub

#undef KUAFU_CUB
#undef KUAFU_CUB_METHOD
