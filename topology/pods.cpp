// Pods by name: what each consists of, and the names of kinds of vertices and links.
#include <algorithm>
#include <array>
#include <charconv>

#include "simulator/core/error.hpp"
#include "simulator/core/option.hpp"
#include "topology/pod_builder.hpp"

namespace podsim {

namespace {

constexpr std::array<int, 7> kSmallPods = {4, 8, 16, 32, 64, 128, 256};
constexpr int kLargestPod = 65536;  // 1,024 racks of a Pod64 (Graphcore's IPU-POD announcement, July 2020)

struct KnownPod {
  std::string system;  // data file
  int ipus = 0;        // 0: unknown name
};

KnownPod find_pod(const std::string& pod) {
  if (pod == "c2") return {"pods/mk1", 2};
  if (pod == "dss8440") return {"pods/mk1", 16};
  const bool bow = pod.starts_with("bow-pod");
  const std::string_view digits = std::string_view(pod).substr(std::min<std::size_t>(pod.size(), bow ? 7 : 3));
  int ipus = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), ipus);
  const bool number =
      !digits.empty() && digits.front() != '0' && read.ptr == digits.data() + digits.size() && read.ec == std::errc();
  if ((!bow && !pod.starts_with("pod")) || !number) return {};
  const bool small = std::find(kSmallPods.begin(), kSmallPods.end(), ipus) != kSmallPods.end();
  const bool large = ipus > 0 && ipus % kIpusPerDomain == 0 && ipus <= kLargestPod;
  return {bow ? "pods/bow" : "pods/mk2", small || large ? ipus : 0};
}

[[noreturn]] void unknown_pod(const std::string& pod, const std::string& where) {
  std::vector<std::string> known;
  for (const PodDescription& named : named_pods()) known.push_back(named.name);
  const std::string nearest = nearest_name(pod, known);
  throw UserError(where, "unknown pod \"" + pod + "\"",
                  (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") +
                      std::string("valid are podN and bow-podN with N = 4, 8, 16, 32 or a multiple of 64 up to 65536, "
                                  "c2 and dss8440"));
}

std::string describe_pod(int ipus) {
  const std::string machines = std::to_string(ipus / 4) + (ipus == 4 ? " IPU-Machine" : " IPU-Machines");
  if (ipus <= 16) return machines + ", direct attach";
  if (ipus <= kIpusPerDomain) return machines + (ipus < kIpusPerDomain ? ", half a rack" : ", one rack, 2D torus");
  return machines + ", " + std::to_string(ipus / kIpusPerDomain) + " IPU-Link domains joined by GW-Links" +
         (ipus > 2 * kIpusPerDomain ? " through switches" : "");
}

}  // namespace

std::string_view name_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::Ipu: return "ipu";
    case VertexKind::Gateway: return "gateway";
    case VertexKind::Memory: return "memory";
    case VertexKind::Nic: return "nic";
    case VertexKind::Switch: return "switch";
    case VertexKind::Host: return "host";
  }
  return "";
}

std::string_view name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::Rung: return "rung";
    case LinkKind::RungThrough: return "rung_through";
    case LinkKind::Rail: return "rail";
    case LinkKind::Pcie: return "pcie";
    case LinkKind::Ddr: return "ddr";
    case LinkKind::Ethernet: return "ethernet";
    case LinkKind::GwLink: return "gw_link";
    case LinkKind::Custom: return "custom";
  }
  return "";
}

std::vector<PodDescription> named_pods() {
  std::vector<PodDescription> pods = {{"c2", "a C2 card: 2 GC2 (Mk1) in a host"},
                                      {"dss8440", "a Dell DSS 8440 with 8 C2 cards: 16 GC2 (Mk1) in a host"}};
  for (const auto& [prefix, chip] : {std::pair<std::string, std::string>{"pod", "GC200 (Mk2)"}, {"bow-pod", "Bow"}}) {
    for (const int ipus : kSmallPods) {
      pods.push_back({prefix + std::to_string(ipus), std::to_string(ipus) + " " + chip + ": " + describe_pod(ipus)});
    }
  }
  return pods;
}

Topology build_topology(const PodRequest& request, const ParameterSource& source) {
  if (!request.custom.is_null()) return build_custom(request, source);
  const KnownPod pod = find_pod(request.pod);
  if (pod.ipus == 0) unknown_pod(request.pod, request.where);
  const bool cards = pod.system == "pods/mk1";
  const int domain = std::min(pod.ipus, kIpusPerDomain);
  const int hosts = checked_hosts(request.pod, request.hosts, pod.ipus / domain, cards, request.where);
  ParameterSet parameters(source.load(pod.system));
  parameters.override_with(request.overrides);
  return build_ladder({request.pod, pod.ipus, domain, hosts, {}}, std::move(parameters), request.where);
}

}  // namespace podsim
