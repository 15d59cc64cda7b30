// IPUConfig: the defaults and rules that optimum-graphcore documents, and what is refused.
#include "simulator/config/ipu_config.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/config/json.hpp"
#include "tests/support/message.hpp"

namespace podsim {
namespace {

IpuConfig config_of(const std::string& text) { return read_ipu_config(parse_json(text, "c.json")); }

std::string refusal(const std::string& text) {
  return message_of([&] { (void)config_of(text); });
}

using Counts = std::vector<std::int64_t>;

TEST(IpuConfig, DefaultsAreThoseOfTheDocumentation) {
  const IpuConfig config = read_ipu_config(Value());
  EXPECT_FALSE(config.seed.has_value());
  EXPECT_FALSE(config.auto_loss_scaling);
  EXPECT_EQ(config.executable_cache_dir, "");
  EXPECT_EQ(config.replication_factor, 1);
  EXPECT_EQ(config.inference_replication_factor, 1);
  EXPECT_EQ(config.gradient_accumulation_steps, 1);
  EXPECT_EQ(config.layers_per_ipu, Counts{1});
  EXPECT_TRUE(config.optimizer_state_offchip);
  EXPECT_FALSE(config.replicated_tensor_sharding);
  EXPECT_EQ(config.matmul_proportion, std::vector<double>{0.6});
  EXPECT_TRUE(config.enable_half_partials);
  EXPECT_EQ(config.embedding_serialization_factor, 1);
  EXPECT_FALSE(config.recompute_checkpoint_every_layer);
  EXPECT_EQ(config.device_iterations, 1);
  EXPECT_EQ(config.inference_device_iterations, 1);
  EXPECT_EQ(config.output_mode, "final");
}

TEST(IpuConfig, StructAndDeclarationAgreeOnDefaults) {
  EXPECT_EQ(read_ipu_config(Value()).to_value(), IpuConfig().to_value());
}

TEST(IpuConfig, EveryFieldHasHelp) {
  for (const Option& option : ipu_config_options()) EXPECT_FALSE(option.help.empty()) << option.name;
}

constexpr const char* kPublishedForm = R"({
  "embedding_serialization_factor": 0, "recompute_checkpoint_every_layer": true, "optimizer_state_offchip": false,
  "replicated_tensor_sharding": true, "enable_half_first_order_momentum": true, "enable_half_partials": true,
  "device_iterations": 2, "inference_device_iterations": 4,
  "replication_factor": {"pod4": 1, "pod8": 2, "pod16": 4, "default": 3},
  "inference_replication_factor": {"pod4": 1, "pod16": 4},
  "gradient_accumulation_steps": 16, "executable_cache_dir": "./exe_cache", "ipus_per_replica": 4, "seed": 42,
  "layers_per_ipu": [9, 4, 4, 4], "matmul_proportion": [0.1, 0.2, 0.3, 0.4], "output_mode": "all",
  "optimum_version": "1.0.0"})";

TEST(IpuConfig, ReadsThePublishedForm) {
  const IpuConfig config = config_of(kPublishedForm).for_pod_type("pod16");
  EXPECT_EQ(config.embedding_serialization_factor, 1);
  EXPECT_TRUE(config.enable_half_first_order_momentum);
  EXPECT_FALSE(config.optimizer_state_offchip);
  EXPECT_EQ(config.replication_factor, 4);
  EXPECT_EQ(config.inference_replication_factor, 4);
  EXPECT_EQ(config.seed, 42);
  EXPECT_EQ(config.layers_per_ipu, (Counts{9, 4, 4, 4}));
  EXPECT_EQ(config.matmul_proportions(false, 4), (std::vector<double>{0.1, 0.2, 0.3, 0.4}));
  EXPECT_EQ(config.optimum_version, "1.0.0");
}

TEST(IpuConfig, WritesWhatItReads) {
  const IpuConfig config = config_of(kPublishedForm);
  const IpuConfig again = config_of(to_json(config.to_value()));
  EXPECT_EQ(again.to_value(), config.to_value());
  EXPECT_EQ(again.for_pod_type("pod16").replication_factor, 4);
  EXPECT_EQ(config.to_value().at("replication_factor").at("pod16").integer(), 4);
}

TEST(IpuConfig, RefusesTypos) {
  EXPECT_EQ(refusal(R"({"replcation_factor": 2})"),
            "c.json:/replcation_factor: unknown key \"replcation_factor\" (did you mean \"replication_factor\"?)");
}

