// Building, ordering and checking the operator graph.
#include "workloads/workload_graph.hpp"

#include <algorithm>
#include <boost/graph/strong_components.hpp>
#include <cmath>
#include <functional>
#include <queue>
#include <set>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

using Graph = WorkloadGraph::Graph;
using Vertex = WorkloadGraph::Vertex;

// A vertex on a cycle: one of a strong component with several vertices, or with an edge to itself.
Vertex vertex_on_cycle(const Graph& graph) {
  std::vector<int> component(boost::num_vertices(graph));
  const int components = boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  std::vector<int> size(static_cast<std::size_t>(components), 0);
  for (const int index : component) ++size[static_cast<std::size_t>(index)];
  for (Vertex vertex = 0; vertex < boost::num_vertices(graph); ++vertex) {
    if (size[static_cast<std::size_t>(component[vertex])] > 1 || boost::edge(vertex, vertex, graph).second) {
      return vertex;
    }
  }
  throw InternalError("a graph without topological order has no cycle");
}

void check_blocks(const WorkloadGraph& workload, const std::string& where) {
  std::vector<bool> used(workload.blocks.size(), false);
  std::set<std::string> names;
  for (const Block& block : workload.blocks) {
    if (!names.insert(block.name).second) {
      throw UserError(where, "two blocks have the name \"" + block.name + "\"", "give each block a name of its own");
    }
  }
  for (Vertex vertex = 0; vertex < boost::num_vertices(workload.graph); ++vertex) {
    const Operator& op = workload.graph[vertex];
    if (op.block < 0 || op.block >= static_cast<int>(workload.blocks.size())) {
      throw UserError(where, "operator \"" + op.name + "\" is in no block", "name one of the blocks");
    }
    if (op.kind != OperatorKind::Input) used[static_cast<std::size_t>(op.block)] = true;
  }
  for (std::size_t index = 0; index < used.size(); ++index) {
    if (!used[index]) {
      throw UserError(where, "block \"" + workload.blocks[index].name + "\" has no operator", "remove it");
    }
  }
}

constexpr std::size_t kMostOperators = 200000;  // some 10,000 layers
constexpr double kMostElements = 1e15;          // far beyond any memory, far below where integers overflow

void check_size(const Operator& op, const std::string& where) {
  double most = 0;
  for (const Tensor& output : op.outputs) {
    double elements = 1;
    for (const std::int64_t extent : output.shape) elements *= std::fabs(static_cast<double>(extent));
    most = std::max(most, elements);
  }
  bool overflows = false;
  for (const Weight& weight : op.weights) {
    overflows = overflows || weight.elements < 0;
    most = std::max(most, static_cast<double>(weight.elements));
  }
  if (overflows || most > kMostElements) {
    throw UserError(where, "operator \"" + op.name + "\" has a tensor of more than 10^15 elements",
                    "check the sizes of the model and the micro-batch");
  }
}

void check_operators(const WorkloadGraph& workload, const std::string& where) {
  std::set<std::string> names;
  std::set<std::string> weights;
  for (Vertex vertex = 0; vertex < boost::num_vertices(workload.graph); ++vertex) {
    const Operator& op = workload.graph[vertex];
    check_size(op, where);
    if (!names.insert(op.name).second) {
      throw UserError(where, "two operators have the name \"" + op.name + "\"", "give each operator a name of its own");
    }
    for (const Weight& weight : op.weights) {
      if (!weights.insert(weight.name).second) {
        throw UserError(where, "two weights have the name \"" + weight.name + "\"", "tie one to the other (tied_to)");
      }
    }
    if (op.kind == OperatorKind::Input && boost::out_degree(vertex, workload.graph) == 0) {
      throw UserError(where, "host input \"" + op.name + "\" is read by no operator", "remove it");
    }
  }
  for (Vertex vertex = 0; vertex < boost::num_vertices(workload.graph); ++vertex) {
    for (const Weight& weight : workload.graph[vertex].weights) {
      if (!weight.tied_to.empty() && !weights.contains(weight.tied_to)) {
        throw UserError(where,
                        "weight \"" + weight.name + "\" is tied to \"" + weight.tied_to + "\", which is not there",
                        "name a weight of the graph");
      }
    }
  }
}

