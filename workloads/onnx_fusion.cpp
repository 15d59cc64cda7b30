// The Gaussian error linear unit as exporters spell it out: x/sqrt(2) -> Erf -> +1 -> times x -> times 0.5.
#include <algorithm>

#include "workloads/onnx_graph.hpp"

namespace podsim {

namespace {

class GeluFusion {
 public:
  explicit GeluFusion(OnnxModel& model) : model_(model), removed_(model.nodes.size(), false) {
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      for (const std::string& output : model.nodes[i].outputs) maker_[output] = i;
      for (const std::string& input : model.nodes[i].inputs) readers_[input].push_back(i);
    }
    for (const std::string& output : model.outputs) readers_[output].push_back(model.nodes.size());
  }

  void run() {
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      if (model_.nodes[i].operation == "Erf" && !model_.nodes[i].inputs.empty()) fuse(i);
    }
    std::vector<OnnxNode> kept;
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      if (!removed_[i]) kept.push_back(std::move(model_.nodes[i]));
    }
    model_.nodes = std::move(kept);
  }

 private:
  using Index = std::optional<std::size_t>;

  [[nodiscard]] bool is_constant(const std::string& name) const {
    const auto maker = maker_.find(name);
    return model_.parameters.contains(name) ||
           (maker != maker_.end() && model_.nodes[maker->second].operation == "Constant");
  }
  // The one node that reads the only output of node i, where it has that operation.
  [[nodiscard]] Index only_reader(std::size_t i, const std::string& operation) const {
    const auto readers = readers_.find(model_.nodes[i].outputs.front());
    if (readers == readers_.end() || readers->second.size() != 1) return std::nullopt;
    const std::size_t reader = readers->second.front();
    if (reader >= model_.nodes.size() || model_.nodes[reader].operation != operation) return std::nullopt;
    return reader;
  }
  // Of a node with two operands, one of them constant: the name of the other; "" where it is not so.
  [[nodiscard]] std::string scaled(std::size_t i) const {
    const std::vector<std::string>& inputs = model_.nodes[i].inputs;
    if (inputs.size() != 2 || is_constant(inputs[0]) == is_constant(inputs[1])) return {};
    return is_constant(inputs[0]) ? inputs[1] : inputs[0];
  }
  [[nodiscard]] Index scaling_before(const std::string& name) const {
    const auto maker = maker_.find(name);
    if (maker == maker_.end()) return std::nullopt;
    const std::string& operation = model_.nodes[maker->second].operation;
    if ((operation != "Div" && operation != "Mul") || scaled(maker->second).empty()) return std::nullopt;
    return maker->second;
  }

  void fuse(std::size_t erf) {
    const Index before = scaling_before(model_.nodes[erf].inputs.front());
    const Index sum = only_reader(erf, "Add");
    if (!before || !sum || scaled(*sum).empty() || !only_reader(*before, "Erf")) return;
    const Index times = only_reader(*sum, "Mul");
    if (!times || model_.nodes[*times].inputs.size() != 2) return;
    const std::string x = scaled(*before);
    const std::vector<std::string>& factors = model_.nodes[*times].inputs;
    const std::string other = factors[0] == model_.nodes[*sum].outputs.front() ? factors[1] : factors[0];
    std::size_t last = *times;
    std::vector<std::size_t> parts = {*before, erf, *sum, *times};
    if (other == x) {  // (x * (1 + erf)) * 0.5
      if (const Index half = only_reader(*times, "Mul"); half && !scaled(*half).empty()) {
        last = *half;
        parts.push_back(*half);
      }
    } else if (const Index half = scaling_before(other); half && scaled(*half) == x && only_reader(*half, "Mul")) {
      parts.push_back(*half);  // (x * 0.5) * (1 + erf)
    } else {
      return;
    }
    OnnxNode& node = model_.nodes[last];
    node.operation = "Gelu";
    node.name = model_.nodes[erf].name;
    node.inputs = {x};
    for (const std::size_t part : parts) removed_[part] = part != last;
  }

  OnnxModel& model_;
  std::vector<bool> removed_;
  std::map<std::string, std::size_t> maker_;
  std::map<std::string, std::vector<std::size_t>> readers_;
};

}  // namespace

void fuse_gelu(OnnxModel& model) { GeluFusion(model).run(); }

}  // namespace podsim
