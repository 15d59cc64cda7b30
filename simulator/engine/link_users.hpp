// Who may use a link, known before the run. What is alone on its links for certain is computed, not simulated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "topology/topology.hpp"

namespace podsim::engine {

struct LinkUser {
  enum class Kind : std::uint8_t {
    Exchange,    // of replica `number`
    Collective,  // of group `number`
    Memory,      // host streams and streaming memory, at any time
  };
  Kind kind = Kind::Memory;
  int number = 0;

  friend bool operator==(const LinkUser&, const LinkUser&) = default;
};

class LinkUsers {
 public:
  explicit LinkUsers(const Topology& topology) : users_(topology.links().size()) {}

  void add(const Route& route, LinkUser user) {
    for (const int link : route.links) {
      std::vector<LinkUser>& users = users_[static_cast<std::size_t>(link)];
      if (users.empty() || !(users.back() == user)) users.push_back(user);
    }
  }

  // Whether every user of every link of the route satisfies `harmless`.
  template <typename Harmless>
  [[nodiscard]] bool all_users(const Route& route, const Harmless& harmless) const {
    return std::all_of(route.links.begin(), route.links.end(), [&](int link) {
      const std::vector<LinkUser>& users = users_[static_cast<std::size_t>(link)];
      return std::all_of(users.begin(), users.end(), harmless);
    });
  }

 private:
  std::vector<std::vector<LinkUser>> users_;  // by link
};

}  // namespace podsim::engine
