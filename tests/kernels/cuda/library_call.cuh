// SPDX-License-Identifier: Apache-2.0
// Calls of the C interface for tests that look at bits: one sequence or a packed batch in bf16, all
// tensors in one arena, rows as far apart as asked. Two calls that describe the same problem must
// leave the same bits, however the tensors lie and whatever the workspace held.
#pragma once

#include <cstring>
#include <map>
#include <string>

#include "kernels/abi/gdr2_kernel.h"
#include "tests/kernels/cuda/forward_case.cuh"

#if defined(GDR2_CUDA_ON_HOST)
#include <sys/mman.h>
#endif

namespace gdr2::cuda::test {

// Memory that kernels reach; on the host only the pages that are touched are occupied.
class Arena {
 public:
  explicit Arena(uint64_t bytes) : bytes_(bytes) {
#if defined(GDR2_CUDA_ON_HOST)
    data_ = static_cast<unsigned char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (data_ == MAP_FAILED) throw std::bad_alloc();
#else
    check(cudaMalloc(&data_, bytes_), "cudaMalloc");
#endif
  }
  ~Arena() {
#if defined(GDR2_CUDA_ON_HOST)
    munmap(data_, bytes_);
#else
    cudaFree(data_);
#endif
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  unsigned char* at(uint64_t offset) const { return data_ + offset; }
  uint64_t bytes() const { return bytes_; }

  void fill(unsigned char byte) {
#if defined(GDR2_CUDA_ON_HOST)
    std::memset(data_, byte, bytes_);
#else
    check(cudaMemset(data_, byte, bytes_), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // else it runs on into other streams' work
#endif
  }
  // Rows of `width` bytes, `pitch` bytes apart from `offset` on, from or to dense memory.
  void write(uint64_t offset, uint64_t pitch, uint64_t width, uint64_t rows, const void* dense) {
    copy(at(offset), pitch, dense, width, width, rows);
  }
  void read(uint64_t offset, uint64_t pitch, uint64_t width, uint64_t rows, void* dense) const {
    copy(dense, width, at(offset), pitch, width, rows);
  }

 private:
  static void copy(void* to, uint64_t to_pitch, const void* from, uint64_t from_pitch,
                   uint64_t width, uint64_t rows) {
#if defined(GDR2_CUDA_ON_HOST)
    for (uint64_t r = 0; r < rows; ++r)
      std::memcpy(static_cast<unsigned char*>(to) + r * to_pitch,
                  static_cast<const unsigned char*>(from) + r * from_pitch, width);
#else
    check(cudaMemcpy2D(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyDefault),
          "cudaMemcpy2D");
#endif
  }

  unsigned char* data_ = nullptr;
  uint64_t bytes_;
};

using Bits = std::vector<uint16_t>;
using State = std::vector<float>;

struct LibraryShape {
  int64_t T = 64, H = 1, K = 64, V = 64;
  std::vector<int64_t> lens;  // packed
  int64_t token_stride = 0;   // elements; 0: dense

  int64_t N() const { return lens.empty() ? 1 : static_cast<int64_t>(lens.size()); }
};

// The pass over one problem, q k v g b w d_o in, o ht dq dk dv dg db dw dh0 out.
class LibraryCall {
 public:
  explicit LibraryCall(const LibraryShape& shape)
      : shape_(shape),
        rows_(arena_bytes(shape)),
        h0_(state_size()),
        ht_(state_size()),
        dht_(state_size()),
        dh0_(state_size()),
        starts_(starts(shape)) {
    problem_.struct_size = sizeof problem_;
    problem_.dtype = GDR2_BF16, problem_.g_dtype = GDR2_BF16, problem_.products = GDR2_FORMAT_BF16;
    problem_.B = 1, problem_.T = shape.T, problem_.N = shape.N();
    problem_.H = problem_.HV = shape.H, problem_.K = shape.K, problem_.V = shape.V;
    problem_.scale = 1 / std::sqrt(static_cast<double>(shape.K));
    problem_.lower_bound = -5, problem_.l2norm_eps = 1e-6;
    if (!shape.lens.empty()) problem_.cu_seqlens = starts_.data();
    uint64_t place = 0;
    for (const char* name : kNames) {
      places_[name] = place;
      place += 2 * (shape.token_stride == 0 ? shape.T * row_elements(name) : row_elements(name));
      place = (place + 255) / 256 * 256;
    }
    gdr2_capability can{};
    can.struct_size = sizeof can;
    const auto status =
        gdr2_kernel_v1()->query(&problem_, GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD, &can);
    if (status != GDR2_OK || !can.supported) throw std::runtime_error(can.reason);
    workspace_ = std::make_unique<Arena>(can.workspace_bytes);
    saved_ = std::make_unique<Arena>(can.saved_bytes);
  }

  // Rows of bits, repeated until T.
  void set(const std::string& name, const Bits& rows) {
    const auto count = static_cast<int64_t>(rows.size()) / row_elements(name);
    for (int64_t t = 0; t < shape_.T; t += count)
      rows_.write(places_.at(name) + t * pitch(name), pitch(name), 2 * row_elements(name),
                  std::min(count, shape_.T - t), rows.data());
  }
  Bits get(const std::string& name) const {
    Bits rows(shape_.T * row_elements(name));
    rows_.read(places_.at(name), pitch(name), 2 * row_elements(name), shape_.T, rows.data());
    return rows;
  }
  void set_h0(const State& h0) { write(h0_, h0); }
  void set_dht(const State& dht) { write(dht_, dht); }
  State ht() const { return ht_.read(); }
  State dh0() const { return dh0_.read(); }

  void poison(unsigned char byte) { workspace_->fill(byte), saved_->fill(byte); }

  // Forward keeps its intermediates for the backward when asked; backward recomputes when not.
  void forward(bool keep, void* stream = nullptr) {
    const gdr2_inputs in = inputs();
    gdr2_outputs out{};
    out.o = tensor("o"), out.ht = state(ht_);
    gdr2_workspace memory = workspace(keep, stream);
    must(gdr2_kernel_v1()->forward(&problem_, &in, &out, &memory), memory);
  }
  void backward(bool kept, void* stream = nullptr) {
    const gdr2_inputs in = inputs();
    const gdr2_cotangents given{tensor("do"), state(dht_)};
    const gdr2_gradients wanted{tensor("dq"), tensor("dk"), tensor("dv"), tensor("dg"),
                                tensor("db"), tensor("dw"), state(dh0_)};
    gdr2_workspace memory = workspace(kept, stream);
    must(gdr2_kernel_v1()->backward(&problem_, &in, &given, &wanted, &memory), memory);
  }

  static constexpr const char* kNames[] = {"q", "k",  "v",  "g",  "b",  "w",  "do",
                                           "o", "dq", "dk", "dv", "dg", "db", "dw"};
  static constexpr const char* kResults[] = {"o", "dq", "dk", "dv", "dg", "db", "dw"};

  int64_t row_elements(const std::string& name) const {
    const bool value = name.find_first_of("vwo") != std::string::npos;
    return shape_.H * (value ? shape_.V : shape_.K);
  }

 private:
  static uint64_t arena_bytes(const LibraryShape& s) {
    const uint64_t row = 2 * s.H * std::max(s.K, s.V) + 256, tensors = std::size(kNames);
    return s.token_stride == 0 ? tensors * (s.T * row + 256)
                               : (s.T - 1) * 2 * s.token_stride + tensors * row;
  }
  static std::vector<int64_t> starts(const LibraryShape& s) {
    std::vector<int64_t> cu{0};
    for (const int64_t n : s.lens) cu.push_back(cu.back() + n);
    return cu;
  }
  size_t state_size() const { return shape_.N() * shape_.H * shape_.K * shape_.V; }
  uint64_t pitch(const std::string& name) const {
    return 2 * (shape_.token_stride == 0 ? row_elements(name) : shape_.token_stride);
  }
  static void write(DeviceBuffer<float>& buffer, const State& values) {
#if defined(GDR2_CUDA_ON_HOST)
    std::copy(values.begin(), values.end(), buffer.data());
#else
    check(cudaMemcpy(buffer.data(), values.data(), values.size() * sizeof(float),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
#endif
  }
  gdr2_tensor tensor(const std::string& name) const {
    const auto row = static_cast<int64_t>(pitch(name) / 2);
    return {rows_.at(places_.at(name)),
            {shape_.T * row, row, row_elements(name) / shape_.H, 1},
            GDR2_BF16,
            0};
  }
  gdr2_tensor state(const DeviceBuffer<float>& buffer) const {
    const int64_t K = shape_.K, V = shape_.V;
    return {buffer.data(), {shape_.H * K * V, K * V, V, 1}, GDR2_F32, 0};
  }
  gdr2_inputs inputs() const {
    return {tensor("q"), tensor("k"), tensor("v"), tensor("g"),
            tensor("b"), tensor("w"), state(h0_)};
  }
  gdr2_workspace workspace(bool keep, void* stream) const {
    gdr2_workspace w{};
    w.data = workspace_->at(0), w.bytes = workspace_->bytes(), w.stream = stream;
    if (keep) w.saved = saved_->at(0), w.saved_bytes = saved_->bytes();
    return w;
  }
  static void must(gdr2_status status, const gdr2_workspace& memory) {
    if (status != GDR2_OK) throw std::runtime_error(memory.error);
  }

  LibraryShape shape_;
  gdr2_problem problem_{};
  Arena rows_;
  DeviceBuffer<float> h0_, ht_, dht_, dh0_;
  DeviceBuffer<int64_t> starts_;
  std::map<std::string, uint64_t> places_;
  std::unique_ptr<Arena> workspace_, saved_;
};

// Rows for every input: unit keys, gates that remember and, now and then, forget.
inline std::map<std::string, Bits> draw_rows(const LibraryCall& call, int64_t rows, uint64_t seed) {
  std::map<std::string, Bits> all;
  uint64_t tensor = 0;
  for (const std::string name : {"q", "k", "v", "g", "b", "w", "do"}) {
    ++tensor;
    Bits& bits = all[name];
    const int64_t row = call.row_elements(name);
    const double unit = std::sqrt(3.0 / static_cast<double>(row));
    for (int64_t i = 0; i < rows * row; ++i) {
      const double u = uniform(seed, tensor, i);
      const double x = name == "g"                  ? (u < 0.02 ? -30 * u / 0.02 : -0.1 * u)
                       : name == "q" || name == "k" ? (2 * u - 1) * unit
                       : name == "b" || name == "w" ? u
                                                    : 2 * u - 1;
      bits.push_back(number<Bf16>(static_cast<float>(x)).bits);
    }
  }
  return all;
}

inline Bits rows_of(const Bits& rows, int64_t row_elements, int64_t first, int64_t count) {
  return {rows.begin() + first * row_elements, rows.begin() + (first + count) * row_elements};
}

}  // namespace gdr2::cuda::test
