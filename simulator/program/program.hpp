// Program: the narrow waist. A schedule emits it; check() proves it sound; the engine executes it.
// For every IPU of one replica a tree of steps with repeats (never a flattened list), over tables of
// stage codes, transfers, streams, streaming-memory buffers and collectives. All replicas run the same
// trees: IPU i of replica r is IPU r * ipus_per_replica + i of the pod.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "simulator/core/collective_kind.hpp"
#include "simulator/core/state.hpp"
#include "simulator/program/execution.hpp"

namespace podsim {

// What a stage can be asked to run.
enum class Pass : std::uint8_t {
  Forward,
  Recompute,         // forward again from the checkpoints, before a backward pass
  RecomputePartial,  // the same where the forward pass ran just before: all but the segment behind the last checkpoint
  Backward,          // gradients of inputs and weights
  BackwardInput,     // gradients of inputs only (zero-bubble schedules) …
  BackwardWeights,   // … and of weights only
  WeightUpdate,      // optimiser, once per weight update
};
inline constexpr std::size_t kPassCount = 7;
[[nodiscard]] std::string_view name_of(Pass pass);    // "forward", …
[[nodiscard]] std::string_view letter_of(Pass pass);  // "F", "R", "r", "B", "I", "W", "U": cells of the grid
[[nodiscard]] State state_of(Pass pass);

// A compiled stage pass on one IPU: the time it takes from start to end, no contention possible.
struct StageCode {
  int stage = 0;
  Pass pass = Pass::Forward;
  double seconds = 0;  // compute + sync + exchange
  double compute_seconds = 0;
  double sync_seconds = 0;
  double exchange_seconds = 0;  // on-chip
  double amp_flops = 0;
};

// An inter-IPU copy of one micro-batch's tensors, within a replica.
struct Transfer {
  int from_ipu = 0, to_ipu = 0;  // local indices, different
  int from_stage = 0, to_stage = 0;
  bool gradient = false;
  double bytes = 0;
};

// One micro-batch's data of a stage from or to the host, per replica.
struct HostStream {
  int ipu = 0;
  int stage = 0;
  bool input = true;
  bool label = false;
  double bytes = 0;
  std::string name;
};

// Classes of tensors that may be in streaming memory.
enum class Variable : std::uint8_t { Activations, Weights, Accumulators, OptimizerState };

// A block of streaming memory that is loaded or stored as a whole.
struct RemoteBuffer {
  int ipu = 0;
  double bytes = 0;
  std::string name;  // "optimizer_state/2"
  int stage = 0;
  Variable content = Variable::OptimizerState;
};

// A collective between the copies of one local IPU in all replicas (group_size 0), in groups of
// `group_size` consecutive replicas, or (orthogonal) between equal positions of such groups; or, with
// `ipus` given, between those IPUs inside each replica (tensor parallel).
struct CollectiveOperation {
  CollectiveKind kind = CollectiveKind::AllReduce;
  int ipu = 0;
  std::vector<int> ipus;
  int group_size = 0;
  bool orthogonal = false;
  double bytes = 0;        // of the full tensor on each rank
  std::int64_t count = 1;  // so many of them in a row
  std::string algorithm;   // "" = automatic; or a name that topology/collectives.hpp knows
  std::string name;
};

// Steps. A micro-batch number is `offset` + the sum over enclosing repeats of iteration x stride.
struct MicroBatch {
  std::int64_t offset = 0;
};

struct Run {
  int stage = 0;
  Pass pass = Pass::Forward;
  MicroBatch micro_batch;
};

struct ExchangeMove {
  int transfer = 0;  // index into Program::transfers
  MicroBatch micro_batch;
};

// Ends a slot: all IPUs of the replica meet, then all their copies run as one global exchange, and all
// leave together. Each IPU lists what it sends and receives itself; check() matches the two sides.
struct Exchange {
  std::vector<ExchangeMove> sends, receives;
};

struct StreamIn {
  int stream = 0;
  MicroBatch micro_batch;
  bool overlapped = false;  // through IO tiles, during the slot's compute
};

struct StreamOut {
  int stream = 0;
  MicroBatch micro_batch;
  bool overlapped = false;
};

struct RemoteLoad {
  int buffer = 0;
  bool overlapped = false;  // runs beside the following steps until the next RemoteWait
};

struct RemoteStore {
  int buffer = 0;
  bool overlapped = false;
};

// Waits for the overlapped loads and stores of this IPU.
struct RemoteWait {};

struct Collective {
  int collective = 0;  // all members of the group have this step; they meet, run it and leave together
};

// Ladder: the IPUs of the replica whose local index has the same parity (A + C, B + D).
enum class SyncScope : std::uint8_t { Replica, World, Ladder };

struct Sync {
  SyncScope scope = SyncScope::Replica;
};

// Start of a host call: all IPUs wait for the host's overhead.
struct HostCall {};

// Marks that a weight update (or a device iteration, in inference) is complete on this IPU.
struct EndOfUpdate {};

struct Step;

enum class LoopKind : std::uint8_t { Runs, DeviceIterations, MicroBatches, Other };

struct Repeat {
  std::int64_t count = 1;
  std::int64_t stride = 0;  // how far one iteration advances the micro-batch
  LoopKind kind = LoopKind::Other;
  std::vector<Step> body;
};

struct Step : std::variant<Run, Exchange, StreamIn, StreamOut, RemoteLoad, RemoteStore, RemoteWait, Collective, Sync,
                           HostCall, EndOfUpdate, Repeat> {
  using variant::variant;
};

// How random preparation times are drawn.
enum class Distribution : std::uint8_t { Fixed, Normal, LogNormal, Exponential };

// PopDist host processes and their data pipeline.
struct HostPlan {
  bool synthetic = true;                     // no host data at all; the host call stays
  int instances = 1;                         // host processes over all hosts; each feeds replicas / instances replicas
  double call_overhead_seconds = 0;          // per run
  double callback_seconds = 0;               // host's answer to one stream request (begin or end of a copy)
  int prefetch_depth = 1;                    // micro-batches of ring buffer per stream and replica; 0: none prefetched
  int workers_per_instance = 1;              // threads that prepare samples
  int cores_per_host = 0;                    // workers of a host's instances share them; 0: not limited
  double preprocess_seconds_per_sample = 0;  // of a thread with its memory spread over all NUMA nodes of the host
  Distribution distribution = Distribution::Fixed;
  double preprocess_deviation_seconds = 0;
  bool asynchronous = true;          // loader runs while the IPUs run; false: prepares a run's data between calls
  int batches_ahead = 0;             // > 0: the loader prepares a call's data as a whole, and of so many calls ahead
  std::int64_t calls_per_epoch = 0;  // with batches_ahead, the loader starts again after so many calls; 0: never …
  double epoch_start_seconds = 0;    // … and takes this long to do so
  double samples_per_micro_batch = 1;
  std::uint64_t seed = 0;
  bool numa_aware = false;  // the threads and memory of an instance stay on its share of the host's NUMA nodes
  int numa_nodes_per_host = 1;
  double numa_remote_slowdown = 1;  // seconds of a thread whose memory is all on other nodes, over one with its own
  std::int64_t switch_every = 0;    // another executable is switched in before every so many calls; 0: never
  double switch_seconds = 0;        // to it …
  double switch_back_seconds = 0;   // … and back
  double second_graph_seconds = 0;  // what it runs in between

