// Work of the passes of matmuls and convolutions, and the data that positions of an image read.
#include "simulator/machine/contraction.hpp"

#include <gtest/gtest.h>

#include "tests/unit/machine/test_chip.hpp"

namespace podsim {
namespace {

double macs(const Operator& op, WorkKind work) {
  double sum = 0;
  for (const Contraction& contraction : contractions_of(op, work)) sum += contraction.macs();
  return sum;
}

TEST(Contraction, EachPassOfAWeightMatmulHasTheForwardWork) {
  const Operator op = matmul(1, 100, 200, 300);
  for (const WorkKind work : {WorkKind::Forward, WorkKind::BackwardInput, WorkKind::BackwardWeights}) {
    EXPECT_DOUBLE_EQ(2 * macs(op, work), op.forward_amp_flops());
  }
}

TEST(Contraction, ProductOfActivationsHasTwoGradientsAndNoWeights) {
  const Operator op = matmul(16, 128, 64, 128, false);
  EXPECT_DOUBLE_EQ(2 * macs(op, WorkKind::Forward), op.forward_amp_flops());
  EXPECT_DOUBLE_EQ(macs(op, WorkKind::BackwardInput), 2 * macs(op, WorkKind::Forward));
  EXPECT_TRUE(contractions_of(op, WorkKind::BackwardWeights).empty());
}

ConvolutionShape strided() {
  ConvolutionShape shape;
  shape.batch = 4;
  shape.in_height = shape.in_width = 56;
  shape.out_height = shape.out_width = 28;
  shape.in_channels = 64;
  shape.out_channels = 128;
  shape.kernel_height = shape.kernel_width = 3;
  shape.stride_height = shape.stride_width = 2;
  shape.padding_height = shape.padding_width = 1;
  shape.groups = 4;
  return shape;
}

TEST(Contraction, EachPassOfAConvolutionHasTheForwardWork) {
  ConvolutionShape shape = strided();
  for (const bool transposed : {false, true}) {
    if (transposed) {
      std::swap(shape.in_height, shape.out_height);
      std::swap(shape.in_width, shape.out_width);
      std::swap(shape.in_channels, shape.out_channels);
      shape.transposed = true;
    }
    const Operator op = convolution(shape);
    // N x OH x OW x K x Cin x Cout / groups, positions of the small image in both forms
    EXPECT_DOUBLE_EQ(op.forward_amp_flops(), 2.0 * 4 * 28 * 28 * 9 * 64 * 128 / 4);
    for (const WorkKind work : {WorkKind::Forward, WorkKind::BackwardInput, WorkKind::BackwardWeights}) {
      EXPECT_DOUBLE_EQ(2 * macs(op, work), op.forward_amp_flops());
    }
  }
}

TEST(Contraction, GradientOfTheInputHasTheSizeOfTheInput) {
  const Operator op = convolution(strided());
  EXPECT_DOUBLE_EQ(contractions_of(op, WorkKind::BackwardInput)[0].result_elements(), 4.0 * 56 * 56 * 64);
  EXPECT_DOUBLE_EQ(contractions_of(op, WorkKind::BackwardWeights)[0].result_elements(), 9.0 * 64 * 128 / 4);
  EXPECT_DOUBLE_EQ(contractions_of(op, WorkKind::Forward)[0].result_elements(), 4.0 * 28 * 28 * 128);
}

TEST(Contraction, PositionsReadTheirWindow) {
  const ImageField field{2, 8, 8, 16, 16, 3, 3, 2, 2};
  EXPECT_EQ(field.data_positions(0), 0);
  EXPECT_EQ(field.data_positions(1), 9);                // one window
  EXPECT_EQ(field.data_positions(4), (3 * 2 + 3) * 3);  // four neighbours in a line
  EXPECT_EQ(field.data_positions(16), (2 + 3) * 16);    // two lines
  EXPECT_EQ(field.data_positions(64), 256);             // an image
  EXPECT_EQ(field.data_positions(128), 512);
  const ImageField pointwise{2, 8, 8, 16, 16, 1, 1, 2, 2};
  EXPECT_EQ(pointwise.data_positions(64), 64);  // only every other position is read
}

}  // namespace
}  // namespace podsim
