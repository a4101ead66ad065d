#pragma once
#include <rdmagpu/error.hpp>
#include <rdmagpu/handoff.hpp>
#include <rdmagpu/peers/detail/deltacast_sdk.hpp>
#include <rdmagpu/peers/support.hpp>
#include <rdmagpu/staged_buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace rdmagpu::peers::detail {

/// Errors of it have this call: the SDK has not said which of its codes mean a refusal of RDMA.
inline constexpr const char* createRdmaSlot = "VHD_CreateSlotEx (RDMAEnabled)";

/// A stream of the SDK and the slots that were created on it. Owns the stream; holds the memory of each slot
/// until the SDK has let go of it. For one thread at a time.
class DeltacastSlots {
public:
  DeltacastSlots(HANDLE stream, ULONG bufferType, ULONG bufferTypeCount, void* userContext)
      : m_stream(stream), m_type(bufferType), m_userContext(userContext), m_sizes(bufferTypeCount) {}
  DeltacastSlots(DeltacastSlots&&) = delete;
  ~DeltacastSlots() {
    if(const Error error = release(); failed(error))
      reportFailure(error);
    if(!open())
      return;
    if(const Error error = closeHandle(); failed(error))
      reportFailure(error);
  }

  /// Application buffers, and the sizes that the SDK wants. They cannot be switched off again. The stream
  /// stays the caller's when it fails.
  Result<void> init() noexcept {
    if(m_type >= m_sizes.size())
      return disown(refusal("DeltacastPeer::make", Refusal::BadBufferType, m_type, m_sizes.size()));
    if(const Error e = vhdError("VHD_InitApplicationBuffers", VHD_InitApplicationBuffers(m_stream));
       failed(e))
      return disown(e);
    for(ULONG type = 0; type < m_sizes.size(); ++type) {
      const ULONG code = VHD_GetApplicationBuffersSize(m_stream, type, &m_sizes[type]);
      if(const Error e = vhdError("VHD_GetApplicationBuffersSize", code); failed(e))
        return disown(e);
    }
    return {};
  }

  HANDLE stream() const noexcept { return m_stream; }
  std::size_t frameBytes() const noexcept { return m_sizes[m_type]; }
  /// For the buffers of the other types, one behind the other.
  std::size_t companionBytes() const noexcept {
    std::size_t sum = 0;
    for(ULONG type = 0; type < m_sizes.size(); ++type)
      sum += type == m_type ? 0 : aligned(m_sizes[type]);
    return sum;
  }

  /// One slot of the SDK for each that the StagedBuffer may ever hand to its peer. All or none.
  Result<void> create(const StagedBuffer& staged) {
    const RdmaGpuBuffer& application = staged.applicationBuffer();
    const RdmaGpuBuffer& peer = staged.peerBuffer();
    Result<void> created;
    if(&peer == &application || staged.facts().path == SlotPath::Direct)
      created = createEach(staged, application);
    if(created && &peer != &application)
      created = createEach(staged, peer);
    if(!created)
      (void)release(); // nothing is queued: what comes first is what matters
    return created;
  }

  /// Of slot `index`, the one whose memory the StagedBuffer hands out now. Queued with VHD_QueueInSlot or
  /// VHD_QueueOutSlot.
  Error queue(const StagedBuffer& staged, std::uint32_t index, SlotFlow flow, std::size_t) noexcept {
    const std::uint64_t address = addressBits(staged.handoff(index));
    for(const Slot& slot : m_slots) {
      if(slot.index != index || slot.address != address)
        continue;
      m_queued = true;
      const auto number = static_cast<std::int32_t>(index);
      return flow == SlotFlow::Capture
                 ? vhdError("VHD_QueueInSlot", VHD_QueueInSlot(slot.handle), 0, number)
                 : vhdError("VHD_QueueOutSlot", VHD_QueueOutSlot(slot.handle), 0, number);
    }
    return refusal("DeltacastPeer::queue", Refusal::UnknownSlot, index, m_slots.size());
  }

  Error start() noexcept {
    m_queued = true;
    return vhdError("VHD_StartStream", VHD_StartStream(m_stream));
  }

  /// Null for a handle that is none of these slots'.
  const std::uint32_t* indexOf(HANDLE handle) const noexcept {
    for(const Slot& slot : m_slots) {
      if(slot.handle == handle)
        return &slot.index;
    }
    return nullptr;
  }

  /// What the SDK says that it has put into the slot.
  Error filledBytes(HANDLE handle, std::size_t& bytes) const noexcept {
    BYTE* data{};
    ULONG size = 0;
    const Error error = vhdError("VHD_GetSlotBuffer", VHD_GetSlotBuffer(handle, m_type, &data, &size));
    bytes = size;
    return error;
  }

  /// Stops the stream, which destroys the slots. Where it does not, they are destroyed one by one; where that
  /// fails, the stream is closed. Where even that fails the memory is kept for good: the card may still use
  /// it.
  Error release() noexcept {
    const Error error = letGo();
    if(!m_slots.empty())
      (void)closeHandle();
    return error;
  }