void check_edges(const WorkloadGraph& workload, const std::string& where) {
  for (const auto edge : boost::make_iterator_range(boost::edges(workload.graph))) {
    const Operator& producer = workload.graph[boost::source(edge, workload.graph)];
    const Operator& consumer = workload.graph[boost::target(edge, workload.graph)];
    if (producer.block > consumer.block) {
      throw UserError(where,
                      "operator \"" + consumer.name + "\" of block \"" +
                          workload.blocks[static_cast<std::size_t>(consumer.block)].name + "\" reads \"" +
                          producer.name + "\" of the later block \"" +
                          workload.blocks[static_cast<std::size_t>(producer.block)].name + "\"",
                      "list the blocks in order of execution");
    }
    const int output = workload.graph[edge].output;
    if (output < 0 || output >= static_cast<int>(producer.outputs.size())) {
      throw UserError(where,
                      "operator \"" + consumer.name + "\" reads output " + std::to_string(output) + " of \"" +
                          producer.name + "\", which has " + std::to_string(producer.outputs.size()),
                      "count outputs from 0");
    }
  }
}

}  // namespace

Vertex WorkloadGraph::add(Operator op, const std::vector<Vertex>& producers) {
  if (boost::num_vertices(graph) >= kMostOperators) {
    throw UserError("workload " + model, "the model has more than " + std::to_string(kMostOperators) + " operators",
                    "check its number of layers");
  }
  const bool fill_inputs = op.inputs.empty();
  const Vertex vertex = boost::add_vertex(std::move(op), graph);
  for (const Vertex producer : producers) {
    if (graph[producer].outputs.empty()) {
      throw InternalError("operator \"" + graph[producer].name + "\" has no output to read");
    }
    const Tensor& tensor = graph[producer].outputs.front();
    boost::add_edge(producer, vertex, TensorEdge{0, tensor.bytes()}, graph);
    if (fill_inputs) graph[vertex].inputs.push_back(tensor);
  }
  return vertex;
}

void WorkloadGraph::connect(Vertex producer, int output, Vertex consumer) {
  const Tensor& tensor = graph[producer].outputs.at(static_cast<std::size_t>(output));
  boost::add_edge(producer, consumer, TensorEdge{output, tensor.bytes()}, graph);
  graph[consumer].inputs.push_back(tensor);
}

// Kahn's algorithm with the smallest vertex first, so that the order of insertion is kept wherever it is valid.
std::vector<Vertex> WorkloadGraph::topological_order() const {
  std::vector<std::size_t> missing(boost::num_vertices(graph));
  std::priority_queue<Vertex, std::vector<Vertex>, std::greater<>> ready;
  for (Vertex vertex = 0; vertex < missing.size(); ++vertex) {
    missing[vertex] = boost::in_degree(vertex, graph);
    if (missing[vertex] == 0) ready.push(vertex);
  }
  std::vector<Vertex> order;
  order.reserve(missing.size());
  while (!ready.empty()) {
    const Vertex vertex = ready.top();
    ready.pop();
    order.push_back(vertex);
    for (const auto edge : boost::make_iterator_range(boost::out_edges(vertex, graph))) {
      if (--missing[boost::target(edge, graph)] == 0) ready.push(boost::target(edge, graph));
    }
  }
  if (order.size() != missing.size()) {
    throw UserError("workload " + model, "operator \"" + graph[vertex_on_cycle(graph)].name + "\" is on a cycle",
                    "a workload graph has no cycles; unroll recurrent layers");
  }
  return order;
}

std::int64_t WorkloadGraph::parameter_count() const {
  std::int64_t sum = 0;
  for (const Vertex vertex : boost::make_iterator_range(boost::vertices(graph))) {
    for (const Weight& weight : graph[vertex].weights) {
      if (weight.trainable && weight.tied_to.empty()) sum += weight.elements;
    }
  }
  return sum;
}

std::int64_t WorkloadGraph::weight_count() const {
  std::int64_t sum = 0;
  for (const Vertex vertex : boost::make_iterator_range(boost::vertices(graph))) {
    for (const Weight& weight : graph[vertex].weights) {
      if (weight.tied_to.empty()) sum += weight.elements;
    }
  }
  return sum;
}

double WorkloadGraph::forward_flops() const {
  double sum = 0;
  for (const Vertex vertex : boost::make_iterator_range(boost::vertices(graph))) {
    sum += graph[vertex].forward_amp_flops();
  }
  return sum;
}

void WorkloadGraph::validate() const {
  const std::string where = "workload " + model;
  if (boost::num_vertices(graph) == 0) throw UserError(where, "the graph has no operator", "add at least one");
  check_blocks(*this, where);
  check_operators(*this, where);
  check_edges(*this, where);
  static_cast<void>(topological_order());
}

}  // namespace podsim
