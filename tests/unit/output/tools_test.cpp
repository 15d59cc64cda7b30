// The files of this module in the hands of their readers: h5py, pandas, xarray, and the plots of tools/.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "simulator/output/export.hpp"
#include "tests/unit/output/sample_content.hpp"
#include "tests/unit/output/temporary_folder.hpp"

namespace podsim {
namespace {

using testing::contents_of;
using ::testing::HasSubstr;
using testing::leave_out;
using ::testing::Not;
using testing::Pipeline;
using testing::SampleContent;
using testing::TemporaryFolder;

struct Outcome {
  int exit_code = -1;
  std::string output;  // standard output and standard error
};

Outcome python(const std::string& arguments) {
  Outcome outcome;
  FILE* pipe = ::popen(("/usr/bin/python3 -B " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) outcome.output += buffer.data();
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

const std::string kTools = PODSIM_SOURCE_DIR "/tools";
const std::string kHere = PODSIM_SOURCE_DIR "/tests/unit/output";

class Readers : public ::testing::Test {
 protected:
  Readers() { write_trace(trace_, sample_.content()); }

  void expect_success(const std::string& arguments) {
    const Outcome outcome = python(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.output;
    EXPECT_EQ(outcome.output, "");
  }
  // Exit code 1 and one line.
  void expect_complaint(const std::string& arguments, const std::string& words) {
    const Outcome outcome = python(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(words));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
  // A tool of tools/ on the trace, to a picture that is there afterwards.
  void expect_picture(const std::string& tool, const std::string& options, const std::string& suffix = ".png") {
    const std::string picture = folder_.file("picture" + suffix);
    expect_success(kTools + "/" + tool + " " + trace_ + " -o " + picture + " " + options);
    const std::string start = suffix == ".png" ? "\x89PNG" : suffix == ".html" ? "<html>" : "<?xml";
    EXPECT_EQ(contents_of(picture).substr(0, start.size()), start) << tool << " " << options;
    std::filesystem::remove(picture);
  }

  TemporaryFolder folder_;
  SampleContent sample_;
  std::string trace_ = folder_.file("trace.h5");
};

TEST_F(Readers, H5pyPandasAndXarray) { expect_success(kHere + "/read_trace.py " + trace_); }

TEST_F(Readers, UncertaintyHasItsSamples) {
  sample_.summary.uncertainty = testing::sample_uncertainty();
  write_trace(trace_, sample_.content());
  expect_success("-c \"import xarray; d = xarray.open_dataset('" + trace_ +
                 "', group='uncertainty'); "
                 "assert d['figure_value'].sizes == {'sample': 21, 'figure': 3}; "
                 "assert abs(d['parameter_value'].sel(parameter='pods/bow/nic_efficiency', sample=1) - 0.84) < 1e-12; "
                 "low = d['figure_quantile'].sel(figure='throughput_samples_per_second', quantile=0.05); "
                 "assert float(low) == 815; "
                 "assert list(d['figure_unit'].values.astype(str)) == ['1/s', '1', 'B']; "
                 "assert float(d['share'].isel(figure=0, parameter=0)) > 0.999; "
                 "assert float(d['parameter_range'].isel(parameter=1).sel(end='maximum')) == 0.95; "
                 "assert int(d['figure_value'].isnull().sum()) == 1 and d.attrs['seed'] == 9\"");
}

TEST_F(Readers, ToolsExpandRepeatsAsTheExportDoes) {
  Pipeline pipeline = testing::sample_pipeline();
  pipeline.micro_batches = 40;
  pipeline.updates = 4;
  SampleContent sample(pipeline);
  const auto& ends = sample.trace.update_ends;
  const double slot = 1.2e-3 + 0.8e-3 + 2.4e-3 + 0.2e-3;  // of the slowest stage, in steady state
  sample.trace = leave_out(sample.trace, {ends[1], ends[1] - ends[0], 2, 40});
  sample.trace = leave_out(sample.trace, {ends[1] - 0.040 - 20 * slot, slot, 20, 1});
  write_trace(trace_, sample.content());
  export_trace_file(trace_, "csv", {}, folder_.file("trace.csv"));
  expect_success(kHere + "/compare_expansion.py " + kTools + " " + trace_ + " " + folder_.file("trace.csv"));
  expect_picture("plot_pipeline.py", "--update 3");
}

TEST_F(Readers, PipelinePictures) {
  expect_picture("plot_pipeline.py", "");
  expect_picture("plot_pipeline.py", "--slots 0:10 --ipus 0-3", ".svg");
  expect_picture("plot_pipeline.py", "--from 0.01 --to 0.02", ".html");
  expect_picture("plot_pipeline.py", "--run 0 --no-numbers --width 8");
}

TEST_F(Readers, PipelinePicturesAreTheSameEachTime) {
  const std::string first = folder_.file("first.png"), second = folder_.file("second.png");
  for (const std::string& picture : {first, second}) {
    expect_success(kTools + "/plot_pipeline.py " + trace_ + " --ipus 0-3 -o " + picture);
  }
  EXPECT_TRUE(contents_of(first) == contents_of(second));
}

TEST_F(Readers, OtherPictures) {
  expect_picture("plot_utilization.py", "");
  expect_picture("plot_utilization.py", "--part tiles --pass backward --ipus 0,3");
  expect_picture("plot_utilization.py", "--part tiles --operator 'layer 1'");
  expect_picture("plot_utilization.py", "", ".html");
  expect_picture("plot_host.py", "");
  expect_picture("plot_host.py", "--part queues --replicas 0 --from 0 --to 0.003", ".svg");
  expect_picture("plot_host.py", "--part totals --ipus 0,3");
  expect_picture("plot_memory.py", "");
  expect_picture("plot_memory.py", "--part liveness --ipus 1-2");
}

TEST_F(Readers, MistakesAreOneLine) {
  const std::string picture = " -o " + folder_.file("x.png");
  const std::string pipeline = kTools + "/plot_pipeline.py ";
  expect_complaint(pipeline + folder_.file("absent.h5") + picture, "no such file; `podsim run SCENARIO -o");
  expect_complaint(pipeline + kTools + "/podsim_trace.py" + picture, "cannot be read as HDF5");
  expect_complaint(pipeline + trace_ + " -o x.gif", "must end in .png, .svg, .pdf, .html");
  expect_complaint(pipeline + trace_ + " -o /no/such/x.png", "folder /no/such does not exist");
  expect_complaint(pipeline + trace_ + picture + " --update 7", "--update 7: there are 0 to 1");
  expect_complaint(pipeline + trace_ + picture + " --slots 3:99", "this one has slots 0 to 17");
  expect_complaint(pipeline + trace_ + picture + " --slots 3", "give A:B with A < B");
  expect_complaint(pipeline + trace_ + picture + " --ipus 0-9", "--ipus 0-9: there are 0 to 7");
  expect_complaint(pipeline + trace_ + picture + " --from 2 --to 1", "give 0 <= from < to");
  expect_complaint(kTools + "/plot_utilization.py " + trace_ + picture + " --operator gelu",
                   "no tiles of these IPUs in that pass for operators with 'gelu' in their name");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("x.png")));
}

TEST_F(Readers, TracesWithoutAChipHaveNoTilesAndMemory) {
  TraceContent content = sample_.content();
  content.tiles = nullptr;
  content.memory = nullptr;
  write_trace(trace_, content);
  expect_picture("plot_utilization.py", "");
  const std::string picture = " -o " + folder_.file("x.png");
  expect_complaint(kTools + "/plot_utilization.py " + trace_ + picture + " --part tiles", "holds no tiles");
  expect_complaint(kTools + "/plot_memory.py " + trace_ + picture, "holds no memory");
}

TEST_F(Readers, TheHostsPlotSaysWhatATraceLacks) {
  const std::string tool = kTools + "/plot_host.py ", picture = " -o " + folder_.file("x.png");
  expect_complaint(tool + trace_ + picture + " --from 2 --to 1", "give 0 <= from < to");
  expect_complaint(tool + trace_ + picture + " --from 99 --to 100", "the trace ends at");
  expect_complaint(tool + trace_ + picture + " --replicas 7", "--replicas 7: there are 0 to 1");
  sample_.trace.queues.clear();
  write_trace(trace_, sample_.content());
  expect_picture("plot_host.py", "");
  expect_complaint(tool + trace_ + picture + " --part queues", "holds no queues (synthetic data)");
}

// Depths at the edges of what was left out are those of the repeated window.
TEST_F(Readers, ToolsExpandQueues) {
  sample_.trace.queues = {{0, 0, 0.001, 1}, {0, 0, 0.002, 2}, {0, 0, 0.003, 1}, {0, 0, 0.009, 2}};
  sample_.trace.repeats = {{0.003, 0.002, 3, 0}};  // [0.001, 0.003) happens three more times
  write_trace(trace_, sample_.content());
  expect_success(kHere + "/queue_expansion.py " + kTools + " " + trace_);
}

class Sweeps : public Readers {
 protected:
  Sweeps() {
    std::ofstream file(sweep_);
    file << "ipu_config.replication_factor,pipeline_depth,throughput_samples_per_second,makespan_seconds,"
            "state_seconds_ramp_up,state_seconds_host_call,memory_headroom_bytes,bottleneck,error\n";
    for (const int replicas : {1, 2, 4}) {
      for (const int depth : {2, 4, 8}) {
        file << replicas << ',' << depth << ',';
        if (replicas * depth > 16) {
          file << ",,,,,,too few IPUs\n";
        } else {
          file << 100 * replicas * depth << ",2,0.1,0.2," << 10000 * depth << ",compute bound,\n";
        }
      }
    }
  }
  std::string sweep_ = folder_.file("sweep.csv");
};

TEST_F(Sweeps, Pictures) {
  const std::string picture = folder_.file("sweep.png");
  for (const std::string& options :
       std::vector<std::string>{"", "--part pareto", "--metrics throughput --x pipeline_depth --part heat-maps",
                                "--where pipeline_depth=4 --part curves"}) {
    expect_success(kTools + "/plot_sweep.py " + sweep_ + " -o " + picture + " " + options);
    EXPECT_EQ(contents_of(picture).substr(1, 3), "PNG");
    std::filesystem::remove(picture);
  }
}

TEST_F(Sweeps, MistakesAreOneLine) {
  const std::string tool = kTools + "/plot_sweep.py ", picture = " -o " + folder_.file("x.png");
  expect_complaint(tool + folder_.file("absent.csv") + picture, "no such file");
  expect_complaint(tool + sweep_ + picture + " --metrics speed", "metric speed: use throughput");
  expect_complaint(tool + sweep_ + picture + " --where pipeline_depth=3", "no such point");
  expect_complaint(tool + sweep_ + picture + " --x speed", "the varied parameters are");
}

// What `podsim validate --json` prints, as far as the picture needs it.
class Validations : public Readers {
 protected:
  Validations() {
    write(R"({"rows": [)"
          R"({"id": "near-row", "family": "ResNet", "measured_seconds": 1, "predicted_seconds": 1.05,)"
          R"( "relative_error": 0.05, "interval_seconds": [0.9, 1.2], "inside": true},)"
          R"({"id": "far-row", "family": "ResNet", "measured_seconds": 0.01, "predicted_seconds": 0.02,)"
          R"( "relative_error": 1},)"
          R"({"id": "other-row", "family": "BERT", "measured_seconds": 30, "predicted_seconds": 29,)"
          R"( "relative_error": -0.033},)"
          R"({"id": "failed-row", "family": "ViT", "measured_seconds": 3, "predicted_seconds": 0,)"
          R"( "relative_error": -1, "error": "out of memory"}]})");
  }
  void write(const std::string& json) { std::ofstream(validation_) << json; }

  std::string validation_ = folder_.file("validation.json");
  std::string tool_ = kTools + "/plot_validation.py ";
};

TEST_F(Validations, PicturesNameFamiliesRowsFarOffAndThoseWithoutAPrediction) {
  const std::string picture = folder_.file("validation.svg");
  expect_success(tool_ + validation_ + " -o " + picture);
  const std::string svg = contents_of(picture);  // texts stand in comments beside their outlines
  for (const char* text : {"3 measured systems, 1 without a prediction", "ResNet", "BERT", "far-row", "± 10 %"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  for (const char* text : {"near-row", "other-row", "failed-row", "ViT"}) EXPECT_THAT(svg, Not(HasSubstr(text)));
}

TEST_F(Validations, PicturesAreTheSameFromStandardInput) {
  const std::string first = folder_.file("first.png"), second = folder_.file("second.png");
  expect_success(tool_ + validation_ + " -o " + first);
  expect_success(tool_ + "- -o " + second + " < " + validation_);
  EXPECT_EQ(contents_of(first).substr(1, 3), "PNG");
  EXPECT_TRUE(contents_of(first) == contents_of(second));
}

TEST_F(Validations, IntervalsAreDrawn) {
  const std::string with = folder_.file("with.png"), without = folder_.file("without.png");
  expect_success(tool_ + validation_ + " -o " + with);
  std::string json = contents_of(validation_);
  const std::string interval = R"( "interval_seconds": [0.9, 1.2],)";
  json.erase(json.find(interval), interval.size());
  write(json);
  expect_success(tool_ + validation_ + " -o " + without);
  EXPECT_FALSE(contents_of(with) == contents_of(without));
}

TEST_F(Validations, MistakesAreOneLine) {
  const std::string picture = " -o " + folder_.file("x.png");
  expect_complaint(tool_ + folder_.file("absent.json") + picture, "no such file; `podsim validate --json >");
  expect_complaint(tool_ + trace_ + picture, "is not the output of `podsim validate --json`");
  expect_complaint(tool_ + validation_ + " -o x.gif", "must end in .png, .svg, .pdf");
  write(R"({"families": []})");
  expect_complaint(tool_ + validation_ + picture, "is not the output of `podsim validate --json`");
  write(R"({"rows": []})");
  expect_complaint(tool_ + validation_ + picture, "none of the rows has a prediction");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("x.png")));
}

}  // namespace
}  // namespace podsim
