// The two kinds of error: UserError (the input is wrong; says where, what, and how to mend it) and
// InternalError (our own bug). Library code throws; only main() prints and picks the exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace podsim {

// Exit code 1. `where` is "file:/json/pointer", a command-line option, or empty.
class UserError : public std::runtime_error {
 public:
  UserError(std::string where, std::string what, std::string remedy = {});

  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const std::string& remedy() const noexcept { return remedy_; }

 private:
  std::string where_;
  std::string problem_;
  std::string remedy_;
};

// Exit code 2.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace podsim
