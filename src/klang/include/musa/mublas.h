// SPDX-License-Identifier: Apache-2.0
// A library that does the work itself. In an extension its functions compile and end the call by name, so that
// the verdict can tell; a candidate that stands alone is refused when it is compiled.
#pragma once
#ifndef KUAFU_EXTENSION_UNIT
#error "kuafu: mublas is not available: write the matrix product as a kernel"
#else
#include "kuafu/library_any.h"
#include "kuafu/runtime_api.h"

enum mublasStatus_t { MUBLAS_STATUS_SUCCESS = 0 };
enum kuafu_mublas_constant { MUBLAS_OP_N, MUBLAS_OP_T, MUBLAS_OP_C, MUBLAS_FILL_MODE_LOWER, MUBLAS_FILL_MODE_UPPER, MUBLAS_SIDE_LEFT, MUBLAS_SIDE_RIGHT, MUBLAS_DIAG_UNIT, MUBLAS_DIAG_NON_UNIT, MUBLAS_POINTER_MODE_HOST, MUBLAS_POINTER_MODE_DEVICE, MUBLAS_DEFAULT_MATH, MUBLAS_TENSOR_OP_MATH, MUBLAS_TF32_TENSOR_OP_MATH, MUBLAS_PEDANTIC_MATH, MUBLAS_GEMM_DEFAULT, MUBLAS_GEMM_DEFAULT_TENSOR_OP, MUBLAS_COMPUTE_16F, MUBLAS_COMPUTE_32F, MUBLAS_COMPUTE_32F_FAST_TF32, MUBLAS_COMPUTE_64F };
typedef struct mublasHandle_opaque* mublasHandle_t;
typedef int mublasOperation_t;
typedef int mublasFillMode_t;
typedef int mublasMath_t;
typedef int mublasGemmAlgo_t;
typedef int mublasComputeType_t;
#define KUAFU_LIBRARY(name) template <class... A> inline mublasStatus_t name(const A&...) { kuafu_library_call(#name); }
KUAFU_LIBRARY(mublasCreate) KUAFU_LIBRARY(mublasDestroy) KUAFU_LIBRARY(mublasSetStream)
KUAFU_LIBRARY(mublasGetStream) KUAFU_LIBRARY(mublasSetMathMode) KUAFU_LIBRARY(mublasGetMathMode)
KUAFU_LIBRARY(mublasSetPointerMode) KUAFU_LIBRARY(mublasSetWorkspace)
KUAFU_LIBRARY(mublasGetVersion) KUAFU_LIBRARY(mublasSgemm) KUAFU_LIBRARY(mublasDgemm)
KUAFU_LIBRARY(mublasHgemm) KUAFU_LIBRARY(mublasCgemm) KUAFU_LIBRARY(mublasSgemmBatched)
KUAFU_LIBRARY(mublasDgemmBatched) KUAFU_LIBRARY(mublasHgemmBatched)
KUAFU_LIBRARY(mublasCgemmBatched) KUAFU_LIBRARY(mublasSgemmStridedBatched)
KUAFU_LIBRARY(mublasDgemmStridedBatched) KUAFU_LIBRARY(mublasHgemmStridedBatched)
KUAFU_LIBRARY(mublasCgemmStridedBatched) KUAFU_LIBRARY(mublasSgemv) KUAFU_LIBRARY(mublasDgemv)
KUAFU_LIBRARY(mublasSger) KUAFU_LIBRARY(mublasDger) KUAFU_LIBRARY(mublasSaxpy)
KUAFU_LIBRARY(mublasDaxpy) KUAFU_LIBRARY(mublasSdot) KUAFU_LIBRARY(mublasDdot)
KUAFU_LIBRARY(mublasSscal) KUAFU_LIBRARY(mublasDscal) KUAFU_LIBRARY(mublasSnrm2)
KUAFU_LIBRARY(mublasDnrm2) KUAFU_LIBRARY(mublasSasum) KUAFU_LIBRARY(mublasDasum)
KUAFU_LIBRARY(mublasScopy) KUAFU_LIBRARY(mublasDcopy) KUAFU_LIBRARY(mublasSswap)
KUAFU_LIBRARY(mublasDswap) KUAFU_LIBRARY(mublasSsymm) KUAFU_LIBRARY(mublasDsymm)
KUAFU_LIBRARY(mublasSsyrk) KUAFU_LIBRARY(mublasDsyrk) KUAFU_LIBRARY(mublasStrsm)
KUAFU_LIBRARY(mublasDtrsm) KUAFU_LIBRARY(mublasStrmm) KUAFU_LIBRARY(mublasDtrmm)
KUAFU_LIBRARY(mublasSgeam) KUAFU_LIBRARY(mublasDgeam) KUAFU_LIBRARY(mublasSdgmm)
KUAFU_LIBRARY(mublasDdgmm) KUAFU_LIBRARY(mublasIsamax) KUAFU_LIBRARY(mublasIdamax)
KUAFU_LIBRARY(mublasIsamin) KUAFU_LIBRARY(mublasGemmEx) KUAFU_LIBRARY(mublasGemmStridedBatchedEx)
KUAFU_LIBRARY(mublasGemmBatchedEx) KUAFU_LIBRARY(mublasSgemmEx)
#undef KUAFU_LIBRARY
#endif
