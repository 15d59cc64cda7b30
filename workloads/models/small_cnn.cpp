// The small network of the PopTorch tutorial on efficient data loading: 128 x 128 grey images, fp32 in the tutorial.
#include "workloads/convolutional.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

class SmallCnnWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "small_cnn"; }
  [[nodiscard]] std::string description() const override {
    return "The network of the PopTorch tutorial on efficient data loading (4.18 M parameters), on one IPU.";
  }
  [[nodiscard]] std::vector<Option> options() const override { return image_options(128, 10); }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    LayerBuilder builder(name(), request);
    builder.graph().sample_name = "images";
    builder.begin_block("network");
    Vertex x = image_input(builder, request.options.integer("image_size"), 1);
    ConvolutionLayer first{5, 3, 3};
    first.bias = true;
    x = builder.activation("activation_1", builder.convolution("convolution_1", x, first), OperatorKind::Relu);
    x = builder.pool("pool", x, {2, 2, 0, true});
    ConvolutionLayer second{12, 5, 5};
    second.bias = true;
    x = builder.activation("activation_2", builder.convolution("convolution_2", x, second), OperatorKind::Relu);
    x = builder.group_norm("norm", x, 3);
    x = builder.activation("activation_3", builder.dense("dense_1", x, {100, true, "", 1, true}), OperatorKind::Relu);
    finish_classifier(builder, builder.dense("dense_2", x, request.options.integer("classes")));
    return builder.finish();
  }
};

}  // namespace

const Workload& workload_small_cnn() {
  static const SmallCnnWorkload workload;
  return workload;
}

}  // namespace podsim
