#include <rdmagpu/pci_address.hpp>

#include <gtest/gtest.h>

namespace rdmagpu {
namespace {

TEST(PciAddress, ReadsWhatTheKernelWrites) {
  const auto address = PciAddress::parse("0001:65:1f.7");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->domain, 1U);
  EXPECT_EQ(address->bus, 0x65);
  EXPECT_EQ(address->device, 0x1f);
  EXPECT_EQ(address->function, 7);
  EXPECT_EQ(address->text(), "0001:65:1f.7");
}

TEST(PciAddress, DomainMayBeLeftOutOrBeWide) {
  EXPECT_EQ(PciAddress::parse("65:00.0")->text(), "0000:65:00.0");
  EXPECT_EQ(PciAddress::parse("10000:E1:00.0")->text(), "10000:e1:00.0");
  EXPECT_EQ(PciAddress::parse("00000000:17:00.0")->text(), "0000:17:00.0");
}

TEST(PciAddress, AnythingElseIsRefused) {
  for(const char* text :
      {"", ":", "65", "65:00", "65:00.", "65:00.8", "65:20.0", "165:00.0", "zz:00.0", "65:00.0 ", " 65:00.0",
       "-1:65:00.0", "0:0:0:0.0", "65:00.00", "65:.0", ":65:00.0", "0x1:65:00.0", "123456789:65:00.0"})
    EXPECT_FALSE(PciAddress::parse(text)) << '"' << text << '"';
}

TEST(PciAddress, IsOrdered) {
  EXPECT_LT(*PciAddress::parse("0:64:00.0"), *PciAddress::parse("0:65:00.0"));
  EXPECT_EQ(*PciAddress::parse("65:00.0"), *PciAddress::parse("0000:65:00.0"));
}

} // namespace
} // namespace rdmagpu
