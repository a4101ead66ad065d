#pragma once
#include <backend/backend.hpp>
#include <rdmagpu/cufile.hpp>
#include <rdmagpu/rdma_gpu_buffer.hpp>
#include <storage/cufile_driver.hpp>
#include <storage/staging.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace rdmagpu::storage {

/// Where a slot lies.
struct SlotPlace {
  std::size_t offset{}; ///< In the region.
  std::size_t bytes{};
  std::byte* cpu{}; ///< Null where the CPU has no address for it.
};

/// What a CuFileRegistration and its files share.
class Registration {
public:
  static Result<std::shared_ptr<Registration>> make(const RdmaGpuBuffer&, const CuFileOptions&);

  Registration() = default;
  Registration(Registration&&) = delete;
  /// Memory that cuFile does not let go of is kept.
  ~Registration();
  Result<void> deregister() noexcept;

  StoragePath path() const noexcept { return m_path; }
  const Error& reason() const noexcept { return m_reason; }
  const CuFileFacts& facts() const noexcept { return m_facts; }
  bool required() const noexcept { return m_use == CuFileUse::Require; }

  /// Null where cuFile is not used.
  const api::Functions* cuFile() const noexcept { return m_cuFile; }
  /// For files without cuFile. Made when the first one wants it.
  Result<Staging*> staging() const;

  std::size_t slotCount() const noexcept { return m_slots.size(); }
  const SlotPlace& slot(std::size_t i) const noexcept { return m_slots[i]; }
  const backend::Region& region() const noexcept { return *m_memory; }
  void* base() const noexcept { return m_memory->address(0); }

  /// An error in a forked child, if what is used here is the parent's only.
  Result<void> checkProcess(const char* call) const noexcept;
  /// For the time of a transfer: what is registered stays so. Not owned once that has ended.
  std::shared_lock<std::shared_mutex> use() const;

private:
  Result<void> registerWith(const char* call, const RdmaGpuBuffer&);
  Result<void> letGo() noexcept;
  bool isForked() const noexcept;

  mutable std::shared_mutex m_inUse;
  backend::RegionPtr m_memory;
  std::vector<SlotPlace> m_slots;
  std::optional<PciAddress> m_gpu;
  const api::Functions* m_cuFile{};
  CuFileFacts m_facts{};
  StoragePath m_path{};
  Error m_reason{};
  CuFileUse m_use{};
  std::uint64_t m_process{};
  bool m_registered{}; ///< Under m_inUse, as the next.
  bool m_ended{};
  mutable std::mutex m_stagingMutex;
  mutable std::unique_ptr<Staging> m_staging; ///< Under m_stagingMutex; goes before the memory.
};

} // namespace rdmagpu::storage
