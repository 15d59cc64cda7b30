// The whole program in ten lines: compile, run, summarise.
#include "simulator/app/simulate.hpp"

#include "simulator/app/second_graph.hpp"
#include "simulator/app/startup.hpp"
#include "simulator/app/summary_memory.hpp"

namespace podsim {

Simulation simulate(const Scenario& scenario, const DataFolder& data, const RunSettings& settings) {
  return simulate(compile(scenario, data), scenario, data, settings);
}

Simulation simulate(Compilation compilation, const Scenario& scenario, const DataFolder& data,
                    const RunSettings& settings) {
  require_fit(compilation, scenario);
  run_second_graph(compilation, settings);
  Trace trace = run(*compilation.topology, compilation.program, settings);
  Summary summary = summarize(trace, compilation.program);
  complete(summary, scenario, compilation);
  summary.startup = startup(scenario, compilation, data);
  return {std::move(compilation), std::move(trace), std::move(summary)};
}

}  // namespace podsim
