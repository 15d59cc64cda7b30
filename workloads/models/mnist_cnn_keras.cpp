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

// metrics=["accuracy"]: the share of rows whose largest logit is where the label has it, and the means of accuracy and
// loss so far, each a total and a count on the IPU. XLA joins neighbouring elementwise operations to one.
void add_metrics(LayerBuilder& builder, Vertex logits) {
  const std::int64_t batch = builder.request().micro_batch_size;
  const Vertex predicted = builder.rearrange("predicted_class", OperatorKind::Reduction, {logits}, {batch});
  const Vertex labelled = builder.rearrange("labelled_class", OperatorKind::Reduction, {logits}, {batch});
  const Vertex hits = builder.elementwise("hits", {predicted, labelled}, 2);
  for (const char* metric : {"accuracy", "mean_loss"}) {
    const std::string name = metric;
    const Vertex sum = builder.rearrange(name + "/sum", OperatorKind::Reduction, {hits}, {1});
    const Vertex total = builder.elementwise(name + "/total", {sum});
    const Vertex count = builder.elementwise(name + "/count", {total});
    for (const Vertex vertex : {sum, total, count}) builder.at(vertex).differentiable = false;
  }
  for (const Vertex vertex : {predicted, labelled, hits}) builder.at(vertex).differentiable = false;
}

class MnistCnnKerasWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "mnist_cnn_keras"; }
  [[nodiscard]] std::string description() const override {
    return "The MNIST network of the Keras tutorials (34,826 parameters), on one IPU.";
  }
  [[nodiscard]] std::vector<Option> options() const override {
    return {
        {"metrics", OptionType::Boolean, false, "Training computes accuracy and mean loss on the IPU, as Keras does."}};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    LayerBuilder builder(name(), request);
    builder.graph().sample_name = "images";
    builder.begin_block("network");
    Vertex x = image_input(builder, 28, 1);
    x = add_convolution(builder, "convolution_1", x, 32);
    x = add_convolution(builder, "convolution_2", x, 64);
    x = builder.dropout("dropout", x, kDropout);
    x = builder.dense("classifier", x, {10, true, "", 1, true});
    if (request.training && request.options.boolean("metrics")) add_metrics(builder, x);
    finish_classifier(builder, x);
    return builder.finish();
  }
};

}  // namespace

const Workload& workload_mnist_cnn_keras() {
  static const MnistCnnKerasWorkload workload;
  return workload;
}

}  // namespace podsim
