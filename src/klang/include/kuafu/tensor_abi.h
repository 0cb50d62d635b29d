/* SPDX-License-Identifier: Apache-2.0 */
/* The C boundary between a candidate's host code and the process that runs it. The candidate's object file
 * calls kuafu_tensor_*, which the runner exports, and defines kuafu_entry, which the runner calls. Plain C,
 * because the two sides are built by different compilers.
 *
 * Ownership: a function that returns KuafuTensor* gives the caller one reference. NULL (or a negative int)
 * means failure; kuafu_tensor_error() then says why. A tensor lives on the simulated device, or in memory of
 * the host, which kernels cannot reach. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct KuafuTensor KuafuTensor;

/* Element types, numbered as PyTorch's ScalarType. */
enum {
  KUAFU_UINT8 = 0, KUAFU_INT8 = 1, KUAFU_INT16 = 2, KUAFU_INT32 = 3, KUAFU_INT64 = 4,
  KUAFU_FLOAT16 = 5, KUAFU_FLOAT32 = 6, KUAFU_FLOAT64 = 7, KUAFU_BOOL = 11, KUAFU_BFLOAT16 = 15
};
enum { KUAFU_MAX_DIMS = 16 };
/* kuafu_tensor_new flags; without KUAFU_TENSOR_HOST the tensor is on the device. */
enum { KUAFU_TENSOR_UNINIT = 0, KUAFU_TENSOR_ZERO = 1, KUAFU_TENSOR_HOST = 2 };

/* strides NULL = row-major; counted in elements. */
KuafuTensor* kuafu_tensor_new(int32_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                              uint32_t flags);
KuafuTensor* kuafu_tensor_retain(KuafuTensor* tensor); /* returns its argument */
void kuafu_tensor_release(KuafuTensor* tensor);        /* NULL is allowed */
void* kuafu_tensor_data(const KuafuTensor* tensor);    /* address of the first element, on the device or the host */
int32_t kuafu_tensor_ndim(const KuafuTensor* tensor);
const int64_t* kuafu_tensor_sizes(const KuafuTensor* tensor);   /* lives as long as the tensor */
const int64_t* kuafu_tensor_strides(const KuafuTensor* tensor); /* lives as long as the tensor */
int32_t kuafu_tensor_dtype(const KuafuTensor* tensor);
int64_t kuafu_tensor_numel(const KuafuTensor* tensor);
int64_t kuafu_tensor_storage_offset(const KuafuTensor* tensor);
int32_t kuafu_tensor_is_cuda(const KuafuTensor* tensor); /* 0: on the host */
/* Shares the storage; offset counts elements from the start of the storage; must stay inside it. */
KuafuTensor* kuafu_tensor_as_strided(KuafuTensor* tensor, int32_t ndim, const int64_t* sizes,
                                     const int64_t* strides, int64_t storage_offset);
/* The same tensor if it is row-major, else a copy. */
KuafuTensor* kuafu_tensor_contiguous(KuafuTensor* tensor);
KuafuTensor* kuafu_tensor_to_dtype(KuafuTensor* tensor, int32_t dtype); /* always a copy, row-major */
KuafuTensor* kuafu_tensor_to_place(KuafuTensor* tensor, int32_t host); /* the same tensor if it is there already */
int32_t kuafu_tensor_fill(KuafuTensor* tensor, double value);
int32_t kuafu_tensor_copy(KuafuTensor* to, const KuafuTensor* from); /* same sizes; converts the type */
int32_t kuafu_tensor_item(const KuafuTensor* tensor, double* real, int64_t* integer); /* one element */
const char* kuafu_tensor_error(void);
int64_t kuafu_tensor_size(const KuafuTensor* tensor, int64_t dimension); /* from the end if negative; raises */

/* Throw std::runtime_error with the text of all parts. */
__attribute__((noreturn)) void kuafu_raise(const char* a, const char* b, const char* c, const char* d);
__attribute__((noreturn)) void kuafu_raise_numbers(const char* a, int64_t i, const char* b, int64_t n, const char* c);

