// A schedule from outside: the template is built as its README says, loaded, and held to the same contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "schedules/registry.hpp"
#include "tests/support/message.hpp"
#include "tests/unit/schedules/models.hpp"
#include "tests/unit/schedules/slot_time.hpp"

namespace podsim {
namespace {

using testing::HasSubstr;

class Plugin : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("podsim_plugin_" + std::to_string(getpid()));
};

TEST_F(Plugin, TheTemplateBuildsLoadsAndPassesCheck) {
  const std::string build = "cmake -S " PODSIM_SOURCE_DIR "/schedules/template -B " + folder_.string() +
                            " -DPODSIM_SOURCE_DIR=" PODSIM_SOURCE_DIR " > " + (folder_ / "log").string() +
                            " && cmake --build " + folder_.string() + " >> " + (folder_ / "log").string();
  ASSERT_EQ(std::system(build.c_str()), 0);
  const std::string file = (folder_ / "fill_drain.so").string();
  load_schedule_plugin(file);
  EXPECT_EQ(find_schedule("fill_drain", "test").options().front().name, "pause_slots");

  // All forward passes, then all backward passes: 2 (M + N - 1) slots, (M + N - 1) (f + b).
  const Program program = emit("fill_drain", chain(3), training(10));
  check(program);
  EXPECT_EQ(program.slots_per_update, 2 * (10 + 3 - 1));
  EXPECT_DOUBLE_EQ(slot_time(program, uniform(3, 7)), (10 + 3 - 1) * (3 + 7));
  EXPECT_EQ(live_micro_batches(program), (std::vector<std::int64_t>{10, 10, 10}));
  const Program paused = emit("fill_drain", chain(3), training(10), {{"pause_slots", 5}});
  check(paused);
  EXPECT_EQ(paused.slots_per_update, 2 * (10 + 3 - 1) + 5);

  EXPECT_THAT(message_of([&] { load_schedule_plugin(file); }), HasSubstr("there is a schedule \"fill_drain\" already"));
}

TEST_F(Plugin, MissingFile) {
  EXPECT_THAT(message_of([] { load_schedule_plugin("/no/such/file.so"); }), HasSubstr("is not a file"));
}

TEST_F(Plugin, NoSharedObject) {
  const std::string file = (folder_ / "text.so").string();
  std::ofstream(file) << "no shared object";
  EXPECT_THAT(message_of([&] { load_schedule_plugin(file); }), HasSubstr("cannot be loaded"));
}

TEST_F(Plugin, NoEntryFunction) {
  const std::string source = (folder_ / "empty.cpp").string(), file = (folder_ / "empty.so").string();
  std::ofstream(source) << "int nothing;";
  ASSERT_EQ(std::system(("c++ -shared -fPIC -o " + file + " " + source).c_str()), 0);
  EXPECT_THAT(message_of([&] { load_schedule_plugin(file); }), HasSubstr("no function podsim_schedule()"));
}

}  // namespace
}  // namespace podsim
