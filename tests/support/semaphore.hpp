#pragma once
#include <condition_variable>
#include <mutex>

namespace rdmagpu::test {

/// As std::counting_semaphore, which loses wake-ups where libstdc++ of GCC 12 has no futex, as on Windows.
class Semaphore {
public:
  explicit Semaphore(int count) : m_count(count) {}

  void acquire() {
    std::unique_lock lock{m_mutex};
    m_changed.wait(lock, [this] { return m_count > 0; });
    --m_count;
  }
  void release() {
    {
      const std::lock_guard lock{m_mutex};
      ++m_count;
    }
    m_changed.notify_one();
  }

private:
  std::mutex m_mutex;
  std::condition_variable m_changed;
  int m_count;
};

} // namespace rdmagpu::test