/* A call of one of the candidate's functions. */
enum {
  KUAFU_NONE = 0, KUAFU_TENSOR = 1, KUAFU_INT = 2, KUAFU_REAL = 3, KUAFU_BOOLEAN = 4, KUAFU_INT_LIST = 5,
  KUAFU_TENSOR_LIST = 6, KUAFU_STRING = 7, KUAFU_REAL_LIST = 8
};
typedef struct KuafuValue {
  int32_t kind;
  int32_t count; /* of a list; bytes of a string */
  union {
    KuafuTensor* tensor; /* borrowed for the call */
    int64_t integer;     /* KUAFU_INT and KUAFU_BOOLEAN */
    double real;
    const int64_t* integers;
    KuafuTensor* const* tensors;
    const char* string; /* `count` bytes, then perhaps no NUL */
    const double* reals;
  };
} KuafuValue;

/* What the function's type says: one value, a std::tuple or std::pair, a std::vector. */
enum { KUAFU_RESULT_NONE = 0, KUAFU_RESULT_SINGLE = 1, KUAFU_RESULT_TUPLE = 2, KUAFU_RESULT_LIST = 3 };
enum { KUAFU_CALL_OK = 0, KUAFU_CALL_MISMATCH = 1, KUAFU_CALL_THREW = 2 };
typedef struct KuafuCall {
  uint32_t size; /* sizeof(KuafuCall) */
  int32_t argument_count;
  const KuafuValue* arguments;
  int32_t result_capacity;
  int32_t result_count;   /* set by the callee */
  KuafuTensor** results;  /* one reference each, passed to the caller */
  int32_t status;         /* KUAFU_CALL_*, set by the callee */
  int32_t error_capacity; /* bytes at error, at least 1 */
  char* error;            /* NUL-terminated, set if status is not KUAFU_CALL_OK */
  /* NULL, as for kuafu_entry: results are tensors and nothing else. Otherwise result_capacity values take the
   * place of `results`: tensors (one reference each), KUAFU_NONE for an undefined tensor or an empty optional,
   * KUAFU_INT, KUAFU_REAL, KUAFU_BOOLEAN. */
  KuafuValue* values;
  int32_t result_form; /* KUAFU_RESULT_*, set by the callee */
} KuafuCall;

/* What a parameter accepts: 1 << KUAFU_* for each kind, and */
enum {
  KUAFU_ACCEPT_WHOLE = 1 << 15,       /* a real number without a fraction, from the caller of kuafu_entry */
  KUAFU_ACCEPT_LENGTH_SHIFT = 16      /* a list of that many elements; 0 = of any number */
};
/* For the callee. The first two return 0 after they have noted a mismatch; kuafu_call_fail gives back the
 * results so far. */
int32_t kuafu_call_count_matches(KuafuCall* call, int32_t parameters);
int32_t kuafu_call_accepts(KuafuCall* call, int32_t index, uint32_t accepted);
/* Calls body(function, call) and notes what it throws. */
void kuafu_call_run(void (*body)(void* function, KuafuCall* call), void* function, KuafuCall* call);
void kuafu_call_return(KuafuCall* call, KuafuTensor* tensor); /* adds a result, NULL = undefined; raises */
void kuafu_call_return_number(KuafuCall* call, int32_t kind, int64_t integer, double real); /* adds a result; raises */
void kuafu_call_fail(KuafuCall* call, int32_t status, const char* text);

/* void kuafu_entry(KuafuCall* call); is defined by the candidate's object file. */

/* An extension: functions with names and defaults. Its object file defines kuafu_extension, which calls
 * kuafu_module_def, a function of the runner, once for each m.def of its PYBIND11_MODULE. */
typedef void (*KuafuInvoker)(void* function, KuafuCall* call);
typedef struct KuafuParameter {
  const char* name;    /* NULL: by position only */
  int32_t has_default; /* then `value`, which is never a tensor */
  KuafuValue value;
} KuafuParameter;
typedef struct KuafuModule KuafuModule;
/* Copies what it is given; `parameters` has parameter_count rows. A name that is known already is an overload. */
void kuafu_module_def(KuafuModule* module, const char* name, KuafuInvoker invoke, void* function,
                      int32_t parameter_count, const KuafuParameter* parameters);
/* void kuafu_extension(KuafuModule* module); is defined by the candidate's object file. */

/* Notes that an operator of a library was called (at::matmul, cublasSgemm), which a candidate has to do without,
 * and throws. */
__attribute__((noreturn)) void kuafu_library_call(const char* name);

#ifdef __cplusplus
}
#endif
