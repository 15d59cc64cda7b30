// The message of the UserError that a call throws, to compare with what users must read.
#pragma once

#include <string>

#include "simulator/core/error.hpp"

namespace podsim {

template <typename Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

}  // namespace podsim
