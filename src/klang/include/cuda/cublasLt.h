// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cublas_v2.h"
typedef struct cublasLt_opaque *cublasLtHandle_t, *cublasLtMatmulDesc_t, *cublasLtMatrixLayout_t, *cublasLtMatmulPreference_t;
struct cublasLtMatmulAlgo_t { int unused; };
struct cublasLtMatmulHeuristicResult_t { cublasLtMatmulAlgo_t algo; };
enum kuafu_cublasLt_constant { CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB, CUBLASLT_MATMUL_DESC_EPILOGUE,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS,
  CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES };
#define KUAFU_LIBRARY(name) template <class... A> inline cublasStatus_t name(const A&...) { kuafu_library_call(#name); }
KUAFU_LIBRARY(cublasLtCreate)
KUAFU_LIBRARY(cublasLtDestroy)
KUAFU_LIBRARY(cublasLtMatmul)
KUAFU_LIBRARY(cublasLtMatmulDescCreate)
KUAFU_LIBRARY(cublasLtMatmulDescDestroy)
KUAFU_LIBRARY(cublasLtMatmulDescSetAttribute)
KUAFU_LIBRARY(cublasLtMatrixLayoutCreate)
KUAFU_LIBRARY(cublasLtMatrixLayoutDestroy)
KUAFU_LIBRARY(cublasLtMatrixLayoutSetAttribute)
KUAFU_LIBRARY(cublasLtMatmulPreferenceCreate)
KUAFU_LIBRARY(cublasLtMatmulPreferenceDestroy)
KUAFU_LIBRARY(cublasLtMatmulPreferenceSetAttribute)
KUAFU_LIBRARY(cublasLtMatmulAlgoGetHeuristic)
#undef KUAFU_LIBRARY
