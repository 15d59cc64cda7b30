// Progressive filling over the links that the flows use, renumbered densely.
#include "simulator/engine/fluid.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace podsim::engine {
namespace {

// Rates and remaining bytes closer than this (relative) are equal: they are sums in different order.
constexpr double kEqual = 1e-13;

class Filling {
 public:
  Filling(const Topology& topology, std::span<const FlowRequest> flows) : flows_(flows.size()) {
    std::unordered_map<int, std::size_t> numbers;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      flows_[i].bytes = flows[i].bytes;
      for (const int link : flows[i].route->links) {
        const auto [number, added] = numbers.emplace(link, links_.size());
        if (added) links_.push_back({topology.links()[static_cast<std::size_t>(link)].bytes_per_second});
        flows_[i].links.push_back(number->second);
      }
    }
  }

  std::vector<double> run() {
    std::vector<double> ends(flows_.size(), 0);
    double now = 0;
    for (std::size_t left = flows_.size(); left > 0;) {
      set_rates();
      double step = std::numeric_limits<double>::infinity();
      for (const Flow& flow : flows_) {
        if (!flow.ended) step = std::min(step, flow.bytes / flow.rate);
      }
      now += step;
      for (std::size_t i = 0; i < flows_.size(); ++i) {
        Flow& flow = flows_[i];
        if (flow.ended) continue;
        flow.ended = flow.bytes / flow.rate <= step * (1 + kEqual);
        flow.bytes -= flow.rate * step;
        if (flow.ended) {
          ends[i] = now;
          --left;
        }
      }
    }
    return ends;
  }

 private:
  struct Flow {
    double bytes = 0;
    double rate = 0;  // 0: not yet set
    bool ended = false;
    std::vector<std::size_t> links;
  };
  struct Link {
    double bytes_per_second = 0;
    double free = 0;       // what is left for flows without a rate …
    std::size_t open = 0;  // … and how many those are
  };

  void set_rates() {
    for (Link& link : links_) {
      link.free = link.bytes_per_second;
      link.open = 0;
    }
    std::size_t open = 0;
    for (Flow& flow : flows_) {
      flow.rate = 0;
      if (flow.ended) continue;
      ++open;
      for (const std::size_t link : flow.links) ++links_[link].open;
    }
    while (open > 0) open -= fill(smallest_share());
  }

  [[nodiscard]] double smallest_share() const {
    double share = std::numeric_limits<double>::infinity();
    for (const Link& link : links_) {
      if (link.open > 0) share = std::min(share, link.free / static_cast<double>(link.open));
    }
    return share;
  }

  // Gives `share` to the open flows of the links that are full with it; their number.
  std::size_t fill(double share) {
    full_.clear();
    for (const Link& link : links_) {
      full_.push_back(link.open > 0 && link.free / static_cast<double>(link.open) <= share * (1 + kEqual));
    }
    std::size_t filled = 0;
    for (Flow& flow : flows_) {
      if (flow.ended || flow.rate > 0) continue;
      if (std::none_of(flow.links.begin(), flow.links.end(), [this](std::size_t link) { return full_[link]; }))
        continue;
      flow.rate = share;
      ++filled;
      for (const std::size_t link : flow.links) {
        links_[link].free -= share;
        --links_[link].open;
      }
    }
    return filled;
  }

  std::vector<Flow> flows_;
  std::vector<Link> links_;
  std::vector<bool> full_;
};

}  // namespace

std::vector<double> flow_end_seconds(const Topology& topology, std::span<const FlowRequest> flows) {
  return Filling(topology, flows).run();
}

}  // namespace podsim::engine
