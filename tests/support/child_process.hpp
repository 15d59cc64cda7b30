// Runs a function in a child process: one simulation engine per process, so each simulated test has its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace podsim::testing {

struct ChildResult {
  std::vector<double> numbers;
  std::string error;  // what() of an exception, or how the process died; empty on success
};

// The numbers that `work` returns in the child. Exceptions and signals end up in `error`.
inline ChildResult in_child(const std::function<std::vector<double>()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return {{}, "no pipe"};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    FILE* out = fdopen(ends[1], "w");
    int code = 0;
    try {
      for (const double number : work()) std::fprintf(out, "%a\n", number);
    } catch (const std::exception& error) {
      std::fprintf(out, "!%s", error.what());
      code = 1;
    }
    std::fclose(out);
    _exit(code);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, got);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ChildResult result;
  const auto mark = text.find('!');
  if (mark != std::string::npos) {
    result.error = text.substr(mark + 1);
  } else if (!WIFEXITED(status)) {
    result.error = "killed by signal " + std::to_string(WTERMSIG(status));
  }
  for (std::size_t at = 0; at < std::min(mark, text.size());) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos) break;
    result.numbers.push_back(std::stod(text.substr(at, end - at)));
    at = end + 1;
  }
  return result;
}

// The numbers, or a test failure with the error.
inline std::vector<double> numbers_in_child(const std::function<std::vector<double>()>& work) {
  const ChildResult result = in_child(work);
  EXPECT_EQ(result.error, "");
  return result.numbers;
}

}  // namespace podsim::testing
