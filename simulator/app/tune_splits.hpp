// The splits of a model's layers over the IPUs of a pipeline that `podsim tune` chooses from.
#pragma once

#include <cstdint>
#include <vector>

namespace podsim {

// Layers of each IPU, in order. All possibilities where these are few; else those that spread the layers evenly, with
// as many or fewer on the first IPU (which has the embeddings), and whatever differs from one of these by a layer that
// has moved to a neighbour. Only the first and the last IPU may be without layers.
[[nodiscard]] std::vector<std::vector<std::int64_t>> layer_splits(std::int64_t layers, std::int64_t depth);

}  // namespace podsim
