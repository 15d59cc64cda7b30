// ResNet-50 (He et al. 2016), version 1.5: the stride of a stage is in its first 3x3 convolution.
#include "workloads/convolutional.hpp"

namespace podsim {

namespace {

class ResNet50Workload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "resnet50"; }
  [[nodiscard]] std::string description() const override { return "ResNet-50 v1.5, image classification."; }
  [[nodiscard]] std::vector<Option> options() const override {
    std::vector<Option> declared = image_options(224, 1000);
    for (Option& option : norm_options("batch", 32)) declared.push_back(std::move(option));
    return declared;
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    return build_residual_network({name(), {3, 4, 6, 3}, 1, 64}, request);
  }
};

}  // namespace

const Workload& workload_resnet50() {
  static const ResNet50Workload workload;
  return workload;
}

}  // namespace podsim
