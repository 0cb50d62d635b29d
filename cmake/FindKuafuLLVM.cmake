# SPDX-License-Identifier: Apache-2.0
# Finds LLVM, Clang and lld 19.1 and offers them as one target, kuafu::llvm, for klang's .cpp files
# only.
#
# Pinned to 19.1 because the C++ API changes with every release. Clang is taken from the same prefix
# as LLVM and from nowhere else: a machine with two LLVM versions otherwise mixes headers of one and
# libraries of the other. The shared libraries are used (libclang-cpp, libLLVM): linking takes 0.1 s
# instead of half a minute, and two copies of LLVM in one process are ruled out.
set(KUAFU_LLVM_VERSION 19.1)

find_package(LLVM ${KUAFU_LLVM_VERSION} QUIET CONFIG HINTS /usr/lib/llvm-19)
if(LLVM_FOUND)
  find_package(Clang QUIET CONFIG PATHS ${LLVM_INSTALL_PREFIX}/lib/cmake/clang NO_DEFAULT_PATH)
  find_package(LLD QUIET CONFIG PATHS ${LLVM_INSTALL_PREFIX}/lib/cmake/lld NO_DEFAULT_PATH)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(KuafuLLVM
  REQUIRED_VARS LLVM_INSTALL_PREFIX Clang_FOUND LLD_FOUND
  VERSION_VAR LLVM_PACKAGE_VERSION
  REASON_FAILURE_MESSAGE
    "run ./kuafu build, or install llvm-19-dev clang-19 libclang-19-dev libclang-cpp19-dev \
liblld-19-dev")

if(KuafuLLVM_FOUND AND NOT TARGET kuafu::llvm)
  add_library(kuafu_llvm INTERFACE)
  add_library(kuafu::llvm ALIAS kuafu_llvm)
  target_include_directories(kuafu_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
  separate_arguments(kuafu_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_options(kuafu_llvm INTERFACE ${kuafu_llvm_definitions})
  if(NOT LLVM_ENABLE_RTTI)
    # LLVM's classes have no type_info here; the sanitizer that reads it has to go as well.
    target_compile_options(kuafu_llvm INTERFACE -fno-rtti)
    if(KUAFU_SANITIZE MATCHES "undefined")
      target_compile_options(kuafu_llvm INTERFACE -fno-sanitize=vptr)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # LLVM allocates operands in front of their user: new and delete of llvm::User call each other's
    # match, but g++ 12 inlines only one of the two at -O1 and takes them for a mismatch.
    target_compile_options(kuafu_llvm INTERFACE -Wno-mismatched-new-delete)
  endif()
  # Debian has lld as archives only; what they need is in the shared libLLVM, except for these two.
  find_package(ZLIB REQUIRED)
  find_library(KUAFU_ZSTD zstd REQUIRED)
  target_link_libraries(kuafu_llvm INTERFACE ${LLVM_INSTALL_PREFIX}/lib/liblldELF.a
    ${LLVM_INSTALL_PREFIX}/lib/liblldCommon.a clang-cpp LLVM ZLIB::ZLIB ${KUAFU_ZSTD})
endif()
