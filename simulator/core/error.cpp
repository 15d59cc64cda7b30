// Composes the one text of a UserError from its three parts.
#include "simulator/core/error.hpp"

#include <utility>

namespace podsim {

namespace {

constexpr std::size_t kOneLine = 160;  // characters; a longer message puts its remedy on a line of its own

std::string compose(const std::string& where, const std::string& problem, const std::string& remedy) {
  std::string text = where;
  if (!where.empty()) text += where.back() == ':' ? " " : ": ";
  text += problem;
  if (remedy.empty()) return text;
  const bool one_line = text.size() + remedy.size() < kOneLine && remedy.find('\n') == std::string::npos;
  return text + (one_line ? " (" + remedy + ")" : "\n  " + remedy);
}

}  // namespace

UserError::UserError(std::string where, std::string what, std::string remedy)
    : std::runtime_error(compose(where, what, remedy)),
      where_(std::move(where)),
      problem_(std::move(what)),
      remedy_(std::move(remedy)) {}

}  // namespace podsim