TEST(IpuConfig, RefusesWrongValues) {
  EXPECT_EQ(refusal(R"({"replication_factor": 0})"),
            "c.json:/replication_factor: must be between 1 and 1e+09, found 0");
  EXPECT_EQ(refusal(R"({"gradient_accumulation_steps": 2.5})"),
            "c.json:/gradient_accumulation_steps: expected an integer, found 2.5");
  EXPECT_EQ(refusal(R"({"matmul_proportion": 1.5})"), "c.json:/matmul_proportion: must be between 0 and 1, found 1.5");
  EXPECT_EQ(refusal(R"({"output_mode": "last"})"),
            "c.json:/output_mode: unknown choice \"last\" (one of all, sum, final, default)");
  EXPECT_EQ(refusal(R"({"layers_per_ipu": [3, -2]})"),
            "c.json:/layers_per_ipu/1: must be between -1 and 1e+09, found -2");
}

// Replicas x accumulation x device iterations in training; replicas x device iterations in inference.
TEST(IpuConfig, BatchSizeFactor) {
  const IpuConfig config = config_of(kPublishedForm);
  EXPECT_EQ(config.batch_size_factor(false, "pod16"), 4 * 16 * 2);
  EXPECT_EQ(config.batch_size_factor(false, "pod4"), 1 * 16 * 2);
  EXPECT_EQ(config.batch_size_factor(true, "pod16"), 4 * 4);
  EXPECT_EQ(config_of(R"({"replication_factor": 16, "gradient_accumulation_steps": 512})").batch_size_factor(false),
            16 * 512);
}

TEST(PodTypes, NoneTakesTheDefaultEntry) {
  const IpuConfig config = config_of(R"({"replication_factor": {"pod4": 1, "default": 3}})");
  EXPECT_EQ(config.for_pod_type(std::nullopt).replication_factor, 3);
  EXPECT_EQ(config.replication_factor, 3);
  EXPECT_TRUE(config.for_pod_type("pod4").by_pod_type.is_null());
}

TEST(PodTypes, AMissingEntryIsAnError) {
  const std::string text = R"({"replication_factor": {"pod4": 1, "pod16": 4}})";
  EXPECT_EQ(message_of([&] { (void)config_of(text).for_pod_type(std::nullopt); }),
            "c.json:/replication_factor: there is no entry for \"default\" (it has pod4, pod16)");
  EXPECT_EQ(message_of([&] { (void)config_of(text).for_pod_type("pod64"); }),
            "c.json:/replication_factor: there is no entry for \"pod64\" (it has pod4, pod16)");
}

TEST(PodTypes, UnknownOnesAreErrors) {
  EXPECT_EQ(message_of([] { (void)config_of("{}").for_pod_type("pod12"); }),
            "c.json: unknown pod type \"pod12\" (one of pod4, pod8, pod16, pod32, pod64, default)");
  EXPECT_EQ(refusal(R"({"replication_factor": {"pod4": 1, "pod12": 2}})"),
            "c.json:/replication_factor/pod12: unknown pod type \"pod12\" (one of pod4, pod8, pod16, pod32, pod64, "
            "default)");
}

TEST(PodTypes, EntriesAreCheckedAsTheFieldItself) {
  EXPECT_EQ(refusal(R"({"replication_factor": {"pod4": 1, "pod16": 4.5}})"),
            "c.json:/replication_factor/pod16: expected an integer, found 4.5");
}

TEST(PodTypes, FollowFromPodNames) {
  EXPECT_EQ(pod_type_of("bow-pod16"), "pod16");
  EXPECT_EQ(pod_type_of("pod64"), "pod64");
}

Counts resolved(const std::string& text, std::int64_t layers, bool for_inference = false) {
  return config_of(text).resolved_layers(for_inference, layers);
}

TEST(Layers, AWildcardAloneSpreadsAllEvenly) {
  EXPECT_EQ(resolved(R"({"layers_per_ipu": [-1], "ipus_per_replica": 4})", 8), (Counts{2, 2, 2, 2}));
  EXPECT_EQ(resolved(R"({"ipus_per_replica": 4})", 8), (Counts{2, 2, 2, 2}));
}

TEST(Layers, WildcardsShareTheRestAndTheLastTakesTheRemainder) {
  EXPECT_EQ(resolved(R"({"layers_per_ipu": [1, 2, -1, -1]})", 13), (Counts{1, 2, 5, 5}));
  EXPECT_EQ(resolved(R"({"layers_per_ipu": [-1, -1]})", 9), (Counts{4, 5}));
  EXPECT_EQ(resolved(R"({"layers_per_ipu": [-1, -1, 2]})", 9), (Counts{3, 4, 2}));
  EXPECT_EQ(resolved(R"({"layers_per_ipu": [0, -1]})", 0), (Counts{0, 0}));
}

TEST(Layers, TheDefaultPutsAnyModelOnOneIpu) { EXPECT_EQ(resolved("{}", 12), Counts{12}); }

