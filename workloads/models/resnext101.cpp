// ResNeXt-101 (Xie et al. 2017): 32 groups of 4 or 8 channels in the 3x3 convolutions.
#include "workloads/convolutional.hpp"

namespace podsim {

namespace {

class ResNeXt101Workload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "resnext101"; }
  [[nodiscard]] std::string description() const override { return "ResNeXt-101, image classification."; }
  [[nodiscard]] std::vector<Option> options() const override {
    Option variant{"variant", OptionType::Choice, "32x4d", "Groups x channels of a group in stage 1."};
    variant.choices = {"32x4d", "32x8d"};
    std::vector<Option> declared = {variant};
    for (Option& option : image_options(224, 1000)) declared.push_back(std::move(option));
    for (Option& option : norm_options("batch", 32)) declared.push_back(std::move(option));
    return declared;
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    const std::int64_t width = request.options.text("variant") == "32x4d" ? 4 : 8;
    ResidualNetwork network{name(), {3, 4, 23, 3}, 32, width};
    network.classes = request.options.integer("classes");
    return build_residual_network(network, request);
  }
};

}  // namespace

const Workload& workload_resnext101() {
  static const ResNeXt101Workload workload;
  return workload;
}

}  // namespace podsim
