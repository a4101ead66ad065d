#pragma once
#include <program/call.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace rdmagpu::testkit {

/// What exists in the driver, as far as a run has made it, under names that are the same on every machine.
struct Handle {
  api::MemHandle value{};
  std::size_t bytes{};
  int id{};
  std::string name() const { return "h" + std::to_string(id); }
};

struct Mapped {
  std::size_t offset{}; ///< In its reservation.
  std::size_t bytes{};
  api::AccessFlags access{}; ///< 0: none.
};

struct Reservation {
  api::DevicePtr start{};
  std::size_t bytes{};
  int id{};
  std::vector<Mapped> mappings{};
  std::string name() const { return "r" + std::to_string(id); }
  const Mapped* overlapping(std::size_t offset, std::size_t size) const;
};

struct Plain {
  api::DevicePtr start{};
  std::size_t bytes{};
  int id{};
  std::string name() const { return "p" + std::to_string(id); }
};

inline constexpr api::AccessFlags noAccess{};
inline constexpr auto readOnly = static_cast<api::AccessFlags>(1);

/// Where a call may point.
struct Place {
  const char*
      kind; ///< "mapped", "no-access", "read-only", "hole", "plain", "stale-range", "null", "bogus", "host"
  api::DevicePtr address{};
  std::size_t room{}; ///< Bytes from there to the end of the piece.
  std::string name{};
  std::size_t alike{}; ///< Bytes of another mapping that follows at once, with the same access.
  std::size_t hole{};  ///< Bytes of the reservation that follow at once and are not mapped.
};

struct Model {
  std::size_t granularity = std::size_t{2} << 20;
  std::vector<Handle> handles;
  std::vector<Reservation> reservations;
  std::vector<Plain> plain;
  std::vector<Plain> staleRanges; ///< Reservations given back.
  std::vector<Plain> stalePlain;
  api::Context primary{};  ///< Of device 0, once it was seen.
  int retained{};          ///< By the run itself.
  bool kept{};             ///< Whether somebody else retains it during the episode.
  std::vector<bool> stack; ///< Contexts of this thread; each true: the primary one.
  int lastId{};

  /// Whether [address, address + bytes) touches something that is there.
  bool isTaken(api::DevicePtr address, std::size_t bytes) const;
  bool contextIsAlive() const noexcept { return kept || retained > 0; }
  /// How a context stands that the calling thread may need: "", "+none" or "+gone".
  const char* contextSuffix() const noexcept;
  std::string nameOf(api::Context) const;
};

} // namespace rdmagpu::testkit
