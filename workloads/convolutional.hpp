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
  std::int64_t replica_span = 1;  // replicas that share the statistics of batch norm
};
[[nodiscard]] NormChoice read_norm(const Options& options);
[[nodiscard]] WorkloadGraph::Vertex add_norm(LayerBuilder& builder, const std::string& name, WorkloadGraph::Vertex x,
                                             const NormChoice& norm);

// Convolution, norm, and activation unless it is Elementwise (none). Operators: name, name_norm, name_activation.
[[nodiscard]] WorkloadGraph::Vertex convolve_and_norm(LayerBuilder& builder, const std::string& name,
                                                      WorkloadGraph::Vertex x, const ConvolutionLayer& layer,
                                                      const NormChoice& norm, OperatorKind activation);

// Options "image_size" and "classes".
[[nodiscard]] std::vector<Option> image_options(std::int64_t image_size, std::int64_t classes);

// [batch, image_size, image_size, channels] in the workload's precision.
[[nodiscard]] WorkloadGraph::Vertex image_input(LayerBuilder& builder, std::int64_t image_size, std::int64_t channels);

// Loss against host labels in training, logits as the result in inference.
void finish_classifier(LayerBuilder& builder, WorkloadGraph::Vertex logits);

// Bottleneck residual networks (He et al. 2016, table 1; Xie et al. 2017): blocks "stem", "stage<i>/block<j>", "head".
struct ResidualNetwork {
  std::string model;
  std::vector<std::int64_t> repeats;
  std::int64_t groups = 1;       // of the 3x3 convolutions
  std::int64_t base_width = 64;  // channels of a 3x3 convolution in stage 1, for each group if groups > 1
};
[[nodiscard]] std::unique_ptr<WorkloadGraph> build_residual_network(const ResidualNetwork& network,
                                                                    const WorkloadRequest& request);

}  // namespace podsim