TEST(Layers, InferenceHasItsOwnWhereGiven) {
  const std::string text = R"({"layers_per_ipu": [3, 7, 7, 7], "inference_layers_per_ipu": [12, 12]})";
  EXPECT_EQ(resolved(text, 24, true), (Counts{12, 12}));
  EXPECT_EQ(resolved(text, 24, false), (Counts{3, 7, 7, 7}));
  EXPECT_EQ(config_of(text).ipus(true), 2);
  EXPECT_EQ(config_of(text).ipus(false), 4);
}

TEST(Layers, MustAddUpToTheModel) {
  EXPECT_EQ(
      message_of([] { (void)resolved(R"({"layers_per_ipu": [3, 7, 7, 7]})", 12); }),
      "c.json:/layers_per_ipu: layers_per_ipu [3, 7, 7, 7] places 24 layers, but the model has 12 (let the entries "
      "add up to 12, or use -1 for the rest)");
  EXPECT_EQ(
      message_of([] { (void)resolved(R"({"layers_per_ipu": [9, -1]})", 8); }),
      "c.json:/layers_per_ipu: layers_per_ipu [9, -1] places 9 layers, but the model has 8 (let the entries add up "
      "to 8, or use -1 for the rest)");
}

TEST(Layers, MustMatchTheIpusOfAReplica) {
  EXPECT_EQ(
      refusal(R"({"layers_per_ipu": [3, 7, 7, 7], "ipus_per_replica": 8})"),
      "c.json:/layers_per_ipu: layers_per_ipu [3, 7, 7, 7] is for 4 IPUs, but ipus_per_replica is 8 (give an entry "
      "for each IPU, or [-1] to spread the layers evenly)");
  EXPECT_EQ(refusal(R"({"layers_per_ipu": [3, 7], "inference_ipus_per_replica": 4})"),
            "c.json:/layers_per_ipu: layers_per_ipu [3, 7] is for 2 IPUs, but inference_ipus_per_replica is 4 (give an "
            "entry for each IPU, or [-1] to spread the layers evenly)");
  EXPECT_EQ(refusal(R"({"layers_per_ipu": []})"),
            "c.json:/layers_per_ipu: layers_per_ipu is empty (give the layers of each IPU)");
}

TEST(MatmulProportion, OneStandsForAllIpus) {
  EXPECT_EQ(config_of(R"({"matmul_proportion": 0.3})").matmul_proportions(false, 3),
            (std::vector<double>{0.3, 0.3, 0.3}));
}

TEST(MatmulProportion, AListHasOneForEachIpu) {
  EXPECT_EQ(refusal(R"({"layers_per_ipu": [3, 7, 7, 7], "matmul_proportion": [0.1, 0.2]})"),
            "c.json:/matmul_proportion: matmul_proportion has 2 entries for a replica of 4 IPUs (give one for each IPU "
            "of the replica)");
  EXPECT_EQ(
      refusal(R"({"layers_per_ipu": [3, 7], "inference_matmul_proportion": [0.1]})"),
      "c.json:/inference_matmul_proportion: inference_matmul_proportion has 1 entries for a replica of 2 IPUs (give "
      "one for each IPU of the replica)");
  EXPECT_EQ(
      message_of([] {
        (void)config_of(R"({"layers_per_ipu": [1, 1], "matmul_proportion": [0.1, 0.2]})").matmul_proportions(true, 8);
      }),
      "c.json:/matmul_proportion: matmul_proportion has 2 entries for a replica of 8 IPUs (give one for each IPU of "
      "the replica)");
}

TEST(MatmulProportion, InferenceHasItsOwnWhereGiven) {
  const IpuConfig config = config_of(R"({"matmul_proportion": 0.3, "inference_matmul_proportion": 0.1})");
  EXPECT_EQ(config.matmul_proportion_for(true), std::vector<double>{0.1});
  EXPECT_EQ(config.matmul_proportion_for(false), std::vector<double>{0.3});
}

TEST(Serialization, SplitsPerIpuGiveTheParts) {
  const IpuConfig config =
      config_of(R"({"layers_per_ipu": [1, 1, 1, 1], "serialized_embedding_splits_per_ipu": [3, 1, 0, 0],
                                         "projection_serialization_factor": 5})");
  EXPECT_EQ(config.embedding_parts(), 4);
  EXPECT_EQ(config.projection_parts(), 5);
}

