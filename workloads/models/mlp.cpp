// A multi-layer perceptron: one block for each dense layer, the loss with the last one.
#include "simulator/core/error.hpp"
#include "workloads/convolutional.hpp"
#include "workloads/model_config.hpp"
#include "workloads/tensor_parallel.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

// Layers are divided in pairs, the first one by columns, the second one by rows; a last one that has no mate is not.
Split split_of(const WorkloadRequest& request, const std::vector<std::int64_t>& widths, std::size_t layer) {
  if (layer % 2 == 0) return Split::Rows;
  if (layer + 1 == widths.size()) return Split::None;
  check_divides(request, widths[layer], "width", request.options.where("layers"));
  return Split::Columns;
}

class MlpWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "mlp"; }
  [[nodiscard]] std::string description() const override {
    return "Multi-layer perceptron with given layer widths; blocks layer0, layer1, …";
  }
  [[nodiscard]] std::vector<Option> options() const override {
    Option activation{"activation", OptionType::Choice, "relu", "Between the layers."};
    activation.choices = {"relu", "gelu", "tanh", "silu"};
    return {{"layers", OptionType::Integers, Value(Value::Array{784, 512, 512, 512, 10}),
             "Widths: inputs, hidden layers, classes.", 1},
            activation,
            tensor_parallel_option()};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    const std::vector<std::int64_t> widths = request.options.integers("layers");
    if (widths.size() < 2) {
      throw UserError(request.options.where("layers"), "layers needs at least 2 widths, inputs and classes",
                      "for instance [784, 512, 10]");
    }
    const OperatorKind activation =
        activation_named(request.options.text("activation"), request.options.where("activation"));
    if (widths.size() < 3 && tensor_parallel(request) > 1) {
      throw UserError(request.options.where("layers"), "tensor_parallel divides pairs of layers, and there is only one",
                      "give a hidden layer, or set tensor_parallel to 1");
    }
    LayerBuilder builder(name(), request);
    Vertex x = 0;
    for (std::size_t layer = 1; layer < widths.size(); ++layer) {
      builder.begin_block("layer" + std::to_string(layer - 1));
      if (layer == 1) x = builder.input("samples", {request.micro_batch_size, widths.front()}, request.precision);
      x = builder.dense("dense", x, widths[layer], split_of(request, widths, layer));
      if (layer + 1 < widths.size()) x = builder.activation("activation", x, activation);
    }
    finish_classifier(builder, x);
    return builder.finish();
  }
};

}  // namespace

const Workload& workload_mlp() {
  static const MlpWorkload workload;
  return workload;
}

}  // namespace podsim
