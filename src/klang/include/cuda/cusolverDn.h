// SPDX-License-Identifier: Apache-2.0
// A library that does the work itself. In an extension its functions compile and end the call by name, so that
// the verdict can tell; a candidate that stands alone is refused when it is compiled.
#pragma once
#ifndef KUAFU_EXTENSION_UNIT
#error "kuafu: cusolver is not available: write the operation as a kernel"
#else
#include "kuafu/library_any.h"
#include "kuafu/runtime_api.h"

enum cusolverStatus_t { CUSOLVER_STATUS_SUCCESS = 0 };
enum kuafu_cusolver_constant { CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_MODE_NOVECTOR };
typedef struct cusolverDnHandle_opaque* cusolverDnHandle_t;
#define KUAFU_LIBRARY(name) template <class... A> inline cusolverStatus_t name(const A&...) { kuafu_library_call(#name); }
KUAFU_LIBRARY(cusolverDnCreate) KUAFU_LIBRARY(cusolverDnDestroy) KUAFU_LIBRARY(cusolverDnSetStream)
KUAFU_LIBRARY(cusolverDnSpotrf) KUAFU_LIBRARY(cusolverDnSpotrf_bufferSize)
KUAFU_LIBRARY(cusolverDnSpotrs) KUAFU_LIBRARY(cusolverDnSgetrf)
KUAFU_LIBRARY(cusolverDnSgetrf_bufferSize) KUAFU_LIBRARY(cusolverDnSgetrs)
KUAFU_LIBRARY(cusolverDnSgeqrf) KUAFU_LIBRARY(cusolverDnSgeqrf_bufferSize)
KUAFU_LIBRARY(cusolverDnSgesvd) KUAFU_LIBRARY(cusolverDnSgesvd_bufferSize)
KUAFU_LIBRARY(cusolverDnSsyevd) KUAFU_LIBRARY(cusolverDnSsyevd_bufferSize)
KUAFU_LIBRARY(cusolverDnDpotrf) KUAFU_LIBRARY(cusolverDnDgetrf) KUAFU_LIBRARY(cusolverDnDgetrs)
#undef KUAFU_LIBRARY
#endif
