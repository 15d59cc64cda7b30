// What can be said of one operator from its shapes alone: floating-point operations, sizes, and a signature for memos.
#include "workloads/operator.hpp"

#include <array>
#include <charconv>

namespace podsim {

namespace {

constexpr double kFlopsPerMac = 2;

void append(std::string& text, std::int64_t number) {
  text += std::to_string(number);
  text += ',';
}

// Shortest form that reads back equal, so that different numbers never look the same.
void append(std::string& text, double number) {
  std::array<char, 32> buffer{};
  text.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr);
  text += ',';
}

void append(std::string& text, const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    for (const std::int64_t extent : tensor.shape) append(text, extent);
    text += name_of(tensor.type);
    text += ';';
  }
}

struct ShapeWriter {
  std::string& text;

  void operator()(std::monostate) const {}
  void operator()(const MatMulShape& s) const {
    for (const std::int64_t number : {s.groups, s.rows, s.inner, s.columns}) append(text, number);
    append(text, std::int64_t{s.right_is_weight});
  }
  void operator()(const ConvolutionShape& s) const {
    for (const std::int64_t number :
         {s.batch, s.in_height, s.in_width, s.in_channels, s.out_height, s.out_width, s.out_channels, s.kernel_height,
          s.kernel_width, s.stride_height, s.stride_width, s.padding_height, s.padding_width, s.groups}) {
      append(text, number);
    }
    append(text, std::int64_t{s.transposed});
  }
  void operator()(const GatherShape& s) const {
    for (const std::int64_t number : {s.lookups, s.rows, s.width}) append(text, number);
  }
  void operator()(const NormShape& s) const {
    for (const std::int64_t number : {s.groups, s.elements, s.replica_span}) append(text, number);
  }
  void operator()(const TopKShape& s) const {
    for (const std::int64_t number : {s.rows, s.elements, s.k}) append(text, number);
  }
  void operator()(const CtcShape& s) const {
    for (const std::int64_t number : {s.batch, s.time, s.labels, s.classes}) append(text, number);
  }
  void operator()(const PoolShape& s) const {
    for (const std::int64_t number : {s.out_elements, s.window, s.stride}) append(text, number);
    append(text, std::int64_t{s.maximum});
  }
  void operator()(const ProfiledTimes& s) const {
    for (const double seconds : {s.forward_seconds, s.backward_seconds, s.recompute_seconds, s.weight_update_seconds}) {
      append(text, seconds);
    }
  }
};

double convolution_macs(const ConvolutionShape& s) {
  const double kernel = static_cast<double>(s.kernel_height * s.kernel_width);
  const double channels =
      static_cast<double>(s.in_channels) * static_cast<double>(s.out_channels) / static_cast<double>(s.groups);
  const std::int64_t positions = s.transposed ? s.in_height * s.in_width : s.out_height * s.out_width;
  return static_cast<double>(s.batch * positions) * kernel * channels;
}

}  // namespace

std::string_view name_of(OperatorKind kind) {
  constexpr std::array<std::string_view, 26> kNames = {"input",      "matmul",     "convolution", "embedding_gather",
                                                       "layer_norm", "group_norm", "batch_norm",  "softmax",
                                                       "gelu",       "relu",       "swish",       "tanh",
                                                       "sigmoid",    "dropout",    "elementwise", "pooling",
                                                       "reduction",  "transpose",  "concat",      "slice",
                                                       "loss",       "gather",     "scatter",     "top_k",
                                                       "ctc_loss",   "profiled"};
  static_assert(static_cast<std::size_t>(OperatorKind::Profiled) + 1 == kNames.size());
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(ElementFunction function) {
  constexpr std::array<std::string_view, 17> kNames = {
      "absolute", "add",      "compare", "cosine", "divide", "exponent", "logical_or",  "log1p",   "logarithm",
      "maximum",  "multiply", "negate",  "select", "signum", "square",   "square_root", "subtract"};
  static_assert(static_cast<std::size_t>(ElementFunction::Subtract) + 1 == kNames.size());
  return kNames[static_cast<std::size_t>(function)];
}

const std::vector<ElementFunction>& element_functions() {
  static const std::vector<ElementFunction> all = [] {
    std::vector<ElementFunction> functions;
    for (int i = 0; i <= static_cast<int>(ElementFunction::Subtract); ++i) {
      functions.push_back(static_cast<ElementFunction>(i));
    }
    return functions;
  }();
  return all;
}

std::vector<ElementFunction> gradient_functions(ElementFunction function) {
  using enum ElementFunction;
  switch (function) {
    case Absolute: return {Signum, Multiply};
    case Cosine: return {Cosine, Negate, Multiply};  // the sine costs what the cosine does
    case Divide:
    case Exponent:
    case Multiply: return {Multiply};
    case LogOnePlus: return {Add, Divide};
    case Logarithm: return {Divide};
    case Maximum: return {Compare, Multiply};
    case Negate: return {Negate};
    case Select: return {Select};
    case Square: return {Multiply, Multiply};
    case SquareRoot: return {Divide};
    case Add:
    case Subtract:
    case Compare:
    case LogicalOr:
    case Signum: return {};
  }
  return {};
}

double Operator::forward_amp_flops() const {
  if (const auto* matmul = std::get_if<MatMulShape>(&shape)) {
    return kFlopsPerMac * static_cast<double>(matmul->groups) * static_cast<double>(matmul->rows) *
           static_cast<double>(matmul->inner) * static_cast<double>(matmul->columns);
  }
  if (const auto* convolution = std::get_if<ConvolutionShape>(&shape)) {
    return kFlopsPerMac * convolution_macs(*convolution);
  }
  return 0;
}

std::int64_t Operator::output_elements() const {
  std::int64_t sum = 0;
  for (const Tensor& tensor : outputs) sum += tensor.elements();
  return sum;
}

std::int64_t Operator::output_bytes() const {
  std::int64_t sum = 0;
  for (const Tensor& tensor : outputs) sum += tensor.bytes();
  return sum;
}

std::int64_t Operator::weight_elements() const {
  std::int64_t sum = 0;
  for (const Weight& weight : weights) sum += weight.elements;
  return sum;
}

std::string Operator::signature() const {
  std::string text(name_of(kind));
  text += '(';
  std::visit(ShapeWriter{text}, shape);
  text += ")in:";
  append(text, inputs);
  text += "out:";
  append(text, outputs);
  text += "weights:";
  for (const Weight& weight : weights) {
    append(text, weight.elements);
    text += name_of(weight.type);
    text += weight.trainable ? "t;" : "f;";
  }
  text += "operations:";
  append(text, operations_per_element);
  for (const ElementFunction function : functions) text += std::string(name_of(function)) + ',';
  append(text, serial_splits);
  append(text, std::int64_t{differentiable});
  return text;
}

}  // namespace podsim
