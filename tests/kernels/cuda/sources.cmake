# Tests of device code and kernels, for a GPU and under the emulation; library_test needs no kernel to run. The emulation has its own.
set(GDR2_CUDA_TESTS
  backward_test.cu
  chunk_index_test.cu
  decode_test.cu
  forward_test.cu
  functions_test.cu
  gate_test.cu
  large_problem_test.cu
  memory_test.cu
  mma_test.cu
  numbers_test.cu
  threads_test.cu
)
list(TRANSFORM GDR2_CUDA_TESTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(APPEND GDR2_CUDA_TESTS ${CMAKE_CURRENT_LIST_DIR}/../resident/elementwise_test.cu)
set(GDR2_CUDA_LIBRARY_TEST ${CMAKE_CURRENT_LIST_DIR}/library_test.cpp)
set(GDR2_EMULATION_TEST
  ${CMAKE_CURRENT_LIST_DIR}/emulation_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/halves_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/shared_memory_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/starved_test.cpp)
