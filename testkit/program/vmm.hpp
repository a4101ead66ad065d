#pragma once
#include <program/session.hpp>

#include <optional>
#include <string>

/// What the calls of virtual memory management have in common.
namespace rdmagpu::testkit::vmm {

inline constexpr std::size_t page = 4096;
inline constexpr std::size_t most = 12; ///< Handles and reservations at a time: some 100 MiB at most.
inline constexpr api::DevicePtr bogusAddress = 0x1000;

struct PickedHandle {
  std::string variant;
  api::MemHandle value;
  std::string name;
  std::size_t bytes; ///< 0: not known.
};

/// Most often one that exists. One that does not, other than 0, may be anything to a driver: measured, it
/// reads memory that it has freed.
PickedHandle pickHandle(Session&);
/// Null when there is none.
Reservation* pickReservation(Session&);

/// Where a granule of it is not mapped.
std::optional<std::size_t> firstHole(const Reservation&, std::size_t granularity);
std::size_t mappedBytes(const Reservation&);

std::string at(const Reservation&, std::size_t offset);
Arguments describe(const api::AllocationProp&);

bool create(Session&, const std::string& variant, const api::AllocationProp&, std::size_t bytes,
            unsigned long long flags);
bool reserve(Session&, const std::string& variant, std::size_t bytes, std::size_t alignment,
             unsigned long long flags);

struct MapCall {
  std::size_t offset{}; ///< In the reservation.
  std::size_t bytes{};
  std::size_t memoryOffset{};
  unsigned long long flags{};
};
bool map(Session&, const std::string& variant, Reservation&, const MapCall&, const PickedHandle&);

} // namespace rdmagpu::testkit::vmm
