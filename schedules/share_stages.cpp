// Copies tables and step trees for each IPU of a group.
#include "schedules/share_stages.hpp"

#include <utility>

namespace podsim {

namespace {

class Sharing {
 public:
  Sharing(Program& program, int ipus, const std::vector<bool>& everywhere)
      : program_(program), ipus_(ipus), everywhere_(everywhere) {}

  void run() {
    copy_transfers();
    copy_streams();
    copy_buffers();
    copy_collectives();
    std::vector<std::vector<Step>> trees;
    for (const std::vector<Step>& tree : program_.ipus) {
      for (member_ = 0; member_ < ipus_; ++member_) trees.push_back(steps_of(tree));
    }
    program_.ipus = std::move(trees);
    for (int& ipu : program_.ipu_of_stage) ipu *= ipus_;
    program_.ipus_per_replica *= ipus_;
    program_.ipus_per_stage = ipus_;
  }

 private:
  // Entry `index` of a table that has one for each member.
  [[nodiscard]] int of_member(int index) const { return index * ipus_ + member_; }

  void copy_transfers() {
    std::vector<Transfer> transfers;
    for (const Transfer& transfer : program_.transfers) {
      for (member_ = 0; member_ < ipus_; ++member_) {
        transfers.push_back(transfer);
        transfers.back().from_ipu = of_member(transfer.from_ipu);
        transfers.back().to_ipu = of_member(transfer.to_ipu);
      }
    }
    program_.transfers = std::move(transfers);
  }

  void copy_streams() {
    std::vector<HostStream> streams;
    for (std::size_t i = 0; i < program_.streams.size(); ++i) {
      first_stream_.push_back(static_cast<int>(streams.size()));
      for (member_ = 0; member_ < (everywhere_[i] ? ipus_ : 1); ++member_) {
        streams.push_back(program_.streams[i]);
        streams.back().ipu = of_member(program_.streams[i].ipu);
      }
    }
    program_.streams = std::move(streams);
  }

  void copy_buffers() {
    std::vector<RemoteBuffer> buffers;
    for (const RemoteBuffer& buffer : program_.buffers) {
      for (member_ = 0; member_ < ipus_; ++member_) {
        buffers.push_back(buffer);
        buffers.back().ipu = of_member(buffer.ipu);
      }
    }
    program_.buffers = std::move(buffers);
  }

  // Those within a stage are one of all members; those between replicas are one for each.
  void copy_collectives() {
    std::vector<CollectiveOperation> collectives;
    for (const CollectiveOperation& operation : program_.collectives) {
      const bool within = !operation.ipus.empty();
      within_.push_back(within);
      first_collective_.push_back(static_cast<int>(collectives.size()));
      std::vector<int> members;
      for (member_ = 0; member_ < ipus_; ++member_) {
        members.push_back(of_member(within ? operation.ipus.front() : operation.ipu));
        if (within) continue;
        collectives.push_back(operation);
        collectives.back().ipu = members.back();
      }
      if (!within) continue;
      collectives.push_back(operation);
      collectives.back().ipus = std::move(members);
    }
    program_.collectives = std::move(collectives);
  }

  [[nodiscard]] std::vector<Step> steps_of(const std::vector<Step>& body) const {
    std::vector<Step> steps;
    for (const Step& step : body) {
      if (skipped(step)) continue;
      steps.push_back(step);
      std::visit([this](auto& content) { rename(content); }, static_cast<Step::variant&>(steps.back()));
    }
    return steps;
  }

  [[nodiscard]] bool skipped(const Step& step) const {
    const auto only_first = [this](int stream) { return !everywhere_[static_cast<std::size_t>(stream)]; };
    if (member_ == 0) return false;
    if (const auto* in = std::get_if<StreamIn>(&step)) return only_first(in->stream);
    if (const auto* out = std::get_if<StreamOut>(&step)) return only_first(out->stream);
    return false;
  }

  void rename(Exchange& exchange) const {
    for (ExchangeMove& move : exchange.sends) move.transfer = of_member(move.transfer);
    for (ExchangeMove& move : exchange.receives) move.transfer = of_member(move.transfer);
  }
  void rename(StreamIn& in) const { in.stream = first_stream_[static_cast<std::size_t>(in.stream)] + member_; }
  void rename(StreamOut& out) const { out.stream = first_stream_[static_cast<std::size_t>(out.stream)] + member_; }
  void rename(RemoteLoad& load) const { load.buffer = of_member(load.buffer); }
  void rename(RemoteStore& store) const { store.buffer = of_member(store.buffer); }
  void rename(Collective& step) const {
    const auto index = static_cast<std::size_t>(step.collective);
    step.collective = first_collective_[index] + (within_[index] ? 0 : member_);
  }
  void rename(Repeat& repeat) const { repeat.body = steps_of(repeat.body); }
  template <typename Other>
  void rename(Other& /*unchanged*/) const {}

  Program& program_;
  int ipus_;
  const std::vector<bool>& everywhere_;
  int member_ = 0;
  std::vector<int> first_stream_, first_collective_;
  std::vector<bool> within_;
};

}  // namespace

void share_stages(Program& program, int ipus, const std::vector<bool>& everywhere) {
  Sharing(program, ipus, everywhere).run();
}

}  // namespace podsim
