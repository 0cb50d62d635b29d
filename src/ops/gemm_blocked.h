// SPDX-License-Identifier: Apache-2.0
// The blocked product, for any kernel that describes itself as `K` below does. Included by the
// files of one instruction set each, and compiled there with its flags. So everything has internal
// linkage and no template of the standard library is instantiated: the linker would take one copy
// for all machines.
//
// struct K {
//   using P = F32;                      // precision
//   using Left = float, Right = float;  // elements as packed
//   using Unit = float;                 // kGroup elements of A: what is broadcast at a time
//   using Vector = __m512;              // of elements of C
//   static constexpr int kGroup = 1;    // elements of k that one instruction sums
//   static constexpr bool kRightAsIs = true;  // ToRight changes nothing
//   static constexpr int kLanes = 16, kRows = 8, kVectors = 3;   // of C at a time
//   static constexpr int64_t kDepth = 384, kWidth = 192;  // of the block of B, which stays in L2
//   static Left ToLeft(P::A); static Right ToRight(P::B);
//   static Vector Zero(); static Vector Load(const P::C*); static void Store(P::C*, Vector);
//   static Vector LoadRight(const Right*);         // kLanes * kGroup of them, as a Vector
//   static Vector Add(Vector, Vector); static P::C AddOne(P::C, P::C);
//   static Vector Step(Vector sum, Unit a, Vector b);
// };
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "ops/aligned.h"
#include "ops/gemm.h"

