// SPDX-License-Identifier: Apache-2.0
// A library that does the work itself. In an extension its functions compile and end the call by name, so that
// the verdict can tell; a candidate that stands alone is refused when it is compiled.
#pragma once
#ifndef KUAFU_EXTENSION_UNIT
#error "kuafu: cublas is not available: write the matrix product as a kernel"
#else
#include "kuafu/library_any.h"
#include "kuafu/runtime_api.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0 };
enum kuafu_cublas_constant { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C, CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER, CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT, CUBLAS_DIAG_UNIT, CUBLAS_DIAG_NON_UNIT, CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE, CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT_TENSOR_OP, CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F, CUDA_R_16F, CUDA_R_32F, CUDA_R_64F, CUDA_R_16BF };
typedef struct cublasHandle_opaque* cublasHandle_t;
typedef int cublasOperation_t;
typedef int cublasFillMode_t;
typedef int cublasMath_t;
typedef int cublasGemmAlgo_t;
typedef int cublasComputeType_t;
#define KUAFU_LIBRARY(name) template <class... A> inline cublasStatus_t name(const A&...) { kuafu_library_call(#name); }
KUAFU_LIBRARY(cublasCreate) KUAFU_LIBRARY(cublasDestroy) KUAFU_LIBRARY(cublasSetStream)
KUAFU_LIBRARY(cublasGetStream) KUAFU_LIBRARY(cublasSetMathMode) KUAFU_LIBRARY(cublasGetMathMode)
KUAFU_LIBRARY(cublasSetPointerMode) KUAFU_LIBRARY(cublasSetWorkspace)
KUAFU_LIBRARY(cublasGetVersion) KUAFU_LIBRARY(cublasSgemm) KUAFU_LIBRARY(cublasDgemm)
KUAFU_LIBRARY(cublasHgemm) KUAFU_LIBRARY(cublasCgemm) KUAFU_LIBRARY(cublasSgemmBatched)
KUAFU_LIBRARY(cublasDgemmBatched) KUAFU_LIBRARY(cublasHgemmBatched)
KUAFU_LIBRARY(cublasCgemmBatched) KUAFU_LIBRARY(cublasSgemmStridedBatched)
KUAFU_LIBRARY(cublasDgemmStridedBatched) KUAFU_LIBRARY(cublasHgemmStridedBatched)
KUAFU_LIBRARY(cublasCgemmStridedBatched) KUAFU_LIBRARY(cublasSgemv) KUAFU_LIBRARY(cublasDgemv)
KUAFU_LIBRARY(cublasSger) KUAFU_LIBRARY(cublasDger) KUAFU_LIBRARY(cublasSaxpy)
KUAFU_LIBRARY(cublasDaxpy) KUAFU_LIBRARY(cublasSdot) KUAFU_LIBRARY(cublasDdot)
KUAFU_LIBRARY(cublasSscal) KUAFU_LIBRARY(cublasDscal) KUAFU_LIBRARY(cublasSnrm2)
KUAFU_LIBRARY(cublasDnrm2) KUAFU_LIBRARY(cublasSasum) KUAFU_LIBRARY(cublasDasum)
KUAFU_LIBRARY(cublasScopy) KUAFU_LIBRARY(cublasDcopy) KUAFU_LIBRARY(cublasSswap)
KUAFU_LIBRARY(cublasDswap) KUAFU_LIBRARY(cublasSsymm) KUAFU_LIBRARY(cublasDsymm)
KUAFU_LIBRARY(cublasSsyrk) KUAFU_LIBRARY(cublasDsyrk) KUAFU_LIBRARY(cublasStrsm)
KUAFU_LIBRARY(cublasDtrsm) KUAFU_LIBRARY(cublasStrmm) KUAFU_LIBRARY(cublasDtrmm)
KUAFU_LIBRARY(cublasSgeam) KUAFU_LIBRARY(cublasDgeam) KUAFU_LIBRARY(cublasSdgmm)
KUAFU_LIBRARY(cublasDdgmm) KUAFU_LIBRARY(cublasIsamax) KUAFU_LIBRARY(cublasIdamax)
KUAFU_LIBRARY(cublasIsamin) KUAFU_LIBRARY(cublasGemmEx) KUAFU_LIBRARY(cublasGemmStridedBatchedEx)
KUAFU_LIBRARY(cublasGemmBatchedEx) KUAFU_LIBRARY(cublasSgemmEx)
#undef KUAFU_LIBRARY
#endif
