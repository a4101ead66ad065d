#include "cufile_fixture.hpp"

namespace rdmagpu::cufiletest {
namespace {

class WithoutCuFile : public test::OnCudaStandin {
protected:
  void SetUp() override {
    if(os::Library::open("libcufile.so.0"))
      GTEST_SKIP() << "this machine has cuFile";
    OnCudaStandin::SetUp();
  }
};

TEST_F(WithoutCuFile, HostSlotsTakeItsPlaceAndTheReasonIsTold) {
  const KnownFile known{(std::size_t{10} << 20) + 777};
  const auto buffer =
      RdmaGpuBuffer::make({.api = RdmaGpuApi::Cuda, .slotCount = 2, .frameBytes = std::size_t{11} << 20});
  ASSERT_TRUE(buffer);
  const auto slots = CuFileRegistration::make(*buffer);
  ASSERT_TRUE(slots);
  EXPECT_EQ(slots->path(), StoragePath::HostSlot);
  EXPECT_STREQ(slots->reason().codeName, "DriverAbsent");
  EXPECT_STREQ(slots->reason().finding, "driver-absent");
  EXPECT_STREQ(slots->reason().call, "libcufile.so.0");
  const auto file = CuFile::open(*slots, known.path(), FileAccess::Write);
  ASSERT_TRUE(file);
  expectReadsAreRight(*file, *buffer, known, StoragePath::HostSlot);
  expectWritesAreRight(*file, *buffer, known);
  EXPECT_STREQ(CuFileRegistration::make(*buffer, {.use = CuFileUse::Require}).error().codeName,
               "DriverAbsent");
}

} // namespace
} // namespace rdmagpu::cufiletest