namespace kuafu::ops {
namespace {

template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t count)
      : data_(static_cast<T*>(AllocateAligned(count * static_cast<int64_t>(sizeof(T))))) {}
  ~Buffer() { FreeAligned(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }

 private:
  T* data_;
};

inline int64_t Min(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t Ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <class K>
struct Blocked {
  using P = typename K::P;
  using Left = typename K::Left;
  using Right = typename K::Right;
  using C = typename P::C;
  using Unit = typename K::Unit;
  static constexpr int kPanel = K::kVectors * K::kLanes;  // columns of a panel of B
  static constexpr int64_t kPanels = K::kWidth / kPanel;  // of a block
  static_assert(K::kDepth % K::kGroup == 0 && K::kWidth % kPanel == 0);

  static int64_t Groups(int64_t k) { return Ceil(k, K::kGroup); }

  // ROWS x kPanel elements of C. `b` advances by `b_step` for each group; packed panels have it
  // kPanel * kGroup. Not to be cloned for constant arguments: GCC 12 then spills the sums.
  template <int ROWS>
  [[gnu::noipa]] static void Kernel(int64_t groups, const Left* a, const Right* b, int64_t b_step,
                                    C* c, int64_t c_step, bool accumulate) {
    typename K::Vector sum[ROWS][K::kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < K::kVectors; ++v) sum[r][v] = K::Zero();
    }
    for (int64_t g = 0; g < groups; ++g) {
      typename K::Vector right[K::kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < K::kVectors; ++v) right[v] = K::LoadRight(b + v * K::kLanes * K::kGroup);
#pragma GCC unroll 16
      for (int r = 0; r < ROWS; ++r) {
        Unit unit;
        std::memcpy(&unit, a + r * K::kGroup, sizeof unit);
#pragma GCC unroll 8
        for (int v = 0; v < K::kVectors; ++v) sum[r][v] = K::Step(sum[r][v], unit, right[v]);
      }
      a += K::kRows * K::kGroup;
      b += b_step;
    }
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < K::kVectors; ++v) {
        C* const to = c + r * c_step + v * K::kLanes;
        K::Store(to, accumulate ? K::Add(K::Load(to), sum[r][v]) : sum[r][v]);
      }
    }
  }

  using KernelCall = void (*)(int64_t, const Left*, const Right*, int64_t, C*, int64_t, bool);
  template <int... ROWS>
  static KernelCall KernelOf(int rows, std::integer_sequence<int, ROWS...>) {
    static constexpr KernelCall kCalls[] = {Kernel<ROWS + 1>...};
    return kCalls[rows - 1];
  }

  // A tile at the edge of C, by way of a whole one.
  static void Tile(KernelCall kernel, int rows, int columns, int64_t groups, const Left* a,
                   const Right* b, int64_t b_step, C* c, int64_t c_step, bool accumulate) {
    if (columns == kPanel) {
      kernel(groups, a, b, b_step, c, c_step, accumulate);
      return;
    }
    alignas(64) C whole[K::kRows * kPanel];
    kernel(groups, a, b, b_step, whole, kPanel, false);
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < columns; ++i) {
        C& to = c[r * c_step + i];
        to = accumulate ? K::AddOne(to, whole[r * kPanel + i]) : whole[r * kPanel + i];
      }
    }
  }

  // `rows` rows of A from `k0` on: group by group, kRows times kGroup elements; zeros where A ends.
  static void PackLeft(const MatrixView<typename P::A>& a, int64_t row, int rows, int64_t k0,
                       int64_t depth, Left* to) {
    if (rows < K::kRows || depth % K::kGroup != 0)
      std::memset(static_cast<void*>(to), 0, sizeof(Left) * Groups(depth) * K::kGroup * K::kRows);
    for (int r = 0; r < rows; ++r) {
      const typename P::A* from = a.data + (row + r) * a.row_stride + k0 * a.column_stride;
      Left* out = to + r * K::kGroup;
      int64_t k = 0;
      for (; k + K::kGroup <= depth; k += K::kGroup) {
        for (int g = 0; g < K::kGroup; ++g) out[g] = K::ToLeft(from[(k + g) * a.column_stride]);
        out += K::kRows * K::kGroup;
      }
      for (int g = 0; k + g < depth; ++g) out[g] = K::ToLeft(from[(k + g) * a.column_stride]);
    }
  }

  static void PackPanel(const MatrixView<typename P::B>& b, int64_t k0, int64_t depth,
                        int64_t column, Right* to) {
    const auto columns = static_cast<int>(Min(kPanel, b.columns - column));
    if (columns < kPanel || depth % K::kGroup != 0)
      std::memset(static_cast<void*>(to), 0, sizeof(Right) * Groups(depth) * K::kGroup * kPanel);
    for (int64_t k = 0; k < depth; ++k) {
      const typename P::B* from = b.data + (k0 + k) * b.row_stride + column * b.column_stride;
      Right* out = to + k / K::kGroup * (kPanel * K::kGroup) + k % K::kGroup;
      if (b.column_stride == 1) {
        for (int i = 0; i < columns; ++i) out[i * K::kGroup] = K::ToRight(from[i]);
      } else {
        for (int i = 0; i < columns; ++i)
          out[i * K::kGroup] = K::ToRight(from[i * b.column_stride]);
      }
    }
  }

  // Panels one after the other within each block of k.
  static int64_t PanelElements(int64_t depth) { return Groups(depth) * K::kGroup * kPanel; }

  static int64_t PackedBytes(int64_t rows, int64_t columns) {
    int64_t elements = 0;
    for (int64_t k0 = 0; k0 < rows; k0 += K::kDepth)
      elements += Ceil(columns, kPanel) * PanelElements(Min(K::kDepth, rows - k0));
    return elements * static_cast<int64_t>(sizeof(Right));
  }

  static void Pack(const MatrixView<typename P::B>& b, void* packed) {
    auto* to = static_cast<Right*>(packed);
    for (int64_t k0 = 0; k0 < b.rows; k0 += K::kDepth) {
      const int64_t depth = Min(K::kDepth, b.rows - k0);
      for (int64_t column = 0; column < b.columns; column += kPanel) {
        PackPanel(b, k0, depth, column, to);
        to += PanelElements(depth);
      }
    }
  }

  // Whether a panel of B can be read where it lies.
  static bool InPlace(const MatrixView<typename P::B>& b) {
    return K::kGroup == 1 && K::kRightAsIs && b.column_stride == 1;
  }
  // Few rows do not pay for a copy of B.
  static constexpr int64_t kRowsInPlace = 2 * K::kRows;

  static void Part(const MatrixView<typename P::A>& a, const MatrixView<typename P::B>& b,
                   const void* packed, const MutableMatrix<C>& c, bool accumulate,
                   int64_t panel_begin, int64_t panel_end) {
    const int64_t rows = c.rows, k_all = a.columns;
    const int64_t row_panels = Ceil(rows, K::kRows), panels = Ceil(c.columns, kPanel);
    const bool in_place = packed == nullptr && rows <= kRowsInPlace && InPlace(b);
    const Buffer<Left> left(row_panels * K::kRows * K::kDepth);
    const Buffer<Right> right(packed == nullptr ? kPanels * PanelElements(K::kDepth) : 0);
    const auto* packed_at = static_cast<const Right*>(packed);
    for (int64_t k0 = 0; k0 < k_all; k0 += K::kDepth) {
      const int64_t depth = Min(K::kDepth, k_all - k0), groups = Groups(depth);
      const int64_t left_step = groups * K::kGroup * K::kRows;
      const bool add = accumulate || k0 > 0;
      for (int64_t i = 0; i < row_panels; ++i) {
        const auto count = static_cast<int>(Min(K::kRows, rows - i * K::kRows));
        PackLeft(a, i * K::kRows, count, k0, depth, left.get() + i * left_step);
      }
      for (int64_t p0 = panel_begin; p0 < panel_end; p0 += kPanels) {
        const int64_t p1 = Min(p0 + kPanels, panel_end);
        const auto whole = [&](int64_t p) { return (p + 1) * kPanel <= c.columns; };
        for (int64_t p = p0; packed == nullptr && p < p1; ++p) {
          if (in_place && whole(p)) continue;
          PackPanel(b, k0, depth, p * kPanel, right.get() + (p - p0) * PanelElements(depth));
        }
        for (int64_t i = 0; i < row_panels; ++i) {
          const auto count = static_cast<int>(Min(K::kRows, rows - i * K::kRows));
          const KernelCall kernel = KernelOf(count, std::make_integer_sequence<int, K::kRows>());
          for (int64_t p = p0; p < p1; ++p) {
            const Right* from = right.get() + (p - p0) * PanelElements(depth);
            int64_t step = kPanel * K::kGroup;
            if (packed != nullptr) {
              from = packed_at + p * PanelElements(depth);
            } else if (in_place && whole(p)) {
              from = reinterpret_cast<const Right*>(b.data + k0 * b.row_stride + p * kPanel);
              step = b.row_stride;
            }
            const auto columns = static_cast<int>(Min(kPanel, c.columns - p * kPanel));
            Tile(kernel, count, columns, groups, left.get() + i * left_step, from, step,
                 c.data + i * K::kRows * c.row_stride + p * kPanel, c.row_stride, add);
          }
        }
      }
      if (packed != nullptr) packed_at += panels * PanelElements(depth);
    }
  }

  static void Run(const MatrixView<typename P::A>& a, const MatrixView<typename P::B>& b,
                  const void* packed, const MutableMatrix<C>& c, const GemmOptions& options) {
    const int64_t panels = Ceil(c.columns, kPanel);
    const int members =
        options.team == nullptr ? 1 : static_cast<int>(Min(options.team->members(), panels));
    if (members <= 1) {
      Part(a, b, packed, c, options.accumulate, 0, panels);
      return;
    }
    options.team->Run([&](int member) {
      if (member >= members) return;
      Part(a, b, packed, c, options.accumulate, panels * member / members,
           panels * (member + 1) / members);
    });
  }

  static constexpr int64_t kMeasuredGroups = 256;

  // As many independent sums as the inner loop has.
  static double Peak(int64_t repeats) {
    alignas(64) Right ones[K::kLanes * K::kGroup] = {};
    typename K::Vector right = K::LoadRight(ones);
    constexpr int kSums = K::kRows * K::kVectors;
    volatile Unit given{};
    const Unit unit = given;
    typename K::Vector sum[kSums];
#pragma GCC unroll 32
    for (int s = 0; s < kSums; ++s) sum[s] = K::Zero();
    for (int64_t i = 0; i < repeats * kMeasuredGroups; ++i) {
      asm volatile("" : "+v"(right));  // nor that it stays the same
#pragma GCC unroll 32
      for (int s = 0; s < kSums; ++s) {
        sum[s] = K::Step(sum[s], unit, right);
        asm volatile("" : "+v"(sum[s]));  // the compiler must not know what it is
      }
    }
    alignas(64) C out[K::kLanes];
#pragma GCC unroll 32
    for (int s = 1; s < kSums; ++s) sum[0] = K::Add(sum[0], sum[s]);
    K::Store(out, sum[0]);
    volatile C sink = out[0];
    static_cast<void>(sink);
    return 2.0 * kMeasuredGroups * K::kGroup * K::kRows * kPanel;
  }

  static double InnerLoop(int64_t repeats) {
    constexpr int64_t kDepth = kMeasuredGroups;  // A fits into L1, a panel of B into L2
    const Buffer<Left> left(kDepth * K::kGroup * K::kRows);
    const Buffer<Right> right(kDepth * K::kGroup * kPanel);
    std::memset(static_cast<void*>(left.get()), 0, sizeof(Left) * kDepth * K::kGroup * K::kRows);
    std::memset(static_cast<void*>(right.get()), 0, sizeof(Right) * kDepth * K::kGroup * kPanel);
    alignas(64) C out[K::kRows * kPanel] = {};
    for (int64_t i = 0; i < repeats; ++i) {
      Kernel<K::kRows>(kDepth, left.get(), right.get(), kPanel * K::kGroup, out, kPanel, true);
      asm volatile("" ::"r"(out) : "memory");  // all of it is wanted, and not the same as before
    }
    volatile C sink = out[0];
    static_cast<void>(sink);
    return 2.0 * kDepth * K::kGroup * K::kRows * kPanel;
  }

  static GemmCode<P> Code() { return {PackedBytes, Pack, Run, Peak, InnerLoop}; }
};

}  // namespace
}  // namespace kuafu::ops
