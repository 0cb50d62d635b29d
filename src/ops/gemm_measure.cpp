// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm_measure.h"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "base/rng.h"
#include "ops/gemm.h"
#include "os/clock.h"

namespace kuafu::ops {
namespace {

constexpr double kSampleOperations = 4e9;

// Of one thread its own processor time, so that others on the machine do not count; of several
// wall time, because nothing else says when the last has ended.
int64_t NowNs(int threads) {
  if (threads > 1) return os::SystemClock().NowNs();
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * os::kNsPerSecond + t.tv_nsec;
}

template <class Work>
double Rate(int threads, double operations, const Work& work) {
  const int64_t begin = NowNs(threads);
  work();
  return operations * 1e9 / static_cast<double>(std::max<int64_t>(NowNs(threads) - begin, 1));
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// The BLAS interface in C: row-major, not transposed.
constexpr int kRowMajor = 101, kNoTranspose = 111;
template <class T>
using Cblas = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
// oneDNN's, row-major.
using Dnnl = int (*)(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t,
                     const float*, int64_t, float, float*, int64_t);

void* Library(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
template <class F>
F Symbol(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<F>(dlsym(library, name));
}

template <class T>
using Peer = std::function<void(const GemmCase&, const T* a, const T* b, T* c)>;

template <class T>
void AddCblas(std::vector<std::pair<std::string, Peer<T>>>& peers, const char* label,
              const char* file, const char* set_threads, int threads) {
  void* const library = Library(file);
  const auto gemm = Symbol<Cblas<T>>(library, sizeof(T) == 4 ? "cblas_sgemm" : "cblas_dgemm");
  if (gemm == nullptr) return;
  if (const auto set = Symbol<void (*)(int)>(library, set_threads); set != nullptr) set(threads);
  peers.emplace_back(label, [gemm](const GemmCase& s, const T* a, const T* b, T* c) {
    const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = static_cast<int>(s.k);
    gemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1, a, k, b, n, 0, c, n);
  });
}

template <class P>
auto Peers(int threads) {
  using T = typename P::C;
  std::vector<std::pair<std::string, Peer<T>>> peers;
  if constexpr (std::is_same_v<typename P::A, T>) {
    AddCblas<T>(peers, "OpenBLAS", "libopenblas.so.0", "openblas_set_num_threads", threads);
    AddCblas<T>(peers, "BLIS", "libblis.so.4", "bli_thread_set_num_threads", threads);
    if constexpr (std::is_same_v<T, float>) {
      void* const openmp = Library("libgomp.so.1");
      const auto set = Symbol<void (*)(int)>(openmp, "omp_set_num_threads");
      const auto gemm = Symbol<Dnnl>(Library("libdnnl.so.2"), "dnnl_sgemm");
      if (gemm != nullptr && set != nullptr) {
        set(threads);
        peers.emplace_back("oneDNN", [gemm](const GemmCase& s, const T* a, const T* b, T* c) {
          gemm('N', 'N', s.m, s.n, s.k, 1, a, s.k, b, s.n, 0, c, s.n);
        });
      }
    }
  }
  return peers;
}

template <class T>
std::vector<T> Values(int64_t count) {
  SplitMix64 rng(1);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& v : values) {
    if constexpr (std::is_same_v<T, BFloat>)
      v.bits =
          static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(rng.Uniform())) >> 16);
    else if constexpr (std::is_floating_point_v<T>)
      v = static_cast<T>(rng.Uniform() - 0.5);
    else
      v = static_cast<T>(rng.Next());
  }
  return values;
}

