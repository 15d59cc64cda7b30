// Seconds of start-up from the counts of the compilation and the pod's links.
#include "simulator/app/startup.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "simulator/engine/host_calls.hpp"

namespace podsim {

namespace {

// For each IPU of a replica: bytes that stay in streaming memory, and those that go on to the IPU.
struct Image {
  std::vector<double> memory, ipu;
};

Image empty_image(const Compilation& compilation) {
  const std::vector<double> none(static_cast<std::size_t>(compilation.model.ipus_per_replica), 0.0);
  return {none, none};
}

// Weights and optimiser state, as far as a replica holds them.
Image variables_of(const Scenario& scenario, const Compilation& compilation) {
  const StagedModel& model = compilation.model;
  const Execution& execution = scenario.execution;
  Image image = empty_image(compilation);
  for (const Stage& stage : model.stages) {
    const auto add = [&](const VariableLocation& location, double bytes) {
      auto& part = location.off_chip ? image.memory : image.ipu;
      for (int ipu = stage.ipu; ipu < stage.ipu + model.ipus_per_stage; ++ipu) {
        part[static_cast<std::size_t>(ipu)] += bytes / shards_of(location, execution.replicas);
      }
    };
    add(execution.weights, model.weight_bytes(stage.index));
    if (scenario.workload_request.training) {
      add(execution.optimizer_state, model.optimizer_state_bytes(stage.index));
    }
  }
  return image;
}

Image code_of(const Compilation& compilation) {
  constexpr std::array kCode = {MemoryCategory::VertexCode, MemoryCategory::ControlCode,
                                MemoryCategory::InternalExchangeCode, MemoryCategory::HostExchangeCode,
                                MemoryCategory::GlobalExchangeCode};
  Image image = empty_image(compilation);
  for (std::size_t ipu = 0; ipu < compilation.memory.size(); ++ipu) {
    for (const MemoryCategory category : kCode) image.ipu[ipu] += compilation.memory[ipu].total_bytes(category);
  }
  return image;
}

// Bytes over each link, and the longest latency.
class Traffic {
 public:
  explicit Traffic(const Topology& topology) : topology_(topology) {}

  void add(const Route& first, const Route& second, double bytes_first, double bytes_second) {
    for (const int link : first.links) bytes_[link] += bytes_first;
    for (const int link : second.links) bytes_[link] += bytes_second;
    latency_seconds_ = std::max(latency_seconds_, first.latency_seconds + second.latency_seconds);
  }
  [[nodiscard]] double seconds() const {
    double longest = 0;
    for (const auto& [link, bytes] : bytes_) {
      longest = std::max(longest, bytes / topology_.links()[static_cast<std::size_t>(link)].bytes_per_second);
    }
    return longest > 0 ? latency_seconds_ + longest : 0;
  }

 private:
  const Topology& topology_;
  std::map<int, double> bytes_;
  double latency_seconds_ = 0;
};

// All replicas at once, up to the IPUs or down; a system without hosts moves nothing.
double transfer_seconds(const Compilation& compilation, const Image& image, bool up) {
  const Topology& topology = *compilation.topology;
  const Program& program = compilation.program;
  if (topology.host_count() == 0) return 0;
  Traffic traffic(topology);
  for (int replica = 0; replica < program.replicas; ++replica) {
    const int host = engine::host_of(program, topology.host_count(), engine::instance_of(program, replica));
    for (int local = 0; local < program.ipus_per_replica; ++local) {
      const int ipu = replica * program.ipus_per_replica + local;
      const double on_chip = image.ipu[static_cast<std::size_t>(local)];
      const double all = on_chip + image.memory[static_cast<std::size_t>(local)];
      if (!(all > 0)) continue;
      if (topology.memory_vertex_of(ipu) < 0) {
        const int from = up ? topology.host_vertex(host) : topology.ipu_vertex(ipu);
        const int to = up ? topology.ipu_vertex(ipu) : topology.host_vertex(host);
        traffic.add(topology.route(from, to), {}, all, 0);
      } else if (up) {
        traffic.add(topology.host_to_memory(host, ipu), topology.memory_to_ipu(ipu), all, on_chip);
      } else {
        traffic.add(topology.memory_to_host(ipu, host), topology.ipu_to_memory(ipu), all, on_chip);
      }
    }
  }
  return traffic.seconds();
}

// Code of the exchanges between tiles, which outlined operators share, over the IPUs of a replica.
double exchange_code_bytes(const Compilation& compilation) {
  double bytes = 0;
  for (const MemoryReport& ipu : compilation.memory) bytes += ipu.total_bytes(MemoryCategory::InternalExchangeCode);
  return bytes;
}

void add_executable(StartupSummary& summary, const Compilation& compilation, const ParameterSet& parameters,
                    bool cached) {
  summary.compile_seconds = summary.compile_seconds.value_or(0) + parameters.get("compile_seconds_base") +
                            parameters.get("compile_seconds_per_exchange_byte") * exchange_code_bytes(compilation);
  if (!cached) return;
  double bytes = 0;
  for (const double of_ipu : code_of(compilation).ipu) bytes += of_ipu;
  summary.store_seconds =
      summary.store_seconds.value_or(0) + bytes / parameters.get("executable_store_bytes_per_second");
  summary.load_seconds = summary.load_seconds.value_or(0) + bytes / parameters.get("executable_load_bytes_per_second");
}

}  // namespace

StartupSummary startup(const Scenario& scenario, const Compilation& compilation, const DataFolder& data) {
  StartupSummary summary;
  summary.weight_upload_seconds = transfer_seconds(compilation, variables_of(scenario, compilation), true);
  if (compilation.memory.empty()) return summary;
  summary.executable_upload_seconds = transfer_seconds(compilation, code_of(compilation), true);
  const ParameterSet parameters(data.load("software/frameworks"));
  const bool cached = !scenario.ipu_config.executable_cache_dir.empty();
  add_executable(summary, compilation, parameters, cached);
  if (scenario.host.switch_every > 0 || scenario.second_graph != nullptr) {
    add_executable(summary, scenario.second_graph != nullptr ? *compilation.second_graph : compilation, parameters,
                   cached);
  }
  return summary;
}

double switch_seconds(const Scenario& from, const Compilation& from_graph, const Scenario& to,
                      const Compilation& to_graph) {
  const double down = from.workload_request.training  // otherwise the host still has what it loaded
                          ? transfer_seconds(from_graph, variables_of(from, from_graph), false)
                          : 0;
  return down + transfer_seconds(to_graph, code_of(to_graph), true) +
         transfer_seconds(to_graph, variables_of(to, to_graph), true);
}

}  // namespace podsim
