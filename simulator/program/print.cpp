// A program as text: tables first, then the steps of each IPU, indented by their repeats.
#include <sstream>
#include <string>

#include "simulator/program/analysis.hpp"

namespace podsim {

namespace {

std::string_view name_of_loop(LoopKind kind) {
  switch (kind) {
    case LoopKind::Runs: return "runs";
    case LoopKind::DeviceIterations: return "device_iterations";
    case LoopKind::MicroBatches: return "micro_batches";
    case LoopKind::Other: return "other";
  }
  return "";
}

std::string_view name_of_scope(SyncScope scope) {
  switch (scope) {
    case SyncScope::Replica: return "replica";
    case SyncScope::World: return "world";
    case SyncScope::Ladder: return "ladder";
  }
  return "";
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string text() {
    tables();
    for (std::size_t ipu = 0; ipu < program_.ipus.size(); ++ipu) {
      out_ << "ipu " << ipu << '\n';
      steps(program_.ipus[ipu], 1);
    }
    return out_.str();
  }

 private:
  void tables() {
    out_ << "program " << program_.schedule << ": " << program_.stages << " stages, " << program_.ipus_per_replica
         << " IPUs per replica, " << program_.replicas << " replicas, " << program_.slots_per_update << " slots\n";
    out_ << "ipu_of_stage";
    for (const int ipu : program_.ipu_of_stage) out_ << ' ' << ipu;
    out_ << '\n';
    for (std::size_t i = 0; i < program_.transfers.size(); ++i) {
      const Transfer& transfer = program_.transfers[i];
      out_ << "transfer " << i << ": " << (transfer.gradient ? "gradient" : "activation") << " stage "
           << transfer.from_stage << " -> " << transfer.to_stage << ", ipu " << transfer.from_ipu << " -> "
           << transfer.to_ipu << ", " << transfer.bytes << " B\n";
    }
    for (std::size_t i = 0; i < program_.streams.size(); ++i) {
      const HostStream& stream = program_.streams[i];
      out_ << "stream " << i << ": " << (stream.input ? (stream.label ? "label " : "input ") : "result ") << stream.name
           << ", stage " << stream.stage << ", ipu " << stream.ipu << ", " << stream.bytes << " B\n";
    }
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      const RemoteBuffer& buffer = program_.buffers[i];
      out_ << "buffer " << i << ": " << buffer.name << ", ipu " << buffer.ipu << ", " << buffer.bytes << " B\n";
    }
    for (std::size_t i = 0; i < program_.collectives.size(); ++i) collective(i, program_.collectives[i]);
  }

  void collective(std::size_t index, const CollectiveOperation& operation) {
    out_ << "collective " << index << ": " << operation.name << ", " << name_of(operation.kind) << ", ";
    if (operation.ipus.empty()) {
      out_ << "ipu " << operation.ipu;
      if (operation.group_size > 0) {
        out_ << (operation.orthogonal ? ", across groups of " : ", in groups of ") << operation.group_size;
      }
    } else {
      out_ << "ipus";
      for (const int ipu : operation.ipus) out_ << ' ' << ipu;
    }
    if (operation.count > 1) out_ << ", " << operation.count << " times";
    out_ << ", " << operation.bytes << " B\n";
  }

  void steps(const std::vector<Step>& body, int depth) {
    for (const Step& step : body) {
      out_ << std::string(static_cast<std::size_t>(depth) * 2, ' ');
      std::visit([&](const auto& content) { print(content, depth); }, static_cast<const Step::variant&>(step));
    }
  }

  void print(const Run& run, int) {
    out_ << name_of(run.pass) << " stage " << run.stage << " m" << run.micro_batch.offset << '\n';
  }
  void print(const Exchange& exchange, int) {
    out_ << "exchange";
    for (const ExchangeMove& move : exchange.sends)
      out_ << " send " << move.transfer << " m" << move.micro_batch.offset;
    for (const ExchangeMove& move : exchange.receives) {
      out_ << " receive " << move.transfer << " m" << move.micro_batch.offset;
    }
    out_ << '\n';
  }
  void print(const StreamIn& stream, int) {
    out_ << "stream_in " << stream.stream << " m" << stream.micro_batch.offset << overlap(stream.overlapped) << '\n';
  }
  void print(const StreamOut& stream, int) {
    out_ << "stream_out " << stream.stream << " m" << stream.micro_batch.offset << overlap(stream.overlapped) << '\n';
  }
  void print(const RemoteLoad& load, int) { out_ << "remote_load " << load.buffer << overlap(load.overlapped) << '\n'; }
  void print(const RemoteStore& store, int) {
    out_ << "remote_store " << store.buffer << overlap(store.overlapped) << '\n';
  }
  void print(const RemoteWait&, int) { out_ << "remote_wait\n"; }
  void print(const Collective& step, int) { out_ << "collective " << step.collective << '\n'; }
  void print(const Sync& sync, int) { out_ << "sync " << name_of_scope(sync.scope) << '\n'; }
  void print(const HostCall&, int) { out_ << "host_call\n"; }
  void print(const EndOfUpdate&, int) { out_ << "end_of_update\n"; }
  void print(const Repeat& repeat, int depth) {
    out_ << "repeat " << repeat.count << " stride " << repeat.stride << ' ' << name_of_loop(repeat.kind) << '\n';
    steps(repeat.body, depth + 1);
  }

  static std::string_view overlap(bool overlapped) { return overlapped ? " overlapped" : ""; }

  const Program& program_;
  std::ostringstream out_;
};

}  // namespace

std::string print(const Program& program) { return Printer(program).text(); }

}  // namespace podsim
