// podsim validate: predicted against measured.
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/data_folder.hpp"
#include "simulator/app/process_pool.hpp"
#include "simulator/app/validation.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

struct ValidateArguments {
  std::string file;
  int jobs = 0;
  bool json = false;
  double limit = 0;
  int samples = 0;  // of each row's uncertainty; 0: not asked for
};

void validate(const ValidateArguments& arguments) {
  const std::filesystem::path file = arguments.file.empty() ? scenarios_folder() / "validation" / "measurements.csv"
                                                            : std::filesystem::path(arguments.file);
  const int jobs = arguments.jobs > 0 ? arguments.jobs : available_processors();
  std::vector<Prediction> predictions = predict(read_measurements(file), file.parent_path(), jobs);
  if (arguments.samples > 0) {
    add_intervals(predictions, file.parent_path(), static_cast<std::size_t>(arguments.samples), jobs);
  }
  std::cout << (arguments.json ? to_json(validation_value(predictions)) + "\n" : validation_text(predictions));
  const ErrorStatistics all = statistics(predictions).back();
  if (arguments.limit > 0 && 100 * all.median > arguments.limit) {
    throw UserError(file.string(), "the median error is above the limit of --fail-above", "see the rows");
  }
}

}  // namespace

void add_validate_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("validate", "Predicted against measured times of real systems");
  const auto arguments = std::make_shared<ValidateArguments>();
  command->add_option(
      "MEASUREMENTS", arguments->file,
      "CSV with columns id, family, scenario, weight_update_ms (default: the rows that ship with podsim)");
  command->add_option("--jobs", arguments->jobs, "Processes at a time (default: all cores)")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--json", arguments->json, "JSON on standard output");
  command->add_option("--fail-above", arguments->limit, "Fail when the median absolute error exceeds this many percent")
      ->check(CLI::PositiveNumber)
      ->type_name("PERCENT");
  (void)add_samples_option(*command, arguments->samples,
                           "Vary inferred parameters as in podsim run: an interval for each row, and how many measured "
                           "times lie inside; N samples a row, or 64 (minutes)");
  command->footer(
      "Examples:\n"
      "  podsim validate\n"
      "  podsim validate my_measurements.csv --json\n"
      "  podsim validate --uncertainty");
  command->callback([arguments] { validate(*arguments); });
}

}  // namespace podsim
