// Branch and bound over three levels: plan, recomputation, variant. Workers compile and bound; each simulation is a
// child process.
#include "simulator/app/tune_search.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <queue>
#include <tuple>

#include "simulator/app/process_pool.hpp"
#include "simulator/app/sweep_point.hpp"
#include "simulator/app/sweep_progress.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr double kPause = 0.1;          // seconds between looks at signals
constexpr double kRounding = 1 + 1e-9;  // bounds are loosened by what sums of doubles may lose
constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Level { Plan, Recomputation, Variant };

struct Node {
  double bound = kInfinity;  // no score below this node is higher
  Level level = Level::Plan;
  std::size_t plan = 0, recomputation = 0, variant = 0;

  [[nodiscard]] auto place() const { return std::tuple(plan, recomputation, variant); }
  // For a heap: deeper levels first among equals, so that real scores come early.
  bool operator<(const Node& other) const {
    if (bound != other.bound) return bound < other.bound;
    if (level != other.level) return level < other.level;
    return place() > other.place();
  }
};

class Search {
 public:
  Search(const TuneRequest& request, const TuneSpace& space, const DataFolder& data, int jobs, bool show_progress)
      : request_(request),
        space_(space),
        data_(data),
        pool_(jobs, 0, [this](const std::string& task) { return evaluate(task); }),
        progress_(count(), 0, show_progress) {
    outcome_.candidates = count();
    for (std::size_t plan = 0; plan < space_.plans.size(); ++plan) open_.push({kInfinity, Level::Plan, plan, 0, 0});
  }

  TuneOutcome run() {
    while (!stop_.arrived()) {
      start_some();
      if (pool_.idle()) return finish();
      for (const ProcessResult& result : pool_.wait(kPause, stop_.descriptor())) take(result);
      if (progress_.due()) progress_.show(closed_);
    }
    throw UserError("tune", "stopped", "it starts again from the beginning");
  }

 private:
  std::size_t count() const {
    std::size_t candidates = 0;
    for (const TunePlan& plan : space_.plans) candidates += variants_of(plan);
    return candidates * space_.recomputations.size();
  }

  std::size_t variants_of(const TunePlan& plan) const {
    return static_cast<std::size_t>(std::count_if(space_.variants.begin(), space_.variants.end(),
                                                  [&](const TuneVariant& variant) { return applies(variant, plan); }));
  }

  // What a candidate must reach to be among those that are kept.
  double threshold() const {
    if (request_.exhaustive || found_.size() < static_cast<std::size_t>(request_.keep)) return -kInfinity;
    return found_[static_cast<std::size_t>(request_.keep) - 1].score;
  }

  void start_some() {
    while (!pool_.full() && !open_.empty() && open_.top().bound >= threshold()) {
      const Node node = open_.top();
      open_.pop();
      const std::size_t id = nodes_.size();
      nodes_.push_back(node);
      pool_.start(id, to_json(task_of(node, threshold()), 0));
    }
  }

  double score(double run_seconds, double samples) const {
    return request_.objective == TuneObjective::Throughput ? samples / run_seconds : -run_seconds;
  }

  Value source_of(const Node& node) const {
    const TunePlan& plan = space_.plans[node.plan];
    std::size_t variant = node.variant;
    while (!applies(space_.variants[variant], plan) && variant + 1 < space_.variants.size()) ++variant;
    return tuned_source(request_, space_, plan, space_.recomputations[node.recomputation], space_.variants[variant]);
  }

  // [level, plan, recomputation, variant, score to reach if there is one]
  static Value task_of(const Node& node, double least) {
    Value::Array task = {static_cast<int>(node.level)};
    for (const std::size_t place : {node.plan, node.recomputation, node.variant}) {
      task.emplace_back(static_cast<std::int64_t>(place));
    }
    if (least > -kInfinity) task.emplace_back(least);
    return Value(std::move(task));
  }

  // In a worker, with a memory of its own: {"bound": …}, {"refused": …}, {} for a bound that is too low, or a row.
  Prepared evaluate(const std::string& text) {
    const Value task = parse_json(text, "task");
    const auto place = [&task](std::size_t i) { return static_cast<std::size_t>(task.array().at(i).integer()); };
    const Node node{kInfinity, static_cast<Level>(place(0)), place(1), place(2), place(3)};
    const double least = task.array().size() > 4 ? task.array()[4].number() : -kInfinity;
    Value answer{Value::Object{}};
    try {
      Scenario scenario = read_scenario(source_of(node), request_.folder);
      Compilation compilation = compile_times(scenario, data_, compiled_);
      const double bound = bound_of(node, scenario, compilation);
      if (node.level == Level::Variant && bound >= least) {
        add_memory(compilation, scenario, data_, compiled_);
        return prepare_simulation(
            std::make_shared<CompiledPoint>(CompiledPoint{std::move(scenario), std::move(compilation)}), compiled_,
            true);
      }
      if (node.level != Level::Variant && bound < kInfinity) answer.set("bound", bound);
    } catch (const UserError& error) {
      answer.set("refused", on_one_line(error.what()));
    }
    return {to_json(answer, 0), {}};
  }