  bool open() const noexcept { return m_stream != HANDLE{}; }

private:
  struct Slot {
    HANDLE handle{};
    std::uint32_t index{};
    std::uint64_t address{};
    std::shared_ptr<const void> memory;
    std::shared_ptr<const void> companion;
  };

  static constexpr const char* createCall = "VHD_CreateSlotEx";
  static constexpr std::size_t alignment = 4096; ///< Of every buffer, says the SDK.

  static bool failed(const Error& error) noexcept { return error.kind != Errc::None; }
  static std::size_t aligned(std::size_t bytes) noexcept {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  Error disown(const Error& error) noexcept {
    m_stream = {};
    return error;
  }

  Result<void> createEach(const StagedBuffer& staged, const RdmaGpuBuffer& buffer) {
    if(buffer.facts().frameBytes < frameBytes())
      return refusal(createCall, Refusal::SlotsTooSmall, frameBytes(), buffer.facts().frameBytes);
    if(staged.facts().companionBytes < companionBytes())
      return refusal(createCall, Refusal::CompanionsTooSmall, companionBytes(),
                     staged.facts().companionBytes);
    m_slots.reserve(m_slots.size() + buffer.slotCount());
    for(std::uint32_t index = 0; index < buffer.slotCount(); ++index) {
      if(const Error error = createOne(staged, buffer, index); failed(error))
        return error;
    }
    return {};
  }

  Error createOne(const StagedBuffer& staged, const RdmaGpuBuffer& buffer, std::uint32_t index) {
    const Handoff handoff = buffer.handoff(index);
    const bool rdma = kind(handoff) == HandoffKind::CudaPointer;
    if(!rdma && kind(handoff) != HandoffKind::HostPointer)
      return refusal(createCall, Refusal::CannotAddress, frameBytes());
    std::vector<VHD_APPLICATION_BUFFER_DESCRIPTOR> descriptors(m_sizes.size());
    std::byte* companion = staged.companion(index).data();
    for(ULONG type = 0; type < m_sizes.size(); ++type) {
      VHD_APPLICATION_BUFFER_DESCRIPTOR& descriptor = descriptors[type];
      descriptor.Size = sizeof descriptor;
      descriptor.RDMAEnabled = FALSE;
      descriptor.pUserContext = m_userContext;
      if(type != m_type && m_sizes[type] != 0) {
        descriptor.pBuffer = reinterpret_cast<Buffer>(companion); // bytes by any name
        companion += aligned(m_sizes[type]);
      }
    }
    // Of a GPU's memory the SDK wants the device pointer as if it were one of the CPU's.
    descriptors[m_type].pBuffer = reinterpret_cast<Buffer>(static_cast<std::uintptr_t>(addressBits(handoff)));
    descriptors[m_type].RDMAEnabled = rdma ? TRUE : FALSE;
    HANDLE handle{};
    const ULONG code = VHD_CreateSlotEx(m_stream, descriptors.data(), &handle);
    if(code != VHDERR_NOERROR)
      return vhdError(rdma ? createRdmaSlot : createCall, code, frameBytes(),
                      static_cast<std::int32_t>(index));
    m_slots.push_back({handle, index, addressBits(handoff), buffer.keepAlive(index),
                       staged.companionBuffer().keepAlive(index)});
    return {};
  }

  /// Leaves those slots that the SDK would not destroy.
  Error letGo() noexcept {
    Error first{};
    if(std::exchange(m_queued, false)) {
      first = vhdError("VHD_StopStream", VHD_StopStream(m_stream));
      if(!failed(first))
        m_slots.clear();
    }
    std::erase_if(m_slots, [&first](const Slot& slot) {
      const Error error = vhdError("VHD_DestroySlot", VHD_DestroySlot(slot.handle));
      if(!failed(first))
        first = error;
      return !failed(error);
    });
    return first;
  }

  Error closeHandle() noexcept {
    const Error error =
        vhdError("VHD_CloseStreamHandle", VHD_CloseStreamHandle(std::exchange(m_stream, HANDLE{})));
    if(failed(error) && !m_slots.empty())
      new (m_kept) std::vector<Slot>(std::move(m_slots)); // never destroyed
    m_slots.clear();
    return error;
  }

  using Buffer = decltype(VHD_APPLICATION_BUFFER_DESCRIPTOR::pBuffer);

  HANDLE m_stream;
  ULONG m_type;
  void* m_userContext;
  std::vector<ULONG> m_sizes; ///< By buffer type.
  std::vector<Slot> m_slots;
  alignas(std::vector<Slot>) std::byte m_kept[sizeof(std::vector<Slot>)]{};
  bool m_queued{}; ///< A slot is, or was, in the SDK's queue.
};

} // namespace rdmagpu::peers::detail
