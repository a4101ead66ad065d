#include <os/error.hpp>
#include <os/thread.hpp>

#include <csignal>
#include <utility>

namespace rdmagpu::os {
namespace {

/// A thread inherits the mask of the one that starts it.
class SignalsBlocked {
public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &m_before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &m_before, nullptr); }
  SignalsBlocked(SignalsBlocked&&) = delete;

private:
  sigset_t m_before{};
};

} // namespace

Result<std::thread> startThread(std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    return std::thread{std::move(body)};
  } catch(const std::system_error& refused) {
    return threadRefused(refused);
  }
}

Error threadRefused(const std::system_error& refused) noexcept {
  return error("pthread_create", refused.code().value());
}

} // namespace rdmagpu::os
