// A small trace file's content: the pipeline of tests/unit/trace with tiles, memory and a scenario.
#pragma once

#include <cmath>

#include "simulator/output/trace_file.hpp"
#include "tests/unit/trace/sample_trace.hpp"

namespace podsim::testing {

inline Pipeline sample_pipeline() {
  Pipeline pipeline;
  pipeline.replicas = 2;
  pipeline.micro_batches = 12;
  pipeline.updates = 2;
  pipeline.forward = {1e-3, 1.2e-3, 1e-3, 0.9e-3};
  pipeline.backward = {2e-3, 2.4e-3, 2e-3, 1.8e-3};
  pipeline.recompute = 0.8e-3;
  pipeline.exchange = 0.2e-3;
  pipeline.all_reduce = 3e-3;
  pipeline.update = 2e-3;
  pipeline.host_call = 4e-3;
  pipeline.host_stall = 0.3e-3;
  return pipeline;
}

inline TileTable sample_tiles(int tiles = 1472) {
  TileTable table;
  table.tiles = tiles;
  table.clock_hertz = 1.85e9;
  for (int superstep = 0; superstep < 6; ++superstep) {
    const std::string phase = superstep % 2 == 0 ? "matmul/compute" : "matmul/reduce";
    const std::string layer = "layer " + std::to_string(superstep / 2);
    if (superstep % 2 == 0) table.operators.push_back(layer);
    table.passes.push_back(superstep < 3 ? TilePass::Forward : TilePass::BackwardInput);
    table.names.push_back(std::string(kTilePassNames[static_cast<std::size_t>(table.passes.back())]) + "/" + layer +
                          "/" + phase);
    table.phases.push_back(phase);
    table.activities.push_back(TileActivity::ComputeAndExchange);
    table.sync_cycles.push_back(100);
    table.exchange_cycles.push_back(500);
    for (int tile = 0; tile < tiles; ++tile) {
      const bool used = tile < tiles - 100 * superstep;
      table.compute_cycles.push_back(used ? static_cast<float>(10000 - 900 * superstep) : 0.F);
      table.bytes_in.push_back(used ? 4096.F : 0.F);
      table.bytes_out.push_back(used ? 2048.F : 0.F);
    }
  }
  for (int ipu = 0; ipu < 4; ++ipu) {
    for (int superstep = 0; superstep < 6; ++superstep) {
      table.use_ipu.push_back(ipu);
      table.use_stage.push_back(ipu);
      table.use_state.push_back(superstep < 3 ? State::Forward : State::Backward);
      table.use_superstep.push_back((superstep + ipu) % 6);
      table.use_count.push_back(1 + superstep);
      table.use_operator.push_back((superstep + ipu) % 6 / 2);
    }
  }
  return table;
}

inline MemoryTable sample_memory(int tiles = 1472) {
  MemoryTable table;
  table.ipus = 4;
  table.tiles = tiles;
  table.categories = {"weights", "activation_stashes", "vertex_code", "activations", "matmul_temporaries"};
  table.always_live = {1, 1, 1, 0, 0};
  for (int ipu = 0; ipu < table.ipus; ++ipu) {
    for (std::size_t category = 0; category < table.categories.size(); ++category) {
      for (int tile = 0; tile < tiles; ++tile) {
        const double base = 40000.0 * static_cast<double>(1 + (category + static_cast<std::size_t>(ipu)) % 4);
        table.bytes.push_back(tile < 1400 ? base + 8.0 * (tile % 7) : base / 2);
      }
    }
    table.limit_bytes.push_back(638976);
    table.peak_tile_bytes.push_back(500000.0 + 10000 * ipu);
    table.always_live_bytes.push_back(300000);
    table.peak_tile.push_back(6);
    for (int step = 0; step < 40; ++step) {
      table.step_ipu.push_back(ipu);
      table.step_names.push_back((step < 20 ? "forward/layer " : "backward/layer ") + std::to_string(step % 20));
      table.step_bytes.push_back(1000.0 * (step < 20 ? step : 40 - step) + 5000.0 * (step % 3));
      table.step_total_bytes.push_back(1400 * table.step_bytes.back());
    }
  }
  return table;
}

inline ScenarioRecord sample_scenario() {
  return {"{ \"version\": 1, // as given\n}",
          "{\"version\": 1}",
          "IPU 0: Run F",
          {{"podsim", "0.1.0"}, {"SimGrid", "3.32"}},
          {{"network/model", "CM02"}, {"surf/precision", "1e-12"}}};
}

// Two parameters, 21 samples, the last of which does not run: throughput falls with the first one.
inline Uncertainty sample_uncertainty() {
  Uncertainty uncertainty;
  uncertainty.seed = 9;
  uncertainty.parameters = {{"chips/bow", "operator_control_cycles", "cycle", 2800, 500, 4700},
                            {"pods/bow", "nic_efficiency", "1", 0.88, 0.8, 0.95}};
  std::vector<double> throughput, memory;
  for (int sample = 0; sample < 21; ++sample) {
    uncertainty.values.insert(uncertainty.values.end(), {500.0 + 200 * sample, 0.8 + 0.005 * (sample * 8 % 21)});
    uncertainty.errors.emplace_back(sample < 20 ? "" : "IPU 1 is out of memory");
    throughput.push_back(sample < 20 ? 1000 - 10.0 * sample : std::nan(""));
    memory.push_back(500000 + 1000.0 * sample);
  }
  uncertainty.figures = {evaluate_figure("throughput_samples_per_second", "1/s", throughput, uncertainty.values),
                         evaluate_figure("state_share_forward", "1", std::vector<double>(21, 0.25), uncertainty.values),
                         evaluate_figure("peak_tile_bytes", "B", memory, uncertainty.values)};
  return uncertainty;
}

// Everything that a trace file holds, owned.
struct SampleContent {
  Trace trace;
  Summary summary;
  ScenarioRecord scenario = sample_scenario();
  TileTable tiles = sample_tiles();
  MemoryTable memory = sample_memory();

  explicit SampleContent(const Pipeline& pipeline = sample_pipeline()) : trace(record(pipeline)) {
    trace.links = {{"ipu0->ipu1", "ipu-link", 4e6, 64e9}, {"nic0->gw0", "nic", 9e6, 12.5e9}};
    trace.queues = {{0, 0, 0.001, 1}, {0, 0, 0.002, 2}, {0, 0, 0.004, 1}};
    trace.streams = {"images"};
    summary = summarize(trace, program_of(pipeline));
    summary.name = "sample";
    summary.version = "0.1.0";
    for (IpuSummary& ipu : summary.ipus) {
      ipu.memory = {510000, 300000, 638976, 6, {{"weights", 1e8}, {"activations", 2e8}}};
    }
  }
  [[nodiscard]] TraceContent content() const { return {trace, summary, scenario, &tiles, &memory}; }
};

}  // namespace podsim::testing
