// Blocks of aligned lines: figures, where the time goes, the IPUs, the busiest links, and what to improve.
#include "simulator/output/summary_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "simulator/core/format.hpp"

namespace podsim {
namespace {

constexpr std::size_t kWidth = 100;
constexpr double kBarWidth = 40;
constexpr std::size_t kLinks = 3;
constexpr std::size_t kInfluences = 5;

class Text {
 public:
  explicit Text(bool colour) : colour_(colour) {}

  template <typename... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    std::string text = fmt::format(format, std::forward<Values>(values)...);
    text.erase(text.find_last_not_of(' ') + 1);
    text_ += text + '\n';
  }
  void heading(const std::string& title) { text_ += (text_.empty() ? "" : "\n") + painted(title, "1") + '\n'; }
  void gap() { text_ += '\n'; }
  // Words broken at the width, further lines indented.
  void paragraph(const std::string& label, const std::string& words, std::string_view code) {
    std::string line = label + ":";
    std::size_t width = line.size();
    line = painted(line, code);
    for (std::size_t at = 0; at < words.size();) {
      const std::size_t end = std::min(words.find(' ', at), words.size());
      if (width + 1 + (end - at) > kWidth) {
        text_ += line + '\n';
        line = " ";
        width = 1;
      }
      line += " " + words.substr(at, end - at);
      width += 1 + (end - at);
      at = end + 1;
    }
    text_ += line + '\n';
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  [[nodiscard]] std::string painted(const std::string& text, std::string_view code) const {
    return colour_ ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
  }
  bool colour_;
  std::string text_;
};

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string label_of(std::string_view state) {
  std::string label(state);
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

void print_figures(Text& text, const Summary& summary) {
  const bool training_like = summary.slots_per_update > 0;
  text.line("  {:<22}{}", "throughput", format_rate(summary.throughput_samples_per_second, summary.sample_name));
  text.line(
      "  {:<22}{}{}", "weight update", format_seconds(summary.weight_update_seconds),
      training_like ? fmt::format("  ({} slots from fill to drain)", format_count(summary.slots_per_update)) : "");
  text.line("  {:<22}{}  ({} {})", "host call", format_seconds(summary.run_seconds),
            format_count(std::llround(summary.samples_per_run)), summary.sample_name);
  text.line("  {:<22}{}", "simulated time", format_seconds(summary.makespan_seconds));
  text.line("  {:<22}{} of the IPUs' time{}", "busy", format_share(summary.busy),
            summary.flops > 0 ? ", " + format_share(summary.flops) + " of the AMP peak" : "");
  text.line("  {:<22}{} x {} IPUs, batch size factor {}", "replicas", summary.replicas, summary.ipus_per_replica,
            format_count(summary.batch_size_factor));
}

// What comes before the simulated time.
void print_startup(Text& text, const StartupSummary& startup) {
  const auto line = [&text](std::string_view label, double seconds, std::string_view when = "") {
    if (seconds > 0) text.line("  {:<24}{}{}", label, format_seconds(seconds), when);
  };
  if (!startup.compile_seconds && !startup.load_seconds && startup.weight_upload_seconds <= 0) return;
  text.heading("Before the first host call (not in the figures above)");
  line("graph compilation", startup.compile_seconds.value_or(0), startup.load_seconds ? "  (in the first run)" : "");
  line("storing in the cache", startup.store_seconds.value_or(0), "  (in the first run)");
  line("loading from the cache", startup.load_seconds.value_or(0), "  (in later runs, instead of the two above)");
  line("code upload", startup.executable_upload_seconds);
  line("weight upload", startup.weight_upload_seconds);
}

void print_second_graph(Text& text, const SecondGraphSummary& second, const std::string& sample_name) {
  text.heading(fmt::format("Second graph (after every {} host calls)", format_count(second.every)));
  text.line("  {:<22}{}  ({} host calls)", "a turn", format_seconds(second.turn_seconds), format_count(second.calls));
  text.line("  {:<22}{}", "throughput", format_rate(second.samples_per_second, sample_name));
  text.line("  {:<22}{}", "switch to it and back", format_seconds(second.switch_seconds + second.switch_back_seconds));
  if (second.peak_tile_bytes > 0) text.line("  {:<22}{}", "fullest tile", format_bytes(second.peak_tile_bytes));
}

void print_states(Text& text, const Summary& summary) {
  text.heading(fmt::format("Where the time goes (mean of {} IPUs)", summary.ipus.size()));
  for (std::size_t state = 0; state < kStateCount; ++state) {
    const double seconds = summary.state_seconds[state];
    if (seconds <= 0 || summary.makespan_seconds <= 0) continue;
    const double share = seconds / summary.makespan_seconds;
    text.line("  {:<18}{:>12}{:>8}  {}", label_of(kStateNames[state]), format_seconds(seconds), percent(share),
              std::string(static_cast<std::size_t>(std::lround(share * kBarWidth)), '#'));
  }
}

std::string stages_of(const IpuSummary& ipu) {
  std::string list;
  for (const int stage : ipu.stages) list += (list.empty() ? "" : ",") + std::to_string(stage);
  constexpr std::size_t kColumn = 9;
  return list.size() > kColumn ? list.substr(0, kColumn - 2) + ".." : list;
}

double share_of(const Summary& summary, const IpuSummary& ipu, std::initializer_list<State> states) {
  double seconds = 0;
  for (const State state : states) seconds += ipu.state_seconds[index_of(state)];
  return summary.makespan_seconds > 0 ? seconds / summary.makespan_seconds : 0;
}

void print_ipu(Text& text, const Summary& summary, const IpuSummary& ipu, bool memory) {
  const auto share = [&](std::initializer_list<State> states) { return percent(share_of(summary, ipu, states)); };
  const double headroom = ipu.memory.limit_bytes - ipu.memory.peak_tile_bytes;
  text.line(
      "  {:>4} {:<9}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>6}{:>11}{:>11}", ipu.ipu, stages_of(ipu),
      share({State::Forward, State::Recompute}), share({State::Backward}), share({State::WeightUpdate}),
      share({State::Exchange, State::AllReduce, State::RemoteMemory}),
      share({State::HostInputStall, State::HostTransfer, State::HostCall, State::HostOutputStall, State::SecondGraph}),
      share({State::RampUp, State::RampDown}), share({State::Imbalance, State::Sync}), ipu.stash_micro_batches,
      memory ? format_bytes(ipu.memory.peak_tile_bytes) : "",
      memory ? (headroom < 0 ? "-" + format_bytes(-headroom) : format_bytes(headroom)) : "");
}

void print_ipus(Text& text, const Summary& summary, int maximum) {
  const bool memory = std::any_of(summary.ipus.begin(), summary.ipus.end(),
                                  [](const IpuSummary& ipu) { return ipu.memory.limit_bytes > 0; });
  text.heading("IPUs (shares of time; memory of the fullest tile)");
  text.line("  {:>4} {:<9}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>6}{:>11}{:>11}", "IPU", "stages", "fwd+rec", "bwd",
            "update", "comms", "host", "ramps", "wait", "stash", memory ? "peak tile" : "", memory ? "free" : "");
  const auto rows = std::min(summary.ipus.size(), static_cast<std::size_t>(std::max(0, maximum)));
  for (std::size_t i = 0; i < rows; ++i) print_ipu(text, summary, summary.ipus[i], memory);
  if (rows < summary.ipus.size()) text.line("  ... and {} more (all in --json)", summary.ipus.size() - rows);
}

void print_links(Text& text, const Summary& summary) {
  if (summary.links.empty()) return;
  text.heading("Busiest links");
  for (std::size_t i = 0; i < std::min(kLinks, summary.links.size()); ++i) {
    const LinkSummary& link = summary.links[i];
    text.line("  {:<40.40} {:<16.16}{:>16}{:>9}", link.name, link.kind, format_bytes(link.bytes),
              percent(link.utilization));
  }
}

std::string readable(const UncertainFigure& figure, double value, const Summary& summary) {
  if (figure.unit == "1/s") return format_rate(value, summary.sample_name);
  if (figure.unit == "s") return format_seconds(value);
  return figure.unit == "B" ? format_bytes(value) : format_share(value);
}

// "throughput_samples_per_second" -> "throughput": the unit stands with the values.
std::string figure_label(const UncertainFigure& figure) {
  std::string label = label_of(figure.name);
  for (const std::string_view end : {" samples per second", " seconds", " bytes"}) {
    if (label.ends_with(end)) label.resize(label.size() - end.size());
  }
  constexpr std::string_view kShare = "state share ";
  return label.starts_with(kShare) ? label.substr(kShare.size()) : label;
}

void print_influences(Text& text, const Uncertainty& uncertainty, const std::string& name) {
  const UncertainFigure* figure = uncertainty.find(name);
  if (figure == nullptr) return;
  text.line("  what decides {} (share of the variance of its ranks, stepwise regression):", figure_label(*figure));
  if (figure->influences.empty()) text.line("    no parameter stands out");
  for (std::size_t i = 0; i < std::min(kInfluences, figure->influences.size()); ++i) {
    const Influence& influence = figure->influences[i];
    const VariedParameter& parameter = uncertainty.parameters[influence.parameter];
    text.line("    {:<36.36}{:>7}  {} it, {:.4g} to {:.4g} {}", parameter.name, percent(influence.share),
              influence.raises ? "raises" : "lowers", parameter.minimum, parameter.maximum,
              parameter.unit == "1" ? "" : parameter.unit);
  }
}

void print_uncertainty(Text& text, const Summary& summary) {
  if (!summary.uncertainty) return;
  const Uncertainty& uncertainty = *summary.uncertainty;
  text.heading(fmt::format("Uncertainty ({} samples of {} parameters that are only inferred)", uncertainty.samples(),
                           uncertainty.parameters.size()));
  text.line("  {:<22}{:>24}{:>24}{:>24}", "", "5%", "median", "95%");
  for (const UncertainFigure& figure : uncertainty.figures) {
    if (figure.high <= 0) continue;  // utilisation of a peak that is not known
    text.line("  {:<22}{:>24}{:>24}{:>24}", figure_label(figure), readable(figure, figure.low, summary),
              readable(figure, figure.median, summary), readable(figure, figure.high, summary));
  }
  print_influences(text, uncertainty, "throughput_samples_per_second");
  print_influences(text, uncertainty, "peak_tile_bytes");
  if (uncertainty.failures() == 0) return;
  const auto first = std::find_if(uncertainty.errors.begin(), uncertainty.errors.end(),
                                  [](const std::string& error) { return !error.empty(); });
  text.paragraph("Warning",
                 fmt::format("{} of {} samples could not run, and the figures are those of the others; the first: {}",
                             uncertainty.failures(), uncertainty.samples(), *first),
                 "1;31");
}

}  // namespace

std::string summary_text(const Summary& summary, const TextStyle& style) {
  Text text(style.colour);
  text.heading(summary.name.empty() ? "Summary" : summary.name);
  print_figures(text, summary);
  print_states(text, summary);
  print_ipus(text, summary, style.maximum_ipus);
  print_links(text, summary);
  if (summary.second_graph) print_second_graph(text, *summary.second_graph, summary.sample_name);
  print_startup(text, summary.startup);
  print_uncertainty(text, summary);
  text.gap();
  text.paragraph("Bottleneck", summary.bottleneck, "1;33");
  for (const std::string& warning : summary.warnings) text.paragraph("Warning", warning, "1;31");
  return text.text();
}

}  // namespace podsim
