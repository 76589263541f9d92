# The CUDA library's sources, also compiled as plain C++ by tests/cuda_on_host.
set(GDR2_CUDA_SOURCES
  backward.cu
  chunk_index.cu
  device_problem.cu
  forward.cu
  gradients.cu
  library.cu
  parameter_gradients.cu
  prep.cu
  recurrent.cu
  reverse_scan.cu
  reverse_scan_fp32.cu
  scan.cu
  scan_fp32.cu
  scan_warpgroup.cu
  validate.cpp
)
list(TRANSFORM GDR2_CUDA_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
