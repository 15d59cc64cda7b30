// What operators make of the rows of images.
#include "workloads/domain_sharding.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "simulator/core/error.hpp"
#include "workloads/share.hpp"
#include "workloads/tensor_parallel.hpp"

namespace podsim {

namespace {

constexpr double kStatisticBytes = 4;  // sums of norms are fp32

class DomainWalk final : public ShareWalk {
 public:
  DomainWalk(const WorkloadGraph& whole, bool training) : ShareWalk(whole), training_(training) {}

 private:
  Axis divide_operator() override {
    const bool image = op().kind == OperatorKind::Input && op().input_role == InputRole::Sample;
    if (image && op().outputs.front().shape.size() == 4) return Axis::Field;
    if (!reads_part()) return Axis::Whole;
    switch (op().kind) {
      case OperatorKind::Convolution: return convolution();
      case OperatorKind::Pooling: return pooling();
      case OperatorKind::MatMul: return flattened_matmul();
      case OperatorKind::BatchNorm:
      case OperatorKind::GroupNorm:
      case OperatorKind::LayerNorm: return norm();
      case OperatorKind::Gelu:
      case OperatorKind::Relu:
      case OperatorKind::Swish:
      case OperatorKind::Tanh:
      case OperatorKind::Sigmoid:
      case OperatorKind::Dropout:
      case OperatorKind::Elementwise: return elementwise();
      default: needs_whole_images();
    }
  }

  [[nodiscard]] std::int64_t part(std::int64_t size, const std::string& what) const override {
    if (size >= ipus()) return (size + ipus() - 1) / ipus();
    throw UserError(
        where(),
        "its " + what + ", " + std::to_string(size) + ", is less than " + std::to_string(ipus()) + " IPUs can share",
        "choose a smaller domain_sharding, or larger images");
  }

  void check() override {
    if (any_) return;
    throw UserError("workload " + graph().model,
                    "no convolution reads images, so " + std::to_string(ipus()) + " IPUs have no domain to share",
                    "set domain_sharding to 1");
  }

  Axis convolution() {
    auto& shape = std::get<ConvolutionShape>(op().shape);
    if (shape.transposed) needs_whole_images();
    any_ = true;
    const std::int64_t halo = exchange_halo(shape.kernel_height, shape.stride_height);
    shape.in_height = op().inputs.front().shape[1] + halo;
    shape.padding_height = 0;
    divide(shape.out_height, "rows");
    sum_weight_gradients();
    return Axis::Field;
  }

  // Kernel and stride are squares, as everywhere in this project.
  Axis pooling() {
    auto& shape = std::get<PoolShape>(op().shape);
    const std::vector<std::int64_t>& from = op().inputs.front().shape;
    const std::vector<std::int64_t>& to = op().outputs.front().shape;
    if (to.size() != 4) {  // over the whole field: each IPU has a part of the sum
      shape.window = shape.stride = from[1] * from[2];
      op().forward_collectives.push_back(all_reduce(static_cast<double>(op().output_bytes())));
      return Axis::Whole;
    }
    const auto side = [](std::int64_t area) { return std::llround(std::sqrt(static_cast<double>(area))); };
    exchange_halo(side(shape.window), side(shape.stride));
    shape.out_elements = shape.out_elements / to[1] * part(to[1], "rows");
    return Axis::Field;
  }

  // A dense layer that reads whole images: each IPU has the rows of the weight for its rows of the images.
  Axis flattened_matmul() {
    auto& matmul = std::get<MatMulShape>(op().shape);
    if (!matmul.right_is_weight || op().weights.size() != 1) needs_whole_images();
    if (matmul.rows != op().inputs.front().shape.front()) needs_whole_images();
    matmul.inner = op().inputs.front().elements() / matmul.rows;
    op().weights.front().elements = matmul.inner * matmul.columns;
    op().forward_collectives.push_back(all_reduce(static_cast<double>(op().output_bytes())));
    return Axis::Whole;
  }

  // Two sums for each group, in the backward pass as well; a batch norm uses moving averages in inference, a layer norm
  // has its groups to itself.
  Axis norm() {
    auto& shape = std::get<NormShape>(op().shape);
    const std::int64_t elements = op().inputs.front().elements();
    if (op().kind == OperatorKind::LayerNorm) {
      shape.groups = elements / shape.elements;
      sum_weight_gradients();
      return Axis::Field;
    }
    shape.elements = elements / shape.groups;
    const double bytes = 2 * static_cast<double>(shape.groups) * kStatisticBytes;
    if (training_ || op().kind == OperatorKind::GroupNorm) op().forward_collectives.push_back(all_reduce(bytes));
    if (op().differentiable) op().backward_collectives.push_back(all_reduce(bytes));
    // The sums of a batch norm's backward pass are the gradients of its weights.
    if (op().kind == OperatorKind::GroupNorm) sum_weight_gradients();
    return Axis::Field;
  }

  Axis elementwise() {
    reduce_input_gradients();
    sum_weight_gradients();
    return common_axis();
  }

  // Rows of the neighbours that a part needs: as many as the kernel reaches over the stride, half from each side; and
  // their gradients, back.
  std::int64_t exchange_halo(std::int64_t kernel, std::int64_t stride) {
    const std::int64_t rows = std::max<std::int64_t>(0, kernel - stride);
    if (rows == 0) return 0;
    const Tensor& from = op().inputs.front();
    if ((rows + 1) / 2 > from.shape[1]) {
      throw UserError(where(),
                      "its kernel of " + std::to_string(kernel) + " rows reaches beyond the " +
                          std::to_string(from.shape[1]) + " rows of a neighbour",
                      "choose a smaller domain_sharding, or larger images");
    }
    const double bytes =
        static_cast<double>(from.bytes()) / static_cast<double>(from.shape[1]) * static_cast<double>(rows);
    op().forward_collectives.push_back({CollectiveKind::HaloExchange, bytes, 1});
    if (reads().front().gradient) op().backward_collectives.push_back({CollectiveKind::HaloExchange, bytes, 1});
    return rows;
  }

  void sum_weight_gradients() {
    for (Weight& weight : op().weights) weight.partial_gradient = weight.trainable;
  }

  [[noreturn]] void needs_whole_images() const {
    needs_whole_inputs("pool over the whole field before it, or set domain_sharding to 1");
  }

  bool training_;
  bool any_ = false;
};

}  // namespace

Option domain_sharding_option() {
  return sharing_option("domain_sharding",
                        "IPUs that share the images of each stage by rows, with halo exchanges between neighbours; "
                        "weights are on each. A replica has that many IPUs for each one of ipu_config.");
}

void set_sharing(const WorkloadRequest& request, WorkloadGraph& graph) {
  const std::int64_t tensors = tensor_parallel(request);
  const std::int64_t domain = sharing_ipus(request, "domain_sharding");
  if (tensors > 1 && domain > 1) {
    throw UserError(request.options.where("domain_sharding"),
                    "domain_sharding and tensor_parallel divide a stage in two ways", "use one of them");
  }
  graph.ipus_per_stage = static_cast<int>(std::max(tensors, domain));
  graph.shares_domain = domain > 1;
}

WorkloadGraph domain_share(const WorkloadGraph& whole, bool training) { return DomainWalk(whole, training).run(); }

}  // namespace podsim
