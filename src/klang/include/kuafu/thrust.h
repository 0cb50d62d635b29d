// SPDX-License-Identifier: Apache-2.0
// Thrust does the work itself: its functions compile and end the call by name, so that the verdict can tell.
// The functors and pairs are what they are, for kernels may use them.
#pragma once

#include "kuafu/library_any.h"
#include "kuafu/prelude.h"

namespace thrust {

template <class = void> struct plus { template <class T> KUAFU_METHOD T operator()(const T& a, const T& b) const { return a + b; } };
template <class = void> struct minus { template <class T> KUAFU_METHOD T operator()(const T& a, const T& b) const { return a - b; } };
template <class = void> struct multiplies { template <class T> KUAFU_METHOD T operator()(const T& a, const T& b) const { return a * b; } };
template <class = void> struct divides { template <class T> KUAFU_METHOD T operator()(const T& a, const T& b) const { return a / b; } };
template <class = void> struct maximum { template <class T> KUAFU_METHOD T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
template <class = void> struct minimum { template <class T> KUAFU_METHOD T operator()(const T& a, const T& b) const { return b < a ? b : a; } };
template <class = void> struct less { template <class T> KUAFU_METHOD bool operator()(const T& a, const T& b) const { return a < b; } };
template <class = void> struct greater { template <class T> KUAFU_METHOD bool operator()(const T& a, const T& b) const { return b < a; } };
template <class = void> struct negate { template <class T> KUAFU_METHOD T operator()(const T& a) const { return -a; } };
template <class = void> struct square { template <class T> KUAFU_METHOD T operator()(const T& a) const { return a * a; } };
template <class = void> struct identity { template <class T> KUAFU_METHOD const T& operator()(const T& a) const { return a; } };
template <class A, class B> struct pair {
  A first;
  B second;
  pair() = default;
  KUAFU_METHOD pair(const A& a, const B& b) : first(a), second(b) {}
};
template <class A, class B> KUAFU_METHOD pair<A, B> make_pair(const A& a, const B& b) { return {a, b}; }

// What a call returns that never returns: anything.
struct Anything {
  template <class T> operator T() const { kuafu_library_call("thrust"); }
};
struct Policy {
  template <class T> Policy on(const T&) const { return {}; }
  template <class T> Policy operator()(const T&) const { return {}; }
};
inline const Policy device, host, seq;
namespace cuda { inline const Policy par, par_nosync; }
namespace system { namespace cuda { inline const Policy par; } }
template <class T> struct device_ptr {
  device_ptr() = default;
  explicit device_ptr(T* p) : pointer(p) {}
  T* get() const { return pointer; }
  device_ptr operator+(ptrdiff_t n) const { return device_ptr(pointer + n); }
  Anything operator*() const { return {}; }
  Anything operator[](ptrdiff_t) const { return {}; }
  T* pointer = nullptr;
};
template <class T> device_ptr<T> device_pointer_cast(T* p) { return device_ptr<T>(p); }
template <class T> T* raw_pointer_cast(T* p) { return p; }
template <class T> T* raw_pointer_cast(const device_ptr<T>& p) { return p.pointer; }
#define KUAFU_THRUST_VECTOR(name)                                                                          \
  template <class T> struct name {                                                                         \
    template <class... A> name(const A&...) { kuafu_library_call("thrust::" #name); }                      \
    device_ptr<T> begin() const { return {}; }                                                             \
    device_ptr<T> end() const { return {}; }                                                               \
    device_ptr<T> data() const { return {}; }                                                              \
    size_t size() const { return 0; }                                                                      \
    Anything operator[](size_t) const { return {}; }                                                       \
  };
KUAFU_THRUST_VECTOR(device_vector) KUAFU_THRUST_VECTOR(host_vector)
#undef KUAFU_THRUST_VECTOR
template <class T> struct counting_iterator { template <class... A> counting_iterator(const A&...) {} };
template <class T> counting_iterator<T> make_counting_iterator(T) { return {}; }
template <class... A> Policy make_transform_iterator(const A&...) { return {}; }
template <class... A> Policy make_zip_iterator(const A&...) { return {}; }
template <class... A> Policy make_constant_iterator(const A&...) { return {}; }

#define KUAFU_THRUST(name) template <class... A> Anything name(const A&...) { kuafu_library_call("thrust::" #name); }
KUAFU_THRUST(reduce) KUAFU_THRUST(reduce_by_key) KUAFU_THRUST(transform) KUAFU_THRUST(transform_reduce) KUAFU_THRUST(inner_product)
KUAFU_THRUST(inclusive_scan) KUAFU_THRUST(exclusive_scan) KUAFU_THRUST(inclusive_scan_by_key) KUAFU_THRUST(exclusive_scan_by_key)
KUAFU_THRUST(sort) KUAFU_THRUST(stable_sort) KUAFU_THRUST(sort_by_key) KUAFU_THRUST(stable_sort_by_key) KUAFU_THRUST(copy)
KUAFU_THRUST(copy_n) KUAFU_THRUST(copy_if) KUAFU_THRUST(fill) KUAFU_THRUST(fill_n) KUAFU_THRUST(sequence) KUAFU_THRUST(for_each)
KUAFU_THRUST(for_each_n) KUAFU_THRUST(max_element) KUAFU_THRUST(min_element) KUAFU_THRUST(minmax_element) KUAFU_THRUST(count)
KUAFU_THRUST(count_if) KUAFU_THRUST(gather) KUAFU_THRUST(scatter) KUAFU_THRUST(unique) KUAFU_THRUST(remove_if) KUAFU_THRUST(partition)
KUAFU_THRUST(adjacent_difference) KUAFU_THRUST(generate) KUAFU_THRUST(replace) KUAFU_THRUST(replace_if) KUAFU_THRUST(tabulate)
KUAFU_THRUST(lower_bound) KUAFU_THRUST(upper_bound) KUAFU_THRUST(binary_search)
#undef KUAFU_THRUST

}  // namespace thrust
