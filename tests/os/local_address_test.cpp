#include <os/local_address.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace rdmagpu::os {
namespace {

LocalAddress with(const void* address, std::size_t bytes) {
  LocalAddress made;
  std::memcpy(made.native(), address, bytes);
  return made;
}

TEST(LocalAddress, OfEitherKindIsToldAsIpv6) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  inet_pton(AF_INET, "10.98.0.1", &four.sin_addr);
  EXPECT_EQ(with(&four, sizeof four).text(), "::ffff:10.98.0.1");
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "fd00::2", &six.sin6_addr);
  EXPECT_EQ(with(&six, sizeof six).text(), "fd00::2");
}

TEST(LocalAddress, HasThePortThatIsSet) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  LocalAddress address = with(&six, sizeof six);
  address.setPort(htons(4711));
  std::memcpy(&six, address.native(), sizeof six);
  EXPECT_EQ(ntohs(six.sin6_port), 4711);
}

TEST(LocalAddress, AllAreThoseOfTheMachine) {
  for(const LocalAddress& address : LocalAddress::all())
    EXPECT_THAT(address.text(), testing::HasSubstr(":"));
}

} // namespace
} // namespace rdmagpu::os
