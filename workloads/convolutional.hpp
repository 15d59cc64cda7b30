// What convolutional families share: the choice of the norm, image input and classifier, and residual networks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/layers.hpp"

namespace podsim {

// Options "norm", "norm_groups", "norm_span", "checkpoints" and "domain_sharding", and what the norm ones say.
[[nodiscard]] std::vector<Option> norm_options(const std::string& default_norm, std::int64_t default_groups);

struct NormChoice {
  bool batch = true;
  std::int64_t groups = 1;        // of group norm
  std::int64_t replica_span = 1;  // replicas that share the statistics of batch norm; inference has them already
};
[[nodiscard]] NormChoice read_norm(const WorkloadRequest& request);
[[nodiscard]] WorkloadGraph::Vertex add_norm(LayerBuilder& builder, const std::string& name, WorkloadGraph::Vertex x,
                                             const NormChoice& norm);

// Convolution, norm, and activation unless it is Elementwise (none). Operators: name, name_norm, name_activation.
[[nodiscard]] WorkloadGraph::Vertex convolve_and_norm(LayerBuilder& builder, const std::string& name,
                                                      WorkloadGraph::Vertex x, const ConvolutionLayer& layer,
                                                      const NormChoice& norm, OperatorKind activation);

// Options "image_size" and "classes".
[[nodiscard]] std::vector<Option> image_options(std::int64_t image_size, std::int64_t classes);
[[nodiscard]] Option image_size_option(std::int64_t image_size);
// "classes" of a model that reads a config.json: not given, ModelConfig::labels says how many.
[[nodiscard]] Option configured_classes_option();

// [batch, image_size, image_size, channels] in the workload's precision.
[[nodiscard]] WorkloadGraph::Vertex image_input(LayerBuilder& builder, std::int64_t image_size, std::int64_t channels);

// Loss against host labels in training, logits as the result in inference.
void finish_classifier(LayerBuilder& builder, WorkloadGraph::Vertex logits);

// Residual networks (He et al. 2016, table 1; Xie et al. 2017): blocks "stem", "stage<i>/block<j>", "head".
struct ResidualNetwork {
  std::string model;
  std::vector<std::int64_t> repeats;
  std::int64_t groups = 1;       // of the 3x3 convolutions of bottlenecks
  std::int64_t base_width = 64;  // channels of such a convolution in stage 1, for each group if groups > 1
  std::vector<std::int64_t> outputs = {256, 512, 1024, 2048};  // channels of each stage
  std::int64_t stem_channels = 64;
  std::int64_t image_channels = 3;
  bool bottleneck = true;              // 1x1, 3x3, 1x1 convolutions; else two of 3x3
  bool stride_in_first_stage = false;  // as the other stages
  bool stride_in_reduction = false;    // of a bottleneck (version 1), not in its 3x3 convolution (version 1.5)
  OperatorKind activation = OperatorKind::Relu;
  std::int64_t classes = 1000;
};
[[nodiscard]] std::unique_ptr<WorkloadGraph> build_residual_network(const ResidualNetwork& network,
                                                                    const WorkloadRequest& request);

}  // namespace podsim