TEST(Serialization, RefusesSplitsThatContradict) {
  const std::string place = "c.json:/serialized_embedding_splits_per_ipu: serialized_embedding_splits_per_ipu ";
  EXPECT_EQ(refusal(R"({"layers_per_ipu": [1, 1], "serialized_embedding_splits_per_ipu": [1, 1, 1]})"),
            place + "has 3 entries for a replica of 2 IPUs (give one for each IPU of the replica)");
  EXPECT_EQ(refusal(R"({"layers_per_ipu": [1, 1], "serialized_embedding_splits_per_ipu": [0, 0]})"),
            place + "[0, 0] has no part at all");
  EXPECT_EQ(refusal(R"({"layers_per_ipu": [1, 1, 1], "serialized_embedding_splits_per_ipu": [3, 0, 2]})"),
            place + "[3, 0, 2] has a gap (put the parts on consecutive IPUs)");
  EXPECT_EQ(refusal(R"({"layers_per_ipu": [1, 1], "serialized_embedding_splits_per_ipu": [1, 1],
                        "embedding_serialization_factor": 2})"),
            place + "and embedding_serialization_factor exclude each other (give one of them)");
}

TEST(OutputMode, DefaultIsAllForInferenceAndFinalForTraining) {
  const IpuConfig config = config_of(R"({"output_mode": "default"})");
  EXPECT_EQ(config.resolved_output_mode(true), "all");
  EXPECT_EQ(config.resolved_output_mode(false), "final");
  EXPECT_EQ(config_of(R"({"output_mode": "sum"})").resolved_output_mode(true), "sum");
}

TEST(UpdateFromString, SetsFieldsThatExist) {
  const IpuConfig before = config_of(R"({"layers_per_ipu": [3, 7, 7, 7], "replication_factor": {"default": 2}})");
  const IpuConfig after = before.updated_from_string(
      "device_iterations=4,enable_half_partials=false,output_mode=all,executable_cache_dir=12, "
      "matmul_proportion=[0.08 0.2 0.25 0.25],replication_factor=8");
  EXPECT_EQ(after.device_iterations, 4);
  EXPECT_FALSE(after.enable_half_partials);
  EXPECT_EQ(after.output_mode, "all");
  EXPECT_EQ(after.executable_cache_dir, "12");
  EXPECT_EQ(after.matmul_proportion, (std::vector<double>{0.08, 0.2, 0.25, 0.25}));
  EXPECT_EQ(after.replication_factor, 8);
  EXPECT_TRUE(after.by_pod_type.is_null());
  EXPECT_EQ(before.device_iterations, 1);
}

TEST(UpdateFromString, RefusesKeysThatDoNotExistAndWrongTypes) {
  const IpuConfig config = config_of("{}");
  EXPECT_EQ(message_of([&] { (void)config.updated_from_string("device_iteration=4"); }),
            "--set device_iteration=4: unknown key \"device_iteration\" (did you mean \"device_iterations\"?)");
  EXPECT_EQ(message_of([&] { (void)config.updated_from_string("device_iterations=4.5"); }),
            "--set device_iterations: expected an integer, found 4.5");
  EXPECT_EQ(message_of([&] { (void)config.updated_from_string("enable_half_partials=perhaps"); }),
            "--set enable_half_partials: expected true or false, found the string \"perhaps\"");
}

TEST(PopTorchOptions, OfTraining) {
  const Value options = config_of(kPublishedForm).to_options(false, false, "pod16");
  EXPECT_EQ(options, parse_json(R"({
    "replicationFactor": 4, "deviceIterations": 2,
    "Training": {"gradientAccumulation": 16, "accumulationAndReplicationReductionType": "Mean",
                 "setAutomaticLossScaling": false},
    "outputMode": "All", "randomSeed": 42,
    "TensorLocations": {"setOptimizerLocation": {"useOnChipStorage": true, "useReplicatedTensorSharding": true}},
    "setAvailableMemoryProportion": {"IPU0": 0.1, "IPU1": 0.2, "IPU2": 0.3, "IPU3": 0.4},
    "Precision": {"setPartialsType": "half", "enableStochasticRounding": true},
    "enableExecutableCaching": "./exe_cache"})",
                                "expected"));
}

TEST(PopTorchOptions, OfInferenceCompiledOffline) {
  const Value options =
      config_of(R"({"inference_device_iterations": 4, "enable_half_partials": false})").to_options(true, true);
  EXPECT_EQ(options, parse_json(R"({
    "replicationFactor": 1, "deviceIterations": 4, "outputMode": "Final",
    "TensorLocations": {"setOptimizerLocation": {"useOnChipStorage": false, "useReplicatedTensorSharding": false}},
    "setAvailableMemoryProportion": {"IPU0": 0.6},
    "Precision": {"setPartialsType": "float", "enableStochasticRounding": false}, "useOfflineIpuTarget": true})",
                                "expected"));
}

TEST(PopTorchOptions, ShardingNeedsReplicas) {
  const Value options = config_of(R"({"replicated_tensor_sharding": true})").to_options(false);
  EXPECT_FALSE(options.at("TensorLocations").at("setOptimizerLocation").at("useReplicatedTensorSharding").boolean());
}

}  // namespace
}  // namespace podsim
