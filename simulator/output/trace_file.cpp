// Writes all groups into memory, then the bytes to disk at once.
#include "simulator/output/trace_file.hpp"

#include "simulator/core/error.hpp"
#include "simulator/output/atomic_file.hpp"
#include "simulator/output/trace_groups.hpp"

namespace podsim {
namespace {

constexpr std::int64_t kSchemaVersion = 1;

}  // namespace

std::vector<char> trace_image(const TraceContent& content) {
  try {
    const Hdf5Builder file;
    write_summary(file, content);
    write_scenario(file, content.scenario);
    write_intervals(file, content.trace);
    write_repeats(file, content.trace);
    write_utilization(file, content.trace, content.time_bins);
    write_bubbles(file, content.trace);
    write_host(file, content.trace);
    write_links(file, content);
    write_tiles(file, content.tiles);
    write_memory(file, content.memory);
    write_uncertainty(file, content.summary.uncertainty);
    file.attribute("format", "podsim trace");
    file.attribute("schema_version", kSchemaVersion);
    return file.image();
  } catch (const Hdf5Error& error) {
    throw InternalError(std::string("trace file: ") + error.what());
  }
}

void write_trace(const std::string& path, const TraceContent& content) {
  AtomicFile file(path);
  const std::vector<char> image = trace_image(content);
  file.write({image.data(), image.size()});
  file.commit();
}

}  // namespace podsim
