#include <os/socket.hpp>

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

using GetAddresses = int(const char*, const char*, const addrinfo*, addrinfo**);

/// Knows one name more: "two.test" has two addresses, of which the first is 127.0.0.2.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* wanted, addrinfo** found) {
  static auto* const real = reinterpret_cast<GetAddresses*>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if(!host || std::strcmp(host, "two.test") != 0)
    return real(host, service, wanted, found);
  const int first = real("127.0.0.2", service, wanted, found);
  return first != 0 ? first : real("127.0.0.1", service, wanted, &(*found)->ai_next);
}

namespace rdmagpu::os {
namespace {

using namespace std::chrono_literals;

/// A listener that lets nobody in any more: those who try hear nothing, as from a host that a firewall hides.
class Silent {
public:
  explicit Silent(std::uint16_t port) {
    auto made = listenOn("127.0.0.2", port);
    EXPECT_TRUE(made) << made.error().message();
    if(!made)
      return;
    m_listener = *std::move(made);
    listen(m_listener.get(), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    constexpr int most = 64;
    for(int i = 0; i < most && !m_silent; ++i) {
      const int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      m_clients.emplace_back(client);
      connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address);
      pollfd waiting{.fd = client, .events = POLLOUT, .revents = 0};
      m_silent = poll(&waiting, 1, 100) == 0;
    }
  }
  bool isSilent() const { return m_silent; }

private:
  Fd m_listener;
  std::vector<Fd> m_clients;
  bool m_silent{};
};

TEST(Socket, AddressThatNobodyAnswersFromLeavesTimeForTheNext) {
  const auto listener = listenOn("127.0.0.1", 0);
  ASSERT_TRUE(listener) << listener.error().message();
  const std::uint16_t port = ownAddress(listener->get())->port;
  const Silent silent{port};
  if(!silent.isSilent())
    GTEST_SKIP() << "this kernel lets any number in";
  const auto start = std::chrono::steady_clock::now();
  const auto connected = connectTo("two.test", port, 4s);
  ASSERT_TRUE(connected) << connected.error().message();
  EXPECT_EQ(otherAddress(connected->get())->bytes[15], 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 4s) << "across a network the next needs some of it";
}

TEST(Socket, FirstAddressThatAnswersIsTaken) {
  const auto listener = listenOn("127.0.0.2", 0);
  ASSERT_TRUE(listener) << listener.error().message();
  const auto connected = connectTo("two.test", ownAddress(listener->get())->port, 5000ms);
  ASSERT_TRUE(connected) << connected.error().message();
  EXPECT_EQ(otherAddress(connected->get())->bytes[15], 2);
}

TEST(Socket, ErrorIsThatOfTheLastAddress) {
  std::uint16_t port{};
  {
    const auto closedAgain = listenOn("127.0.0.1", 0);
    ASSERT_TRUE(closedAgain) << closedAgain.error().message();
    port = ownAddress(closedAgain->get())->port;
  }
  const auto connected = connectTo("two.test", port, 5000ms);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code, ECONNREFUSED);
}

} // namespace
} // namespace rdmagpu::os
