// SPDX-License-Identifier: Apache-2.0
// Times of the CUDA kernels through the C interface: forward, forward + backward from saved
// intermediates, and decode, at training and serving shapes; beside decode a plain copy of as many
// bytes as its states, what a device does at best. CUDA events around every call, median of many;
// inputs are larger than the L2 cache (decode and the copy walk over a pool). Checks no result: run it
// after the kernels have been verified (ci/gpu.sh does).
//   gdr2_cuda_benchmark OUT.json [REPETITIONS]
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "kernels/abi/marshal.hpp"
#include "reference/error.hpp"
#include "reports/environment.hpp"

namespace gdr2 {
namespace {

using nlohmann::json;

void must(cudaError_t status, const char* call) {
  if (status != cudaSuccess) fail("{}: {}", call, cudaGetErrorString(status));
}

void must(gdr2_status status, const char* call, const gdr2_workspace& workspace) {
  if (status != GDR2_OK) fail("{}: {}", call, workspace.error);
}

struct Times {
  std::vector<float> ms;
  float quantile(double p) const { return ms[std::size_t(p * double(ms.size() - 1))]; }
};

Times time_calls(int repetitions, const std::function<void()>& call) {
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "cudaEventCreate");
  must(cudaEventCreate(&end), "cudaEventCreate");
  Times times;
  for (int i = -3; i < repetitions; ++i) {
    must(cudaEventRecord(begin), "cudaEventRecord");
    call();
    must(cudaEventRecord(end), "cudaEventRecord");
    must(cudaEventSynchronize(end), "cudaEventSynchronize");
    float ms = 0;
    must(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    if (i >= 0) times.ms.push_back(ms);
  }
  std::sort(times.ms.begin(), times.ms.end());
  return times;
}

/// Bounded values with unit keys and a long memory.
Tensor filled(const Problem& p, Name name) {
  Tensor tensor(dtype_of(p, name), shape_of(p, name));
  const auto width = size_of(tensor.dtype());
  constexpr std::int64_t kPeriod = 8191;
  for (std::int64_t i = 0; i < std::min(kPeriod, tensor.size()); ++i) {
    const double u = double(i * 2654435761u % 65536) / 65536;
    double x = u;
    if (name == Name::g) x = -0.1 * u;
    if (name == Name::q || name == Name::k) x = (2 * u - 1) * std::sqrt(3.0 / double(p.K));
    if (name == Name::v || name == Name::do_) x = 2 * u - 1;
    tensor.set(i, x);
  }
  for (std::int64_t done = kPeriod; done < tensor.size(); done += kPeriod)
    std::copy_n(tensor.data(), std::min(kPeriod, tensor.size() - done) * width,
                tensor.data() + done * width);
  return tensor;
}

double megabytes(const Problem& p, const std::vector<Name>& names) {
  double bytes = 0;
  for (auto name : names)
    bytes += double(element_count(shape_of(p, name))) * double(size_of(dtype_of(p, name)));
  return bytes / 1e6;
}

class Bench {
 public:
  Bench(int repetitions) : repetitions_(repetitions), table_(*gdr2_kernel_v1()) {}

  void training(const std::string& line) {
    const auto p = parse_problem(line + " ht=0 loss=o");
    Mirror mirror(space_);
    std::map<Name, gdr2_tensor> t;
    std::vector<Tensor> kept;
    for (auto names : {input_names(p), output_names(p), gradient_names(p)})
      for (auto name : names) {
        kept.push_back(filled(p, name));
        t[name] = mirror.add(kept.back());
      }
    const AbiProblem abi(p, space_);
    gdr2_capability can{};
    can.struct_size = sizeof can;
    table_.query(abi.get(), GDR2_PASS_FORWARD | GDR2_PASS_BACKWARD, &can);
    if (!can.supported) fail("{}: {}", line, can.reason);
    const SpaceBuffer workspace(space_, can.workspace_bytes), saved(space_, can.saved_bytes);
    gdr2_workspace inference{workspace.get(), can.workspace_bytes};
    gdr2_workspace train{workspace.get(), can.workspace_bytes_with_saved, saved.get(), can.saved_bytes};
    const gdr2_inputs in{t[Name::q], t[Name::k], t[Name::v], t[Name::g], t[Name::b], t[Name::w]};
    const gdr2_outputs out{t[Name::o]};
    const gdr2_cotangents dy{t[Name::do_], {}};
    const gdr2_gradients d{t[Name::dq], t[Name::dk], t[Name::dv], t[Name::dg], t[Name::db], t[Name::dw]};
    const auto forward = [&](gdr2_workspace& w) {
      must(table_.forward(abi.get(), &in, &out, &w), "forward", w);
    };
    const auto backward = [&](gdr2_workspace& w) {
      must(table_.backward(abi.get(), &in, &dy, &d, &w), "backward", w);
    };
    auto floor = input_names(p);
    std::erase(floor, Name::do_);
    floor.push_back(Name::o);
    add(line, "forward", megabytes(p, floor), time_calls(repetitions_, [&] { forward(inference); }));
    for (auto name : gradient_names(p)) floor.push_back(name);
    for (auto name : input_names(p)) floor.push_back(name);
    rows_.back()["saved_mb"] = double(can.saved_bytes) / 1e6;
    rows_.back()["workspace_mb"] = double(can.workspace_bytes) / 1e6;
    rows_.back()["workspace_mb_with_saved"] = double(can.workspace_bytes_with_saved) / 1e6;
    add(line, "forward+backward", megabytes(p, floor),
        time_calls(repetitions_, [&] { forward(train), backward(train); }));
    add(line, "forward+backward recomputed", megabytes(p, floor),
        time_calls(repetitions_, [&] { forward(inference), backward(inference); }));
  }

