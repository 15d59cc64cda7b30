// Follows the parts of tensors that the IPUs of a stage have through a graph, operator after operator. Internal to this
// folder: tensor_parallel.cpp and domain_sharding.cpp say what each operator makes of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

// The axis of a tensor of which each IPU has a part. First: groups, such as the heads of an attention; Field: the rows
// of images (NHWC); Last: features.
enum class Axis : std::uint8_t { Whole, First, Field, Last };

// An option that counts the IPUs of a stage, and its value; 1 where a workload does not declare it.
[[nodiscard]] Option sharing_option(const std::string& name, const std::string& help);
[[nodiscard]] std::int64_t sharing_ipus(const WorkloadRequest& request, const std::string& option);

class ShareWalk {
 public:
  explicit ShareWalk(const WorkloadGraph& whole);
  virtual ~ShareWalk() = default;
  ShareWalk(const ShareWalk&) = delete;
  ShareWalk& operator=(const ShareWalk&) = delete;

  // The share of one IPU.
  [[nodiscard]] WorkloadGraph run();

 protected:
  struct Read {
    Axis axis = Axis::Whole;
    bool gradient = false;  // a gradient of it is computed
  };

  // Divides op()'s work and weights, adds its collectives; how its outputs are divided.
  virtual Axis divide_operator() = 0;
  // The size of a part of an extent.
  [[nodiscard]] virtual std::int64_t part(std::int64_t size, const std::string& what) const = 0;
  // Checks the whole result.
  virtual void check() = 0;

  [[nodiscard]] Operator& op() { return *op_; }
  [[nodiscard]] const Operator& op() const { return *op_; }
  [[nodiscard]] const std::vector<Read>& reads() const { return reads_; }  // one for each input
  [[nodiscard]] bool reads_part() const;
  [[nodiscard]] WorkloadGraph& graph() { return share_; }
  [[nodiscard]] WorkloadGraph::Vertex vertex() const { return vertex_; }
  [[nodiscard]] std::int64_t ipus() const { return share_.ipus_per_stage; }

  void divide(std::int64_t& size, const std::string& what) const { size = part(size, what); }
  // One axis for all inputs that are parts.
  [[nodiscard]] Axis common_axis() const;
  // Each IPU has the gradient through its part of the work; a whole input needs their sum.
  void reduce_input_gradients();
  [[nodiscard]] static StageCollective all_reduce(double bytes) { return {CollectiveKind::AllReduce, bytes, 1}; }
  [[noreturn]] void needs_whole_inputs(const std::string& remedy) const;
  [[nodiscard]] std::string where() const { return "workload operator " + op_->name; }
  [[nodiscard]] std::string input_name(std::size_t input) const;

 private:
  void visit(WorkloadGraph::Vertex vertex);
  void divide_tensor(Tensor& tensor, Axis axis) const;

  WorkloadGraph share_;
  std::vector<Axis> axes_;  // of the outputs of each operator
  Operator* op_ = nullptr;
  WorkloadGraph::Vertex vertex_ = 0;
  std::vector<Read> reads_;
};

}  // namespace podsim
