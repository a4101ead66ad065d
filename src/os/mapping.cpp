#include <os/mapping.hpp>

#include <utility>

namespace rdmagpu::os {

Mapping::Mapping(Mapping&& other) noexcept
    : m_reserved(std::exchange(other.m_reserved, nullptr)),
      m_reservedBytes(std::exchange(other.m_reservedBytes, 0)),
      m_data(std::exchange(other.m_data, nullptr)),
      m_bytes(std::exchange(other.m_bytes, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(m_reserved, other.m_reserved);
  std::swap(m_reservedBytes, other.m_reservedBytes);
  std::swap(m_data, other.m_data);
  std::swap(m_bytes, other.m_bytes);
  return *this;
}

} // namespace rdmagpu::os
