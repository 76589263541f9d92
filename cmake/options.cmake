# Compiler settings that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(gdr2_options INTERFACE)
target_include_directories(gdr2_options INTERFACE ${CMAKE_SOURCE_DIR})
# No contraction: input recipes and exact cases must give the same bits on every machine.
target_compile_options(gdr2_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-missing-field-initializers;-ffp-contract=off>)
if(GDR2_MARCH AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(gdr2_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=${GDR2_MARCH}>)
endif()

option(GDR2_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
if(GDR2_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# One library a folder: gdr2_library(reference SOURCES a.cpp b.cpp LINK ...)
function(gdr2_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(gdr2_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(gdr2_${name} PUBLIC gdr2_options ${ARG_LINK})
endfunction()
