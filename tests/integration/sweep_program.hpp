// Runs the program itself in a folder of its own, as users do, for tests of sweeps.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/output/temporary_folder.hpp"

namespace podsim::testing {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Finished {
  int exit_code = 0;  // 128 + signal where one ended it
  std::string out, err;
};

class SweepProgram : public ::testing::Test {
 protected:
  SweepProgram() {
    std::ofstream(folder_.file("s.json")) << R"({"version": 1, "name": "uniform stages", "system": {"pod": "pod16"},
      "workload": {"model": "stage_times", "mode": "training", "stages": 4, "forward_seconds": 0.001,
                   "backward_seconds": 0.0025, "output_bytes": 0, "weight_bytes": 0},
      "ipu_config": {"gradient_accumulation_steps": 8}, "host": {"call_overhead_seconds": 0}})";
  }

  pid_t start(const std::vector<std::string>& arguments, const std::string& streams, const Environment& variables = {},
              const std::string& program = PODSIM_PROGRAM) {
    const pid_t child = fork();
    if (child != 0) return child;
    if (chdir(folder_.file("").c_str()) != 0) _exit(99);
    if (std::freopen((streams + ".out").c_str(), "w", stdout) == nullptr) _exit(99);
    if (std::freopen((streams + ".err").c_str(), "w", stderr) == nullptr) _exit(99);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words = {const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    execvp(program.c_str(), words.data());
    _exit(98);
  }

  Finished finish(pid_t child, const std::string& streams) {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            contents_of(folder_.file(streams + ".out")), contents_of(folder_.file(streams + ".err"))};
  }

  Finished podsim(const std::vector<std::string>& arguments) { return finish(start(arguments, "run"), "run"); }

  // Runs a sweep that must succeed and returns the bytes of its output.
  std::string sweep(std::vector<std::string> arguments, const std::string& output) {
    arguments.insert(arguments.begin(), {"sweep", "s.json"});
    arguments.insert(arguments.end(), {"-o", output});
    const Finished finished = podsim(arguments);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.file(output + ".partial")));
    return contents_of(folder_.file(output));
  }

  // All finished rows of a journal.
  std::vector<std::filesystem::path> row_files(const std::string& output) {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file(output + ".partial"), error)) {
      if (entry.path().filename().string().starts_with("rows-")) files.push_back(entry.path());
    }
    return files;
  }
  std::size_t finished_rows(const std::string& output) {
    std::size_t rows = 0;
    for (const auto& file : row_files(output)) {
      const std::string text = contents_of(file.string());
      rows += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }
    return rows;
  }
  void wait_for_rows(const std::string& output, std::size_t rows) {
    for (int i = 0; i < 3000 && finished_rows(output) < rows; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_GE(finished_rows(output), rows);
  }

  TemporaryFolder folder_;
};

}  // namespace podsim::testing
