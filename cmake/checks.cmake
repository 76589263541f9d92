# SPDX-License-Identifier: Apache-2.0
# Checks of the source tree itself, run by ctest: include lines follow the diagram, and every public
# header compiles alone.
add_test(NAME layers COMMAND ${CMAKE_SOURCE_DIR}/ci/check_layers.sh ${CMAKE_SOURCE_DIR})
add_test(NAME layers_check_reports_violations
  COMMAND ${CMAKE_SOURCE_DIR}/tests/ci/check_layers_test.sh ${CMAKE_SOURCE_DIR}/ci/check_layers.sh)

# Headers of kernels/cuda are left out: they need the device platform around them.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
  reference/*.hpp fixtures/*.hpp kernels/*.hpp kernels/*.h properties/*.hpp gradcheck/*.hpp
  reports/*.hpp cli/*.hpp)
list(FILTER headers EXCLUDE REGEX "^kernels/cuda/")
set(sources)
foreach(header ${headers})
  set(languages cpp)
  if(header MATCHES "\\.h$")
    set(languages c cpp)  # the C interface
  endif()
  foreach(language ${languages})
    set(source ${CMAKE_BINARY_DIR}/headers/${header}.${language})
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
    list(APPEND sources ${source})
  endforeach()
endforeach()
add_library(headers_compile_alone OBJECT EXCLUDE_FROM_ALL ${sources})
target_link_libraries(headers_compile_alone PRIVATE
  gdr2_options gdr2_multiprecision gdr2_random123 Eigen3::Eigen fmt::fmt nlohmann_json::nlohmann_json
  CLI11::CLI11 Threads::Threads)
target_compile_options(headers_compile_alone PRIVATE -O0)
add_test(NAME headers_compile_alone
  COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target headers_compile_alone)
set_tests_properties(headers_compile_alone PROPERTIES TIMEOUT 600)

# GPU reports are of the kernel sources in the tree, or a dated waiver says why not.
add_test(NAME baselines_are_of_these_kernels
  COMMAND ${CMAKE_SOURCE_DIR}/ci/check_baselines.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(baselines_are_of_these_kernels PROPERTIES SKIP_RETURN_CODE 77)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME ci_templates_work
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/ci/templates_test.py ${CMAKE_SOURCE_DIR}
            $<TARGET_FILE:gdr2> ${CMAKE_BINARY_DIR}/tests/ci_templates)
  set_tests_properties(ci_templates_work PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)

  # No figure of a table that comes from committed data is typed.
  add_test(NAME tables_are_of_the_committed_data
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/ci/doc_tables.py --check)
endif()
