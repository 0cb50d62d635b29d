// SPDX-License-Identifier: Apache-2.0
// A library that does the work itself. In an extension its functions compile and end the call by name, so that
// the verdict can tell; a candidate that stands alone is refused when it is compiled.
#pragma once
#ifndef KUAFU_EXTENSION_UNIT
#error "kuafu: cusparse is not available: write the operation as a kernel"
#else
#include "kuafu/library_any.h"
#include "kuafu/runtime_api.h"

enum cusparseStatus_t { CUSPARSE_STATUS_SUCCESS = 0 };
enum kuafu_cusparse_constant { CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_ORDER_ROW, CUSPARSE_ORDER_COL, CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMV_ALG_DEFAULT };
typedef struct cusparseHandle_opaque* cusparseHandle_t;
typedef struct cusparseSpMatDescr_opaque* cusparseSpMatDescr_t;
typedef struct cusparseDnMatDescr_opaque* cusparseDnMatDescr_t;
typedef struct cusparseDnVecDescr_opaque* cusparseDnVecDescr_t;
typedef struct cusparseMatDescr_opaque* cusparseMatDescr_t;
#define KUAFU_LIBRARY(name) template <class... A> inline cusparseStatus_t name(const A&...) { kuafu_library_call(#name); }
KUAFU_LIBRARY(cusparseCreate) KUAFU_LIBRARY(cusparseDestroy) KUAFU_LIBRARY(cusparseSetStream)
KUAFU_LIBRARY(cusparseCreateCsr) KUAFU_LIBRARY(cusparseCreateCoo)
KUAFU_LIBRARY(cusparseCreateDnMat) KUAFU_LIBRARY(cusparseCreateDnVec)
KUAFU_LIBRARY(cusparseDestroySpMat) KUAFU_LIBRARY(cusparseDestroyDnMat)
KUAFU_LIBRARY(cusparseDestroyDnVec) KUAFU_LIBRARY(cusparseSpMM)
KUAFU_LIBRARY(cusparseSpMM_bufferSize) KUAFU_LIBRARY(cusparseSpMV)
KUAFU_LIBRARY(cusparseSpMV_bufferSize) KUAFU_LIBRARY(cusparseSDDMM)
KUAFU_LIBRARY(cusparseSpGEMM_compute)
#undef KUAFU_LIBRARY
#endif
