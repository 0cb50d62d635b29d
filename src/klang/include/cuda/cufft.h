// SPDX-License-Identifier: Apache-2.0
// A library that does the work itself. In an extension its functions compile and end the call by name, so that
// the verdict can tell; a candidate that stands alone is refused when it is compiled.
#pragma once
#ifndef KUAFU_EXTENSION_UNIT
#error "kuafu: cufft is not available: write the transform as a kernel"
#else
#include "kuafu/library_any.h"
#include "kuafu/runtime_api.h"

enum cufftResult { CUFFT_SUCCESS = 0 };
enum kuafu_cufft_constant { CUFFT_FORWARD = -1, CUFFT_INVERSE = 1, CUFFT_R2C, CUFFT_C2R, CUFFT_C2C, CUFFT_D2Z, CUFFT_Z2D, CUFFT_Z2Z };
typedef int cufftHandle;
typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex;
typedef float cufftReal;
typedef double cufftDoubleReal;
#define KUAFU_LIBRARY(name) template <class... A> inline cufftResult name(const A&...) { kuafu_library_call(#name); }
KUAFU_LIBRARY(cufftPlan1d) KUAFU_LIBRARY(cufftPlan2d) KUAFU_LIBRARY(cufftPlan3d)
KUAFU_LIBRARY(cufftPlanMany) KUAFU_LIBRARY(cufftCreate) KUAFU_LIBRARY(cufftDestroy)
KUAFU_LIBRARY(cufftSetStream) KUAFU_LIBRARY(cufftExecC2C) KUAFU_LIBRARY(cufftExecR2C)
KUAFU_LIBRARY(cufftExecC2R) KUAFU_LIBRARY(cufftExecZ2Z) KUAFU_LIBRARY(cufftExecD2Z)
KUAFU_LIBRARY(cufftExecZ2D)
#undef KUAFU_LIBRARY
#endif