  double bound_of(const Node& node, const Scenario& scenario, const Compilation& compilation) const {
    const Execution& execution = scenario.execution;
    const double samples = static_cast<double>(execution.replicas * compilation.model.samples_per_micro_batch *
                                               execution.micro_batches * execution.device_iterations);
    const double seconds = node.level == Level::Variant ? least_run_seconds(compilation.program)
                                                        : least_run_seconds(compilation, scenario);
    return seconds > 0 ? score(seconds / kRounding, samples) : kInfinity;
  }

  void take(const ProcessResult& result) {
    const Node node = nodes_[result.id];
    if (!result.failure.empty()) return reject(node, result.failure);
    const Value answer = parse_json(result.output, "candidate");
    if (const Value* error = answer.find("refused"); error != nullptr && node.level == Level::Variant) {
      return reject(node, error->text());
    }
    if (answer.contains("error")) return keep(node, row_from(answer));
    if (node.level == Level::Variant) {  // its bound is too low
      ++closed_;
      return;
    }
    // A plan may be wrong with one variant only, so that an error here says nothing about the others.
    const Value* bound = answer.find("bound");
    expand(node, bound != nullptr ? std::min(node.bound, bound->number()) : node.bound);
  }

  void expand(const Node& node, double bound) {
    if (node.level == Level::Plan) {
      for (std::size_t i = 0; i < space_.recomputations.size(); ++i) {
        open_.push({bound, Level::Recomputation, node.plan, i, 0});
      }
      return;
    }
    for (std::size_t i = 0; i < space_.variants.size(); ++i) {
      if (!applies(space_.variants[i], space_.plans[node.plan])) continue;
      open_.push({bound, Level::Variant, node.plan, node.recomputation, i});
    }
  }

  void reject(const Node& node, const std::string& reason) {
    if (node.level != Level::Variant) return expand(node, node.bound);
    ++closed_;
    ++outcome_.infeasible;
    if (outcome_.first_error.empty() || node.place() < first_error_place_) {
      outcome_.first_error = reason;
      first_error_place_ = node.place();
    }
  }

  void keep(const Node& node, SweepRow row) {
    if (!row.error.empty()) return reject(node, row.error);
    ++closed_;
    ++outcome_.simulated;
    const double value = score(row.get("run_seconds"), row.get("samples_per_run"));
    found_.push_back({value, node, std::move(row)});
    std::sort(found_.begin(), found_.end(), [](const Found& left, const Found& right) {
      return left.score != right.score ? left.score > right.score : left.node.place() < right.node.place();
    });
  }

  TuneOutcome finish() {
    const std::size_t kept = std::min(found_.size(), static_cast<std::size_t>(request_.keep));
    for (std::size_t i = 0; i < kept; ++i) {
      const Found& found = found_[i];
      outcome_.best.push_back({source_of(found.node),
                               describe(space_.plans[found.node.plan], space_.recomputations[found.node.recomputation],
                                        space_.variants[found.node.variant]),
                               found.score, found.row});
    }
    return std::move(outcome_);
  }

  struct Found {
    double score = 0;
    Node node;
    SweepRow row;
  };

  const TuneRequest& request_;
  const TuneSpace& space_;
  const DataFolder& data_;
  CompileCache compiled_;  // of a worker
  StopSignals stop_;
  ProcessPool pool_;
  SweepProgress progress_;
  std::priority_queue<Node> open_;
  std::vector<Node> nodes_;   // started, by the pool's number
  std::vector<Found> found_;  // best first
  std::size_t closed_ = 0;    // candidates done
  std::tuple<std::size_t, std::size_t, std::size_t> first_error_place_;
  TuneOutcome outcome_;
};

}  // namespace

TuneOutcome tune(const TuneRequest& request, const TuneSpace& space, const DataFolder& data, int jobs,
                 bool show_progress) {
  return Search(request, space, data, jobs, show_progress).run();
}

}  // namespace podsim
