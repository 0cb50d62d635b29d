# SPDX-License-Identifier: Apache-2.0
# kuafu_module: the only way to define a library. A module may depend on strictly lower layers only;
# anything else stops the configure step.
#
#   kuafu_module(tensor LAYER 2 PUBLIC_HEADERS tensor.h SOURCES tensor.cpp DEPS base
#     TESTS tensor_test.cpp)
#
# DEPS appear in public headers, PRIVATE_DEPS in sources only, EXTERNAL are libraries of the system.
# TESTS are *_test.cpp (one executable each, label unit); BENCHES are *_bench.cpp; FUZZERS are
# *_fuzz.cpp, in the target `fuzzers`; tools/run_fuzz.sh runs them over testdata/fuzz.
function(kuafu_module name)
  set(lists PUBLIC_HEADERS SOURCES DEPS PRIVATE_DEPS EXTERNAL TESTS BENCHES FUZZERS)
  cmake_parse_arguments(A "" "LAYER" "${lists}" ${ARGN})
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kuafu_module(${name}): unknown arguments: ${A_UNPARSED_ARGUMENTS}")
  endif()
  set(target kuafu_${name})
  add_library(${target} STATIC ${A_SOURCES})
  add_library(kuafu::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES KUAFU_LAYER ${A_LAYER} LINKER_LANGUAGE CXX)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src
    FILES ${A_PUBLIC_HEADERS})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC kuafu_flags PRIVATE ${A_EXTERNAL})
  foreach(dep IN LISTS A_DEPS A_PRIVATE_DEPS)
    if(NOT TARGET kuafu_${dep})
      message(FATAL_ERROR "layering: ${name} depends on ${dep}, which is not a module below it")
    endif()
    get_property(dep_layer TARGET kuafu_${dep} PROPERTY KUAFU_LAYER)
    if(NOT dep_layer LESS A_LAYER)
      message(FATAL_ERROR
        "layering: ${name} (layer ${A_LAYER}) may not depend on ${dep} (layer ${dep_layer})")
    endif()
  endforeach()
  list(TRANSFORM A_DEPS PREPEND kuafu::)
  list(TRANSFORM A_PRIVATE_DEPS PREPEND kuafu::)
  target_link_libraries(${target} PUBLIC ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS})
  set(timeout 120)
  if(KUAFU_SANITIZE)
    set(timeout 600)  # instrumented, clang and the simulated GPU take five times as long
  endif()
  foreach(file IN LISTS A_TESTS)
    get_filename_component(test ${file} NAME_WE)
    set(test_target ${name}_${test})
    add_executable(${test_target} ${file})
    target_link_libraries(${test_target} PRIVATE
      ${target} ${A_PRIVATE_DEPS} ${A_EXTERNAL} GTest::gtest_main)
    add_test(NAME ${name}/${test} COMMAND ${test_target} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name}/${test} PROPERTIES LABELS "unit;${name}" TIMEOUT ${timeout})
  endforeach()
  foreach(file IN LISTS A_BENCHES)
    get_filename_component(bench ${file} NAME_WE)
    add_executable(${name}_${bench} EXCLUDE_FROM_ALL ${file})
    target_link_libraries(${name}_${bench} PRIVATE ${target} ${A_PRIVATE_DEPS} ${A_EXTERNAL})
  endforeach()
  if(KUAFU_FUZZ)
    foreach(file IN LISTS A_FUZZERS)
      get_filename_component(fuzz ${file} NAME_WE)
      add_executable(${name}_${fuzz} ${file})
      target_link_libraries(${name}_${fuzz} PRIVATE ${target} ${A_PRIVATE_DEPS} ${A_EXTERNAL})
      target_link_options(${name}_${fuzz} PRIVATE -fsanitize=fuzzer)
      if(NOT TARGET fuzzers)
        add_custom_target(fuzzers)
      endif()
      add_dependencies(fuzzers ${name}_${fuzz})
    endforeach()
  endif()
endfunction()
