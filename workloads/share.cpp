// The walk over the graph in topological order.
#include "workloads/share.hpp"

#include <algorithm>

#include "simulator/core/error.hpp"

namespace podsim {

Option sharing_option(const std::string& name, const std::string& help) {
  return {.name = name, .type = OptionType::Integer, .default_value = 1, .help = help, .minimum = 1, .maximum = 1024};
}

std::int64_t sharing_ipus(const WorkloadRequest& request, const std::string& option) {
  const Value::Object& values = request.options.values();
  const bool declared =
      std::any_of(values.begin(), values.end(), [&option](const auto& entry) { return entry.first == option; });
  return declared ? request.options.integer(option) : 1;
}

ShareWalk::ShareWalk(const WorkloadGraph& whole) : share_(whole), axes_(boost::num_vertices(whole.graph)) {}

WorkloadGraph ShareWalk::run() {
  for (const WorkloadGraph::Vertex vertex : share_.topological_order()) visit(vertex);
  check();
  return std::move(share_);
}

void ShareWalk::visit(WorkloadGraph::Vertex vertex) {
  vertex_ = vertex;
  op_ = &share_.graph[vertex];
  reads_.clear();
  std::size_t input = 0;
  for (const auto edge : boost::make_iterator_range(boost::in_edges(vertex, share_.graph))) {
    const WorkloadGraph::Vertex producer = boost::source(edge, share_.graph);
    reads_.push_back({axes_[producer], share_.graph[producer].differentiable});
    op_->inputs[input++] = share_.graph[producer].outputs[static_cast<std::size_t>(share_.graph[edge].output)];
  }
  const Axis axis = divide_operator();
  axes_[vertex] = axis;
  op_->divided = axis != Axis::Whole;
  if (op_->divided) {
    for (Tensor& tensor : op_->outputs) divide_tensor(tensor, axis);
  }
  for (const auto edge : boost::make_iterator_range(boost::out_edges(vertex, share_.graph))) {
    share_.graph[edge].bytes = op_->outputs[static_cast<std::size_t>(share_.graph[edge].output)].bytes();
  }
}

void ShareWalk::divide_tensor(Tensor& tensor, Axis axis) const {
  const std::size_t field = 1;
  const std::size_t last = tensor.shape.size() - 1;
  std::int64_t& extent = tensor.shape.at(axis == Axis::First ? 0 : axis == Axis::Field ? field : last);
  divide(extent, "extent of output \"" + tensor.name + "\"");
}

bool ShareWalk::reads_part() const {
  return std::any_of(reads_.begin(), reads_.end(), [](const Read& read) { return read.axis != Axis::Whole; });
}

Axis ShareWalk::common_axis() const {
  Axis axis = Axis::Whole;
  for (const Read& read : reads_) {
    if (read.axis == Axis::Whole) continue;
    if (axis != Axis::Whole && axis != read.axis) needs_whole_inputs("divide both of its inputs in the same way");
    axis = read.axis;
  }
  return axis;
}

void ShareWalk::reduce_input_gradients() {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    if (reads_[i].axis != Axis::Whole || !reads_[i].gradient) continue;
    op_->backward_collectives.push_back(all_reduce(static_cast<double>(op_->inputs[i].bytes())));
  }
}

void ShareWalk::needs_whole_inputs(const std::string& remedy) const {
  std::size_t input = 0;
  while (input + 1 < reads_.size() && reads_[input].axis == Axis::Whole) ++input;
  throw UserError(where(),
                  "it needs the whole of \"" + input_name(input) + "\", of which each of " + std::to_string(ipus()) +
                      " IPUs has a part",
                  remedy);
}

std::string ShareWalk::input_name(std::size_t input) const {
  return input < op_->inputs.size() ? op_->inputs[input].name : "nothing";
}

}  // namespace podsim
