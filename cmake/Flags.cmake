# SPDX-License-Identifier: Apache-2.0
# Compile flags shared by every target, carried by one INTERFACE target.
option(KUAFU_WERROR "treat warnings as errors" ON)
set(KUAFU_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")
option(KUAFU_FUZZ "build fuzz targets (clang only)" OFF)

add_library(kuafu_flags INTERFACE)
target_compile_features(kuafu_flags INTERFACE cxx_std_20)
target_compile_options(kuafu_flags INTERFACE
  -march=x86-64-v3 -ffp-contract=off
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wswitch -Wundef -Werror=unused-result
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # simt tells g++ where lanes are independent (GCC ivdep); clang finds out by checks at run time.
  target_compile_options(kuafu_flags INTERFACE -Wno-unknown-pragmas)
endif()
if(KUAFU_WERROR)
  target_compile_options(kuafu_flags INTERFACE -Werror)
endif()
if(KUAFU_SANITIZE)
  target_compile_options(kuafu_flags INTERFACE -fsanitize=${KUAFU_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(kuafu_flags INTERFACE -fsanitize=${KUAFU_SANITIZE})
endif()
if(KUAFU_FUZZ)
  target_compile_options(kuafu_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
