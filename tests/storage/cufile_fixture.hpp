#pragma once
#include <contract/cuda_driver.hpp>
#include <os/library.hpp>
#include <rdmagpu/cufile.hpp>
#include <support/temp_tree.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace rdmagpu::cufiletest {

/// What the stand-in of cuFile exports beside its functions.
class CuFileStandin {
public:
  static CuFileStandin& instance() {
    static CuFileStandin found;
    return found;
  }
  void failCall(int n) { m_failCall(n); }
  std::string failedCall() const { return m_failedCall(); }
  void failNamed(const char* name, int error) { m_failNamed(name, error); }
  int calls(const char* name) const { return m_calls(name); }
  std::string ledger() const { return m_ledger(); }
  int opens() const { return m_opens(); }
  void profile(const char* name) { m_profile(name); }
  enum Files { AsMeasured, All, None };
  void takes(Files files) { m_takes(files); }
  void most(std::size_t bytes) { m_most(bytes); }

  void reset() {
    failCall(0);
    failNamed("", 0);
    profile("");
    takes(All);
    most(0);
  }

private:
  CuFileStandin() {
    auto library = os::Library::open("libcufile.so.0");
    EXPECT_TRUE(library) << "start this test with ctest, which puts the stand-in on the path";
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library->find(name));
      EXPECT_NE(function, nullptr) << name;
    };
    find(m_failCall, "rdmagpu_standin_cufile_fail_call");
    find(m_failedCall, "rdmagpu_standin_cufile_failed_call");
    find(m_failNamed, "rdmagpu_standin_cufile_fail_named");
    find(m_calls, "rdmagpu_standin_cufile_calls");
    find(m_ledger, "rdmagpu_standin_cufile_ledger");
    find(m_opens, "rdmagpu_standin_cufile_opens");
    find(m_profile, "rdmagpu_standin_cufile_profile");
    find(m_takes, "rdmagpu_standin_cufile_takes");
    find(m_most, "rdmagpu_standin_cufile_most");
  }
  void (*m_failCall)(int);
  const char* (*m_failedCall)();
  void (*m_failNamed)(const char*, int);
  int (*m_calls)(const char*);
  const char* (*m_ledger)();
  int (*m_opens)();
  void (*m_profile)(const char*);
  void (*m_takes)(int);
  void (*m_most)(std::size_t);
};

inline std::vector<std::byte> randomBytes(std::size_t count, unsigned seed = 1) {
  std::mt19937_64 random{seed};
  std::vector<std::byte> bytes(count);
  for(std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
    const std::uint64_t next = random();
    std::memcpy(bytes.data() + at, &next, std::min(sizeof next, count - at));
  }
  return bytes;
}

inline std::vector<std::byte> bytesOf(const RdmaGpuBuffer& buffer, std::size_t slot) {
  std::vector<std::byte> bytes(buffer.slot(slot).size);
  EXPECT_TRUE(buffer.download(slot, bytes));
  return bytes;
}

inline std::vector<std::byte> bytesOf(const RdmaGpuBuffer& buffer, std::size_t slot, std::size_t at,
                                      std::size_t count) {
  std::vector<std::byte> bytes(count);
  EXPECT_TRUE(buffer.download(slot, bytes, at));
  return bytes;
}

/// A file with known bytes.
class KnownFile {
public:
  explicit KnownFile(std::size_t size) : m_bytes(randomBytes(size)) {
    m_tree.write("/clip", {reinterpret_cast<const char*>(m_bytes.data()), m_bytes.size()});
  }
  std::string path() const { return m_tree.root() + "/clip"; }
  std::string folder() const { return m_tree.root(); }
  std::span<const std::byte> bytes() const { return m_bytes; }
  std::vector<std::byte> now() const {
    std::ifstream in{path(), std::ios::binary};
    std::vector<std::byte> all(std::filesystem::file_size(path()));
    in.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(all.size()));
    return all;
  }

private:
  std::vector<std::byte> m_bytes;
  test::TempTree m_tree;
};