template <class P>
GemmMeasurement Measure(const GemmMeasureOptions& options, const std::function<void()>& done) {
  const GemmImplementation<P>* used = nullptr;
  for (const auto& one : GemmList<P>())
    if (used == nullptr && one.declines(options.cpu).empty()) used = &one;
  GemmMeasurement result{
      .precision = P::kName, .implementation = used->name, .threads = options.threads, .rows = {}};
  if (used->code.peak == nullptr) return result;  // the reference
  const int threads = options.threads;
  std::unique_ptr<os::Team> team;
  if (threads > 1) team = std::make_unique<os::Team>(threads);
  const double once = used->code.peak(1);
  const auto repeats = static_cast<int64_t>(kSampleOperations / once) + 1;
  const auto peak = [&] {
    return Rate(threads, threads * once * static_cast<double>(repeats), [&] {
      if (team == nullptr)
        used->code.peak(repeats);
      else
        team->Run([&](int) { used->code.peak(repeats); });
    });
  };
  std::vector<double> peaks, inner;
  for (int i = 0; i < options.samples; ++i) {
    peaks.push_back(peak());
    const double alone =
        Rate(1, once * static_cast<double>(repeats), [&] { used->code.peak(repeats); });
    inner.push_back(
        Rate(1, once * static_cast<double>(repeats), [&] { used->code.inner_loop(repeats); }) /
        alone);
  }
  result.peak = Median(peaks);
  result.inner_loop = Median(inner);
  const auto peers = Peers<P>(threads);
  for (const GemmCase& s : options.sizes) {
    const auto a = Values<typename P::A>(s.m * s.k);
    const auto b = Values<typename P::B>(s.k * s.n);
    std::vector<typename P::C> c(static_cast<size_t>(s.m * s.n));
    const MatrixView<typename P::A> left{a.data(), s.m, s.k, s.k, 1};
    const MatrixView<typename P::B> right{b.data(), s.k, s.n, s.n, 1};
    const MutableMatrix<typename P::C> out{c.data(), s.m, s.n, s.n};
    const PackedMatrix packed = PackB<P>(right, &options.cpu);
    const GemmOptions gemm{.team = team.get(), .cpu = &options.cpu};
    const double operations =
        2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    const auto times = static_cast<int64_t>(kSampleOperations / operations) + 1;
    std::vector<std::function<void()>> ways = {[&] { Gemm<P>(left, right, out, gemm); },
                                               [&] { Gemm<P>(left, packed, out, gemm); }};
    for (const auto& [name, peer] : peers) {
      if constexpr (std::is_same_v<typename P::A, typename P::C>)
        ways.emplace_back([&, call = peer] { call(s, a.data(), b.data(), c.data()); });
    }
    std::vector<std::vector<double>> fractions(ways.size());
    for (int i = 0; i <= options.samples; ++i) {
      for (size_t w = 0; w < ways.size(); ++w) {
        const double before = peak();
        const double rate = Rate(threads, operations * static_cast<double>(times), [&] {
          for (int64_t t = 0; t < times; ++t) ways[w]();
        });
        if (i > 0) fractions[w].push_back(rate / std::max(before, peak()));  // the first is warm-up
      }
    }
    GemmMeasurement::Row row{
        .size = s, .plain = Median(fractions[0]), .packed = Median(fractions[1]), .peers = {}};
    for (size_t p = 0; p < peers.size(); ++p)
      row.peers.emplace_back(peers[p].first, Median(fractions[p + 2]));
    result.rows.push_back(std::move(row));
    done();
  }
  return result;
}

}  // namespace

std::vector<GemmMeasurement> MeasureGemm(const GemmMeasureOptions& options,
                                         const std::function<void(int64_t)>& progress) {
  std::vector<GemmMeasurement> all;
  int64_t count = 0;
  const auto done = [&] { progress(++count); };
  for (const std::string& precision : options.precisions) {
    if (precision == F32::kName) all.push_back(Measure<F32>(options, done));
    if (precision == F64::kName) all.push_back(Measure<F64>(options, done));
    if (precision == BF16::kName) all.push_back(Measure<BF16>(options, done));
    if (precision == U8S8::kName) all.push_back(Measure<U8S8>(options, done));
  }
  return all;
}

}  // namespace kuafu::ops
