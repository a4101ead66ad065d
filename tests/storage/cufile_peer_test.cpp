#include "cufile_fixture.hpp"

#include <rdmagpu/cufile_peer.hpp>

namespace rdmagpu::cufiletest {
namespace {

TEST_F(OnCuFile, FileThatIsOnlyReadProvesThatDirection) {
  const auto made = RdmaGpuBuffer::make(test::cudaConfig());
  ASSERT_TRUE(made);
  const RdmaGpuBuffer& buffer = *made;
  const KnownFile large{5U << 20};
  auto peer = CuFilePeer::open(buffer, large.path());
  ASSERT_TRUE(peer) << peer.error().message();
  const auto report = verify(buffer, *peer);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->write, Answer::Yes);
  EXPECT_EQ(report->read, Answer::Unknown);
  EXPECT_STREQ(report->readError.codeName, "BlockReadOnly");
  EXPECT_EQ(report->proof.by, Agent::Software);
  EXPECT_EQ(peer->path(), StoragePath::Compatibility);
  EXPECT_EQ(std::string{peer->name()}, "cufile:" + large.path());
  expectSame(large.now(), large.bytes());
}

TEST_F(OnCuFile, FileThatMayBeOverwrittenProvesBoth) {
  for(const bool staged : {false, true}) {
    cuFile.takes(staged ? CuFileStandin::None : CuFileStandin::All);
    const RdmaGpuBuffer buffer = makeBuffer();
    auto peer = CuFilePeer::open(buffer, known.path(), {.overwrite = true});
    ASSERT_TRUE(peer) << peer.error().message();
    EXPECT_EQ(peer->overwritten(65536), 65536U);
    const auto report = verify(buffer, *peer, {.bytes = 65536});
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->write, Answer::Yes);
    EXPECT_EQ(report->read, Answer::Yes);
    EXPECT_EQ(report->proof.by, staged ? Agent::CopyEngine : Agent::Software);
    EXPECT_EQ(peer->path(), staged ? StoragePath::HostSlot : StoragePath::Compatibility);
  }
}

TEST_F(OnCuFile, PeerRefusesWhatItsFileHasNoRoomFor) {
  const RdmaGpuBuffer buffer = makeBuffer();
  auto peer = CuFilePeer::open(buffer, known.path());
  ASSERT_TRUE(peer);
  std::vector<std::byte> bytes(buffer.slot(0).size);
  EXPECT_STREQ(peer->fetch(0, bytes).error().codeName, "BlockTooSmall");
  EXPECT_STREQ(peer->fill(0, bytes.size()).error().codeName, "BlockTooSmall");
  EXPECT_STREQ(peer->write(0, bytes).error().codeName, "BlockReadOnly");
  EXPECT_STREQ(peer->read(0, bytes).error().codeName, "BlockReadOnly");
  EXPECT_STREQ(CuFilePeer::open(buffer, known.path() + "-absent").error().codeName, "ENOENT");
}

} // namespace
} // namespace rdmagpu::cufiletest
