// Chooses GCL's method for a collective, plans its phases, and computes the time of plans that run alone.
#include "topology/collectives.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "simulator/core/error.hpp"
#include "simulator/core/option.hpp"
#include "topology/collective_steps.hpp"

namespace podsim {

namespace {

// Bytes below which meeting in the middle beats the bidirectional ring pair (PopLibs
// lib/popops/ReplicatedCollectives.cpp, pickReduceScatterMethod and pickAllGatherMethod). A reduce-scatter counts the
// tensor on each IPU, an all-gather the fragment on each IPU before it.
struct Thresholds {
  double any, above_4_ranks, above_8_ranks;
};
constexpr Thresholds kReduceScatterBytes = {1245184, 4980736, 39845888};
constexpr Thresholds kAllGatherBytes = {622592, 2490368, 19922944};
constexpr std::size_t kAlwaysAboveRanks = 16;
constexpr double kSerpentBytes = 196608;  // of a fragment, the same place

enum class Phase : std::uint8_t { ReduceScatter, AllGather };

using Steps = std::vector<CollectiveSteps>;
using Group = std::vector<int>;

template <typename Kind>
Kind named(const std::string& name, const std::vector<std::string>& known, const char* what) {
  const auto found = std::find(known.begin(), known.end(), name);
  if (found != known.end()) return static_cast<Kind>(found - known.begin());
  std::string valid = "auto";
  for (const std::string& candidate : known) valid += ", " + candidate;
  const std::string nearest = nearest_name(name, known);
  throw UserError("", std::string("unknown ") + what + " \"" + name + "\"",
                  (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") + ("valid are " + valid));
}

bool automatic(const std::string& name) { return name.empty() || name == "auto"; }

class Planner {
 public:
  Planner(const Topology& topology, const CollectiveRequest& request)
      : topology_(topology),
        request_(request),
        chosen_(automatic(request.algorithm)
                    ? -1
                    : static_cast<int>(
                          named<CollectiveMethod>(request.algorithm, collective_algorithms(), "collective algorithm"))),
        order_(choose_order()) {}

  CollectivePlan plan() {
    CollectivePlan result;
    if (request_.ranks.size() > 1 && request_.bytes > 0) {
      const std::vector<Group> domains = groups_by_domain();
      const bool alike = std::all_of(domains.begin(), domains.end(),
                                     [&](const Group& group) { return group.size() == domains.front().size(); });
      const bool everyone = request_.kind != CollectiveKind::HaloExchange;
      if (everyone && domains.size() > 1 && domains.front().size() > 1 && alike) {
        result.steps = three_phases(domains);
      } else {
        result.steps = on_ranks(request_.kind, request_.ranks, request_.bytes);
      }
      for (CollectiveSteps& steps : result.steps) steps.added_seconds = latency_between_domains(steps);
    }
    result.algorithm = name_;
    return result;
  }

 private:
  [[nodiscard]] bool torus() const { return topology_.ends() == LadderEnds::Torus; }

  [[nodiscard]] RingOrder choose_order() const {
    if (!automatic(request_.ring_order)) {
      const auto order = named<RingOrder>(request_.ring_order, ring_orders(), "ring order");
      if (order == RingOrder::Serpent && (!torus() || request_.ipus_per_replica > 1)) {
        throw UserError("", "the ring order \"serpent\" needs a torus and one IPU per replica",
                        "use \"interleaved\" or \"flat\"");
      }
      return order;
    }
    if (!topology_.is_ladder() || (torus() && request_.ipus_per_replica > 1)) return RingOrder::Flat;
    return RingOrder::Interleaved;
  }

  // GCL's automatic choice, as of PopLibs lib/popops/ReplicatedCollectives.cpp.
  [[nodiscard]] CollectiveMethod choose_method(Phase phase, std::size_t ranks, double bytes) const {
    if (chosen_ >= 0) return static_cast<CollectiveMethod>(chosen_);
    const double fragment = bytes / static_cast<double>(ranks);
    if (order_ == RingOrder::Serpent && ranks > 2) {
      return fragment < kSerpentBytes ? CollectiveMethod::MeetInMiddleRing : CollectiveMethod::QuadDirectionalRing;
    }
    if (torus() && request_.ipus_per_replica > 1) return CollectiveMethod::MeetInMiddleRing;
    if (request_.ipus_per_replica > 1 || ranks <= 2) return CollectiveMethod::ClockwiseRing;
    const Thresholds& limits = phase == Phase::ReduceScatter ? kReduceScatterBytes : kAllGatherBytes;
    const double counted = phase == Phase::ReduceScatter ? bytes : fragment;
    const bool meet = counted < limits.any || (ranks > 4 && counted < limits.above_4_ranks) ||
                      (ranks > 8 && counted < limits.above_8_ranks) || ranks > kAlwaysAboveRanks;
    return meet ? CollectiveMethod::MeetInMiddleRing : CollectiveMethod::BidirectionalRingPair;
  }

  // Adds a phase and notes its method in the name of the plan.
  void add_phase(Phase phase, const Group& ranks, double bytes, Steps& steps) {
    const CollectiveMethod method = choose_method(phase, ranks.size(), bytes);
    note(name_of(method));
    append_phase(method, order_, ranks, bytes, steps);
  }

  void note(std::string_view method) {
    if (std::find(noted_.begin(), noted_.end(), method) != noted_.end()) return;
    noted_.emplace_back(method);
    name_ += (name_.empty() ? "" : "+") + std::string(method);
  }

  // A collective without regard to domains.
  [[nodiscard]] Steps on_ranks(CollectiveKind kind, const Group& ranks, double bytes) {
    Steps steps;
    switch (kind) {
      case CollectiveKind::ReduceScatter: add_phase(Phase::ReduceScatter, ranks, bytes, steps); break;
      case CollectiveKind::AllGather: add_phase(Phase::AllGather, ranks, bytes, steps); break;
      case CollectiveKind::AllReduce:
        if (chosen_ == static_cast<int>(CollectiveMethod::Broadcast)) {
          note(name_of(CollectiveMethod::Broadcast));
          append_exchange_all(ranks, bytes, steps);
        } else {
          add_phase(Phase::ReduceScatter, ranks, bytes, steps);
          add_phase(Phase::AllGather, ranks, bytes, steps);
        }
        break;
      case CollectiveKind::Broadcast: return broadcast(ranks, bytes);
      case CollectiveKind::HaloExchange:
        note("neighbours");
        append_halo(ranks, bytes / 2, steps);
        break;
    }
    return steps;
  }

  // The whole tensor from the first rank to each other one, or a fragment to each and an all-gather: whichever is
  // faster when alone, as GCL documents no rule.
  [[nodiscard]] Steps broadcast(const Group& ranks, double bytes) {
    CollectivePlan direct, gathered;
    append_fan_out(ranks, bytes, direct.steps);
    append_fan_out(ranks, bytes / static_cast<double>(ranks.size()), gathered.steps);
    const CollectiveMethod method = choose_method(Phase::AllGather, ranks.size(), bytes);
    append_phase(method, order_, ranks, bytes, gathered.steps);
    bool in_one = chosen_ == static_cast<int>(CollectiveMethod::Broadcast);
    if (chosen_ < 0) {
      const double fixed = topology_.parameters().get("collective_step_fixed_seconds");
      in_one = uncontended_seconds(topology_, {&direct}, fixed) <= uncontended_seconds(topology_, {&gathered}, fixed);
    }
    note(name_of(in_one ? CollectiveMethod::Broadcast : method));
    return in_one ? direct.steps : gathered.steps;
  }

  [[nodiscard]] std::vector<Group> groups_by_domain() const {
    std::map<int, std::size_t> place;
    std::vector<Group> groups;
    for (const int rank : request_.ranks) {
      const auto [found, added] = place.emplace(topology_.domain_of(rank), groups.size());
      if (added) groups.emplace_back();
      groups[found->second].push_back(rank);
    }
    return groups;
  }

  // Inside the domains, then between equal positions of them over the GW-Links, then inside again (GCL, release notes
  // of Poplar SDK 3.0: three-phase collectives).
  [[nodiscard]] Steps three_phases(const std::vector<Group>& domains) {
    const auto positions = domains.front().size();
    const double shard = request_.bytes / static_cast<double>(positions);
    std::vector<Group> across(positions);
    for (const Group& domain : domains) {
      for (std::size_t position = 0; position < positions; ++position) across[position].push_back(domain[position]);
    }
    const CollectiveKind kind = request_.kind;
    Steps steps;
    if (kind == CollectiveKind::Broadcast) {
      append_fan_out(domains.front(), shard, steps);
      append_together(across, steps, [&](const Group& group, Steps& own) { append_fan_out(group, shard, own); });
    }
    if (kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter) {
      append_together(domains, steps, [&](const Group& group, Steps& own) {
        add_phase(Phase::ReduceScatter, group, request_.bytes, own);
      });
      append_across(across, shard, steps);
    }
    if (kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather) append_across(across, shard, steps);
    if (kind != CollectiveKind::ReduceScatter) {
      append_together(domains, steps,
                      [&](const Group& group, Steps& own) { add_phase(Phase::AllGather, group, request_.bytes, own); });
    }
    name_ = "three_phase(" + name_ + ")";
    return steps;
  }

  // A ring over the domains, one reduce-scatter or all-gather round it.
  void append_across(const std::vector<Group>& across, double bytes, Steps& steps) const {
    append_together(across, steps, [&](const Group& group, Steps& own) {
      podsim::append_phase(CollectiveMethod::ClockwiseRing, RingOrder::Flat, group, bytes, own);
    });
  }

  // The same phase of all groups side by side; groups are of equal size, so their steps match.
  template <typename AddPhase>
  static void append_together(const std::vector<Group>& groups, Steps& steps, AddPhase add) {
    Steps together;
    for (const Group& group : groups) {
      Steps own;
      add(group, own);
      if (together.empty()) together.resize(own.size());
      for (std::size_t i = 0; i < own.size(); ++i) {
        together[i].repeat = own[i].repeat;
        together[i].flows.insert(together[i].flows.end(), own[i].flows.begin(), own[i].flows.end());
      }
    }
    for (CollectiveSteps& part : together) append_steps(std::move(part), steps);
  }

  [[nodiscard]] double latency_between_domains(const CollectiveSteps& steps) const {
    double latency = 0;
    for (const Flow& flow : steps.flows) {
      if (topology_.domain_of(flow.from_ipu) == topology_.domain_of(flow.to_ipu)) continue;
      const Route& route = topology_.route(topology_.ipu_vertex(flow.from_ipu), topology_.ipu_vertex(flow.to_ipu));
      latency = std::max(latency, route.latency_seconds);
    }
    return latency;
  }

  const Topology& topology_;
  const CollectiveRequest& request_;
  int chosen_;  // CollectiveMethod, or -1: automatic
  RingOrder order_;
  std::string name_;
  std::vector<std::string> noted_;
};

// A plan with the step it has reached.
struct Progress {
  const std::vector<CollectiveSteps>* steps;
  std::size_t at = 0;
  std::int64_t done = 0;

  [[nodiscard]] bool finished() const { return at == steps->size(); }
  [[nodiscard]] const CollectiveSteps& now() const { return (*steps)[at]; }
};

// Bytes on each link while steps run side by side; time of the slowest link.
class LinkLoad {
 public:
  explicit LinkLoad(const Topology& topology) : topology_(topology), bytes_(topology.links().size(), 0) {}

  void add(const CollectiveSteps& steps) {
    for (const Flow& flow : steps.flows) {
      const Route& route = topology_.route(topology_.ipu_vertex(flow.from_ipu), topology_.ipu_vertex(flow.to_ipu));
      for (const int link : route.links) {
        double& bytes = bytes_[static_cast<std::size_t>(link)];
        if (bytes == 0) touched_.push_back(link);
        bytes += flow.bytes;
      }
    }
  }

  // Also forgets the load.
  double take_seconds() {
    double slowest = 0;
    for (const int link : touched_) {
      double& bytes = bytes_[static_cast<std::size_t>(link)];
      slowest = std::max(slowest, bytes / topology_.links()[static_cast<std::size_t>(link)].bytes_per_second);
      bytes = 0;
    }
    touched_.clear();
    return slowest;
  }

 private:
  const Topology& topology_;
  std::vector<double> bytes_;
  std::vector<int> touched_;
};

}  // namespace

const std::vector<std::string>& collective_algorithms() {
  static const std::vector<std::string> names = {"clockwise_ring",          "anticlockwise_ring",
                                                 "bidirectional_ring_pair", "meet_in_middle_ring",
                                                 "quad_directional_ring",   "broadcast"};
  return names;
}

const std::vector<std::string>& ring_orders() {
  static const std::vector<std::string> names = {"interleaved", "flat", "serpent"};
  return names;
}

CollectivePlan plan_collective(const Topology& topology, const CollectiveRequest& request) {
  const std::set<int> different(request.ranks.begin(), request.ranks.end());
  if (different.empty() || different.size() != request.ranks.size()) {
    throw InternalError("a collective needs ranks that differ from each other");
  }
  if (!std::isfinite(request.bytes) || request.bytes < 0) throw InternalError("a collective of invalid size");
  return Planner(topology, request).plan();
}

double uncontended_seconds(const Topology& topology, const std::vector<const CollectivePlan*>& plans,
                           double fixed_seconds_per_step) {
  std::vector<Progress> running;
  for (const CollectivePlan* plan : plans) {
    if (!plan->steps.empty()) running.push_back({&plan->steps});
  }
  LinkLoad load(topology);
  double seconds = 0;
  while (!running.empty()) {
    std::int64_t repeat = running.front().now().repeat - running.front().done;
    double added = 0;
    for (const Progress& plan : running) {
      repeat = std::min(repeat, plan.now().repeat - plan.done);
      added = std::max(added, plan.now().added_seconds);
      load.add(plan.now());
    }
    seconds += static_cast<double>(repeat) * (fixed_seconds_per_step + added + load.take_seconds());
    for (Progress& plan : running) {
      plan.done += repeat;
      if (plan.done < plan.now().repeat) continue;
      plan.done = 0;
      ++plan.at;
    }
    std::erase_if(running, [](const Progress& plan) { return plan.finished(); });
  }
  return seconds;
}

}  // namespace podsim