  void decode(const std::string& line) {
    const auto p = parse_problem(line + " pass=fwd");
    constexpr std::int64_t kSlots = 512;
    Mirror mirror(space_);
    std::map<Name, gdr2_tensor> t;
    std::vector<Tensor> kept;
    for (auto names : {input_names(p), output_names(p)})
      for (auto name : names) {
        kept.push_back(filled(p, name));
        t[name] = mirror.add(kept.back());
      }
    auto shape = shape_of(p, Name::ht);
    shape[0] = kSlots;
    const Tensor pool(DType::kF32, shape);
    std::vector<std::int32_t> slots(2 * kSlots);
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = std::int32_t(i % kSlots);
    const SpaceBuffer slot_buffer(space_, slots.size() * sizeof slots[0]);
    space_.upload(slot_buffer.get(), slots.data(), slots.size() * sizeof slots[0]);
    const gdr2_tensor states = mirror.add(pool);
    gdr2_decode call{t[Name::q], t[Name::k], t[Name::v], t[Name::g], t[Name::b], t[Name::w],
                     {}, {}, t[Name::o], states, nullptr, kSlots};
    const AbiProblem abi(p, space_);
    gdr2_workspace none{};
    std::int64_t first = 0;
    const auto next = [&] {
      call.slot = reinterpret_cast<const std::int32_t*>(slot_buffer.get()) + first;
      first = (first + p.B) % kSlots;
      must(table_.decode(abi.get(), &call, &none), "decode", none);
    };
    add(line, "decode", 2 * megabytes(p, {Name::ht}), time_calls(5 * repetitions_, next));
    constexpr std::int64_t kHalf = kSlots / 2;
    const auto slot_bytes = std::size_t(pool.size() / kSlots) * sizeof(float);
    const auto copy = [&] {
      auto* source = static_cast<char*>(states.data) + std::size_t(first % kHalf) * slot_bytes;
      first = (first + p.B) % kSlots;
      must(cudaMemcpyAsync(source + kHalf * slot_bytes, source, std::size_t(p.B) * slot_bytes,
                           cudaMemcpyDeviceToDevice),
           "cudaMemcpyAsync");
    };
    add(line, "copy of the states", 2 * megabytes(p, {Name::ht}),
        time_calls(5 * repetitions_, copy));
  }

  const json& rows() const { return rows_; }

 private:
  /// floor_mb: megabytes that must move at least once.
  void add(const std::string& line, const char* pass, double floor_mb, const Times& times) {
    const double median = times.quantile(0.5);
    rows_.push_back({{"case", line}, {"pass", pass}, {"median_ms", median}, {"p10_ms", times.quantile(0.1)},
                     {"p90_ms", times.quantile(0.9)}, {"floor_mb", floor_mb},
                     {"floor_gb_per_s", floor_mb / median}});
    std::cout << fmt::format("{:<44} {:<28} {:9.4f} ms  [{:.4f} {:.4f}]  {:7.0f} GB/s of the floor\n", line,
                             pass, median, times.quantile(0.1), times.quantile(0.9), floor_mb / median);
  }

  int repetitions_;
  const gdr2_kernel& table_;
  const MemorySpace& space_ = memory_space(GDR2_CUDA);
  json rows_ = json::array();
};

int run(const std::string& path, int repetitions) {
  Bench bench(repetitions);
  for (const char* sizes : {"B=8 T=4096 H=16", "T=8192 H=16", "T=32768 H=16",
                            "H=16 lens=1300,547,2048,963,271,3063"})
    bench.training(fmt::format("{} K=128 V=128", sizes));
  for (const char* dtype : {"fp16", "tf32", "fp32"})
    bench.training(fmt::format("B=8 T=4096 H=16 K=128 V=128 dtype={}", dtype));
  for (const char* sizes : {"B=8 T=4096 H=16 K=64 V=64", "B=4 T=4096 H=16 K=256 V=256",
                            "B=8 T=4096 H=4 HV=16 K=128 V=128", "B=8 T=4096 H=16 K=100 V=60"})
    bench.training(sizes);
  for (int batch : {1, 16, 64, 256})
    for (const char* layout : {"kv", "vk"})
      bench.decode(fmt::format("B={} T=1 H=16 K=128 V=128 layout={}", batch, layout));
  const auto record = new_run({});
  std::ofstream file(path);
  file << json{{"kind", "benchmark"}, {"started", record.started}, {"git_sha", record.git_sha},
               {"git_dirty", record.git_dirty}, {"environment", record.environment},
               {"repetitions", repetitions}, {"rows", bench.rows()}}.dump(1) << '\n';
  if (!file) fail("{}: cannot write", path);
  return 0;
}

}  // namespace
}  // namespace gdr2

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: gdr2_cuda_benchmark OUT.json [REPETITIONS]\n";
    return 2;
  }
  try {
    return gdr2::run(argv[1], argc == 3 ? std::max(1, std::atoi(argv[2])) : 15);
  } catch (const std::exception& error) {
    std::cerr << "gdr2_cuda_benchmark: " << error.what() << '\n';
    return 1;
  }
}
