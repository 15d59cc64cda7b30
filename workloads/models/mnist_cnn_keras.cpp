// The MNIST network of the Keras tutorials: two 3x3 convolutions with pooling, dropout, one dense layer.
#include "workloads/convolutional.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

constexpr double kDropout = 0.5;

Vertex add_convolution(LayerBuilder& builder, const std::string& name, Vertex x, std::int64_t filters) {
  ConvolutionLayer layer{filters, 3, 3};
  layer.bias = true;
  x = builder.convolution(name, x, layer);
  x = builder.activation(name + "_activation", x, OperatorKind::Relu);
  return builder.pool(name + "_pool", x, {2, 2, 0, true});
}

class MnistCnnKerasWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "mnist_cnn_keras"; }
  [[nodiscard]] std::string description() const override {
    return "The MNIST network of the Keras tutorials (34,826 parameters), on one IPU.";
  }
  [[nodiscard]] std::vector<Option> options() const override { return {}; }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    LayerBuilder builder(name(), request);
    builder.graph().sample_name = "images";
    builder.begin_block("network");
    Vertex x = image_input(builder, 28, 1);
    x = add_convolution(builder, "convolution_1", x, 32);
    x = add_convolution(builder, "convolution_2", x, 64);
    x = builder.dropout("dropout", x, kDropout);
    finish_classifier(builder, builder.dense("classifier", x, {10, true, "", 1, true}));
    return builder.finish();
  }
};

}  // namespace

const Workload& workload_mnist_cnn_keras() {
  static const MnistCnnKerasWorkload workload;
  return workload;
}

}  // namespace podsim
