#pragma once
#include <rdmagpu/doctor.hpp>
#include <rdmagpu/export.hpp>

#include <string>
#include <vector>

namespace rdmagpu {

/// Tries RDMA devices for diagnose(): registers the slots by dma-buf and by peer memory, and where that went
/// well has the device write and read them through two queue pairs of its own (VerbsLoopback). In
/// rdmagpu::verbs. Opens the device and its protection domain, and closes them again.
class RDMAGPU_API VerbsTrial final : public PeerTrial {
public:
  VerbsTrial() noexcept = default;
  ~VerbsTrial() override;
  Result<std::vector<DoctorStep>> tryPeer(const RdmaGpuBuffer&, const std::string& device) override;
};

} // namespace rdmagpu
