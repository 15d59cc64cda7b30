// The four-block MNIST network of the PopTorch pipelining tutorial: two convolutions with pooling, two linear layers,
// blocks B1 to B4; the loss is in B4.
#include "workloads/convolutional.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

// nn.Conv2d without padding, nn.MaxPool2d(2), nn.ReLU.
Vertex add_convolution(LayerBuilder& builder, Vertex x, std::int64_t filters) {
  ConvolutionLayer layer{filters, 5, 5};
  layer.bias = true;
  x = builder.convolution("convolution", x, layer);
  x = builder.pool("pool", x, {2, 2, 0, true});
  return builder.activation("activation", x, OperatorKind::Relu);
}

class MnistPipelineWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "mnist_pipeline"; }
  [[nodiscard]] std::string description() const override {
    return "The four-block MNIST network of the PopTorch pipelining tutorial, blocks B1 to B4.";
  }
  [[nodiscard]] std::vector<Option> options() const override { return {}; }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    LayerBuilder builder(name(), request);
    builder.graph().sample_name = "images";
    builder.begin_block("B1");
    Vertex x = image_input(builder, 28, 1);
    x = add_convolution(builder, x, 10);
    builder.begin_block("B2");
    x = add_convolution(builder, x, 20);
    builder.begin_block("B3");
    x = builder.activation("activation", builder.dense("linear", x, {256, true, "", 1, true}), OperatorKind::Relu);
    builder.begin_block("B4");
    x = builder.dense("linear", x, 10);
    finish_classifier(builder, x);
    return builder.finish();
  }
};

}  // namespace

const Workload& workload_mnist_pipeline() {
  static const MnistPipelineWorkload workload;
  return workload;
}

}  // namespace podsim