inline void expectSame(std::span<const std::byte> found, std::span<const std::byte> expected) {
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size()), 0);
}

/// Slots on the software device of CUDA, and a file.
class OnCuFile : public test::OnCudaStandin {
protected:
  static constexpr std::size_t fileBytes =
      (std::size_t{10} << 20) + 777; ///< More than one piece of a host slot.

  void SetUp() override {
    OnCudaStandin::SetUp();
    cuFile.reset();
    ASSERT_EQ(cuFile.ledger(), "");
  }
  void TearDown() override {
    EXPECT_EQ(cuFile.ledger(), "");
    OnCudaStandin::TearDown();
    cuFile.reset();
  }

  static RdmaGpuBuffer makeBuffer(CudaMemory memory = CudaMemory::Vmm) {
    auto made = RdmaGpuBuffer::make(
        {.api = RdmaGpuApi::Cuda, .slotCount = 2, .frameBytes = std::size_t{11} << 20, .cudaMemory = memory});
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }
  static CuFileRegistration registerSlots(const RdmaGpuBuffer& buffer, CuFileUse use = CuFileUse::Try) {
    auto made = CuFileRegistration::make(buffer, {.use = use});
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }
  static CuFile openFile(const CuFileRegistration& registration, const std::string& path,
                         FileAccess access = FileAccess::Read) {
    auto made = CuFile::open(registration, path, access);
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }

  CuFileStandin& cuFile = CuFileStandin::instance();
  KnownFile known{fileBytes};
};

/// Reads parts of the file into a slot, also across its end, and compares the whole slot each time.
inline void expectReadsAreRight(const CuFile& file, const RdmaGpuBuffer& buffer, const KnownFile& known,
                                StoragePath path) {
  struct Part {
    std::size_t bytes;
    std::uint64_t from;
    std::size_t to;
  };
  const std::size_t size = known.bytes().size();
  for(const Part& part : {Part{8192, 4096, 4096}, Part{std::size_t{9} << 20, 0, 0}, Part{1000, 100, 7},
                          Part{std::size_t{5} << 20, 4095, 1}, Part{8192, size - 5000, 64},
                          Part{4096, size, 0}, Part{4096, size + 100'000, 0}, Part{0, 0, 0}}) {
    ASSERT_TRUE(buffer.clear(1));
    std::vector<std::byte> expected(buffer.slot(1).size);
    const std::size_t there = part.from >= size ? 0 : std::min<std::size_t>(part.bytes, size - part.from);
    std::copy_n(known.bytes().begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(part.from, size)),
                there, expected.begin() + static_cast<std::ptrdiff_t>(part.to));
    const auto moved = file.read(1, part.bytes, part.from, part.to);
    ASSERT_TRUE(moved) << moved.error().message();
    EXPECT_EQ(moved->bytes, there);
    EXPECT_EQ(moved->path, path);
    expectSame(bytesOf(buffer, 1), expected);
  }
}

/// Writes parts of a slot over the file's bytes, and past their end.
inline void expectWritesAreRight(const CuFile& file, const RdmaGpuBuffer& buffer, const KnownFile& known) {
  const auto sent = randomBytes(buffer.slot(0).size, 2);
  ASSERT_TRUE(buffer.upload(0, sent));
  std::vector<std::byte> expected{known.bytes().begin(), known.bytes().end()};
  const auto put = [&](std::size_t bytes, std::uint64_t at, std::size_t from) {
    const auto moved = file.write(0, bytes, at, from);
    ASSERT_TRUE(moved) << moved.error().message();
    EXPECT_EQ(moved->bytes, bytes);
    expected.resize(std::max<std::size_t>(expected.size(), at + bytes));
    std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(at));
    expectSame(known.now(), expected);
  };
  put(8192, 4096, 65536);
  put(std::size_t{9} << 20, 0, 0);
  put(1001, 77, 5);
  put(5000, known.bytes().size() - 100, 3);
}

} // namespace rdmagpu::cufiletest