  // A call begins when all its data is prepared.
  [[nodiscard]] bool prepares_by_call() const { return !asynchronous || batches_ahead > 0; }
};

struct Program {
  std::string schedule;
  int stages = 0;
  int ipus_per_replica = 1;
  int ipus_per_stage = 1;  // consecutive IPUs that run each stage together, each its own share (tensor parallel)
  int replicas = 1;
  Execution execution;
  bool updates_one_tensor_at_a_time = true;  // else a stage's streamed optimiser state is on the IPU as a whole
  int receive_buffers = 0;                   // activation buffers of a stage besides its live micro-batches
  std::int64_t slots_per_update = 0;  // lockstep slots (Exchanges) from fill to drain, per update or, in inference, run
  std::vector<int> ipu_of_stage;      // the first one of each
  std::vector<StageCode> codes;       // filled after lowering; find with code()
  std::vector<Transfer> transfers;
  std::vector<HostStream> streams;
  std::vector<RemoteBuffer> buffers;
  std::vector<CollectiveOperation> collectives;
  std::vector<std::vector<Step>> ipus;  // one tree for each local IPU
  HostPlan host;
  double peak_flops_per_ipu = 0;  // AMP peak at the model's precision; 0: unknown

  [[nodiscard]] const StageCode& code(int stage, Pass pass) const;  // InternalError where absent
  [[nodiscard]] bool runs(int ipu, int stage) const;
};

}  // namespace podsim
