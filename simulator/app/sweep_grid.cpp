// Mixed-radix numbers: one digit for each axis.
#include "simulator/app/sweep_grid.hpp"

#include <charconv>

#include "simulator/config/set_path.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"

namespace podsim {

namespace {

constexpr std::size_t kMostPoints = 10'000'000;  // weeks of work: a typing error

}  // namespace

SweepGrid::SweepGrid(std::vector<SweepAxis> axes) : axes_(std::move(axes)) {
  for (const SweepAxis& axis : axes_) {
    points_ *= axis.rows.size();
    if (points_ > kMostPoints) {
      throw UserError(axis.where, "the sweep has more than " + format_count(kMostPoints) + " points",
                      "vary less, or split it into several sweeps");
    }
  }
}

std::vector<std::size_t> SweepGrid::positions(std::size_t point) const {
  std::vector<std::size_t> digits(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    digits[i] = point % axes_[i].rows.size();
    point /= axes_[i].rows.size();
  }
  return digits;
}

std::size_t SweepGrid::representative(std::size_t point) const {
  const std::vector<std::size_t> digits = positions(point);
  std::size_t number = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) number = number * axes_[i].rows.size() + axes_[i].first[digits[i]];
  return number;
}

std::vector<Override> SweepGrid::overrides(std::size_t point) const {
  const std::vector<std::size_t> digits = positions(point);
  std::vector<Override> result;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    for (std::size_t k = 0; k < axes_[i].keys.size(); ++k) {
      result.emplace_back(axes_[i].keys[k], axes_[i].rows[digits[i]][k]);
    }
  }
  return result;
}

std::vector<std::string> SweepGrid::keys() const {
  std::vector<std::string> names;
  for (const SweepAxis& axis : axes_) names.insert(names.end(), axis.keys.begin(), axis.keys.end());
  return names;
}

std::vector<Value> SweepGrid::values(std::size_t point) const {
  std::vector<Value> result;
  for (const auto& [key, text] : overrides(point)) result.push_back(parse_value(text, key));
  return result;
}

SweepShard parse_shard(const std::string& text) {
  SweepShard shard;
  const std::size_t slash = text.find('/');
  const auto read = [&](std::size_t begin, std::size_t end, std::size_t& number) {
    const auto parsed = std::from_chars(text.data() + begin, text.data() + end, number);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + end;
  };
  if (slash == std::string::npos || !read(0, slash, shard.index) || !read(slash + 1, text.size(), shard.count) ||
      shard.count == 0 || shard.index > shard.count) {
    throw UserError("--shard " + text, "is not of the form K/N with K up to N",
                    "for example --shard 3/16; number the shards 0 to N-1, or 1 to N");
  }
  shard.index %= shard.count;
  return shard;
}

}  // namespace podsim
