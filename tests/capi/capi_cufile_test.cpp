#include "capi_support.hpp"
#include "support/temp_tree.hpp"

#include <rdmagpu/rdmagpu_cufile.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>

/// On host slots, which do without cuFile; tests/storage has it on a GPU's.
namespace rdmagpu::capitest {
namespace {

struct DestroyFile {
  void operator()(rdmagpu_cufile_registration* object) const noexcept {
    rdmagpu_cufile_registration_destroy(object);
  }
  void operator()(rdmagpu_cufile* object) const noexcept { rdmagpu_cufile_destroy(object); }
  void operator()(rdmagpu_cufile_peer* object) const noexcept { rdmagpu_cufile_peer_destroy(object); }
};
template <class Object>
using OwnedFile = std::unique_ptr<Object, DestroyFile>;

constexpr std::size_t fileBytes = 400'000;

class CapiCuFile : public testing::Test {
protected:
  void SetUp() override {
    for(std::size_t i = 0; i < text.size(); ++i)
      text[i] = static_cast<char>(i * 7 + i / 251);
    tree.write("/clip", text);
    rdmagpu_cufile_registration* made = nullptr;
    ASSERT_EQ(rdmagpu_cufile_registration_create(buffer.get(), RDMAGPU_CUFILE_TRY, &made, nullptr),
              RDMAGPU_OK);
    slots.reset(made);
  }
  OwnedFile<rdmagpu_cufile> openFile(int32_t access) const {
    rdmagpu_cufile* made = nullptr;
    rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
    EXPECT_EQ(rdmagpu_cufile_open(slots.get(), path.c_str(), access, &made, &error), RDMAGPU_OK)
        << messageOf(error);
    return OwnedFile<rdmagpu_cufile>{made};
  }
  std::string slotText(std::uint32_t slot, std::size_t offset, std::size_t bytes) const {
    std::string found(bytes, '\0');
    EXPECT_EQ(rdmagpu_buffer_download(buffer.get(), slot, offset, found.data(), bytes, nullptr), RDMAGPU_OK);
    return found;
  }

  test::TempTree tree;
  std::string path = tree.root() + "/clip";
  std::string text = std::string(fileBytes, '\0');
  Owned<rdmagpu_buffer> buffer = makeBuffer();
  OwnedFile<rdmagpu_cufile_registration> slots;
};

TEST_F(CapiCuFile, AFileIsReadIntoASlotAndWrittenFromOne) {
  const auto file = openFile(RDMAGPU_FILE_WRITE);
  std::uint64_t size{};
  ASSERT_EQ(rdmagpu_cufile_size(file.get(), &size, nullptr), RDMAGPU_OK);
  EXPECT_EQ(size, fileBytes);
  rdmagpu_file_transfer done = RDMAGPU_INIT(rdmagpu_file_transfer);
  ASSERT_EQ(rdmagpu_cufile_read(file.get(), 1, 5000, 4097, 3, &done, nullptr), RDMAGPU_OK);
  EXPECT_EQ(done.bytes, 5000U);
  EXPECT_EQ(done.path, RDMAGPU_STORAGE_PATH_PAGE_CACHE);
  EXPECT_EQ(slotText(1, 3, 5000), text.substr(4097, 5000));
  ASSERT_EQ(rdmagpu_cufile_write(file.get(), 1, 5000, fileBytes, 3, nullptr, nullptr), RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_cufile_size(file.get(), &size, nullptr), RDMAGPU_OK);
  EXPECT_EQ(size, fileBytes + 5000);
}

TEST_F(CapiCuFile, AFileMayComeByItsDescriptor) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  rdmagpu_cufile* made = nullptr;
  ASSERT_EQ(rdmagpu_cufile_of(slots.get(), fd, &made, nullptr), RDMAGPU_OK);
  const OwnedFile<rdmagpu_cufile> file{made};
  close(fd);
  ASSERT_EQ(rdmagpu_cufile_read(made, 0, 100, 0, 0, nullptr, nullptr), RDMAGPU_OK);
  EXPECT_EQ(slotText(0, 0, 100), text.substr(0, 100));
  EXPECT_EQ(failureOf([&](rdmagpu_error* e) { return rdmagpu_cufile_of(slots.get(), -1, &made, e); }).kind,
            RDMAGPU_INVALID_ARGUMENT);
}

TEST_F(CapiCuFile, AFileOutlivesItsRegistrationAndBuffer) {
  const auto file = openFile(RDMAGPU_FILE_READ);
  slots.reset();
  buffer.reset();
  EXPECT_EQ(rdmagpu_cufile_read(file.get(), 2, 4096, 0, 0, nullptr, nullptr), RDMAGPU_OK);
}

TEST_F(CapiCuFile, NothingIsMovedAfterDeregistration) {
  const auto file = openFile(RDMAGPU_FILE_READ);
  ASSERT_EQ(rdmagpu_cufile_registration_deregister(slots.get(), nullptr), RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_cufile_registration_deregister(slots.get(), nullptr), RDMAGPU_OK);
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) {
                 return rdmagpu_cufile_read(file.get(), 0, 1, 0, 0, nullptr, e);
               }).code_name,
               "CuFileDeregistered");
}

TEST_F(CapiCuFile, ItSaysWhichWayItGoes) {
  rdmagpu_cufile_facts facts = RDMAGPU_INIT(rdmagpu_cufile_facts);
  ASSERT_EQ(rdmagpu_cufile_registration_facts(slots.get(), &facts, nullptr), RDMAGPU_OK);
  EXPECT_NE(rdmagpu_storage_path_name(facts.path), nullptr);
  EXPECT_EQ(facts.version, 0);
  const auto file = openFile(RDMAGPU_FILE_READ);
  rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
  ASSERT_EQ(rdmagpu_cufile_reason(file.get(), &reason, nullptr), RDMAGPU_OK);
  const bool direct = rdmagpu_storage_is_direct(rdmagpu_cufile_path(file.get())) == RDMAGPU_YES;
  EXPECT_EQ(reason.kind == RDMAGPU_OK, direct);
  ASSERT_EQ(rdmagpu_cufile_registration_reason(slots.get(), &reason, nullptr), RDMAGPU_OK);
}

TEST_F(CapiCuFile, PathsHaveNames) {
  EXPECT_STREQ(rdmagpu_storage_path_name(RDMAGPU_STORAGE_PATH_HOST_SLOT), "host-slot");
  EXPECT_EQ(rdmagpu_storage_path_name(6), nullptr);
  EXPECT_EQ(rdmagpu_storage_is_direct(RDMAGPU_STORAGE_PATH_PEER_TO_PEER), RDMAGPU_YES);
  EXPECT_EQ(rdmagpu_storage_is_direct(RDMAGPU_STORAGE_PATH_PAGE_CACHE), RDMAGPU_NO);
  EXPECT_EQ(rdmagpu_storage_is_direct(RDMAGPU_STORAGE_PATH_UNDECIDED), RDMAGPU_UNKNOWN);
  EXPECT_EQ(rdmagpu_storage_is_direct(-1), RDMAGPU_UNKNOWN);
}

TEST_F(CapiCuFile, AFileIsAPeerOfAProof) {
  rdmagpu_cufile_peer* made = nullptr;
  ASSERT_EQ(rdmagpu_cufile_peer_open(buffer.get(), path.c_str(), RDMAGPU_CUFILE_TRY, RDMAGPU_CUFILE_OVERWRITE,
                                     &made, nullptr),
            RDMAGPU_OK);
  const OwnedFile<rdmagpu_cufile_peer> peer{made};
  rdmagpu_cufile_peer_facts facts = RDMAGPU_INIT(rdmagpu_cufile_peer_facts);
  ASSERT_EQ(rdmagpu_cufile_peer_facts_of(made, &facts, nullptr), RDMAGPU_OK);
  EXPECT_EQ(facts.name, "cufile:" + path);
  EXPECT_EQ(facts.size, fileBytes);
  EXPECT_GT(rdmagpu_cufile_peer_overwritten(made, 1000), 0U);
  rdmagpu_cufile_facts cufile = RDMAGPU_INIT(rdmagpu_cufile_facts);
  EXPECT_EQ(rdmagpu_cufile_peer_cufile_facts(made, &cufile, nullptr), RDMAGPU_OK);
  EXPECT_EQ(cufile.path, facts.path);
  rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
  EXPECT_EQ(rdmagpu_cufile_peer_reason(made, &reason, nullptr), RDMAGPU_OK);

  rdmagpu_report* report = nullptr;
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  ASSERT_EQ(rdmagpu_cufile_peer_verify(made, buffer.get(), nullptr, &report, &error), RDMAGPU_OK)
      << messageOf(error);
  const Owned<rdmagpu_report> owned{report};
  rdmagpu_report_facts proven = RDMAGPU_INIT(rdmagpu_report_facts);
  ASSERT_EQ(rdmagpu_report_facts_of(report, &proven, nullptr), RDMAGPU_OK);
  EXPECT_EQ(proven.write, RDMAGPU_YES);
  EXPECT_EQ(proven.read, RDMAGPU_YES);
}

TEST_F(CapiCuFile, AFileThatKeepsItsBytesIsRead) {
  rdmagpu_cufile_peer* made = nullptr;
  ASSERT_EQ(rdmagpu_cufile_peer_open(buffer.get(), path.c_str(), RDMAGPU_CUFILE_OFF, 0, &made, nullptr),
            RDMAGPU_OK);
  const OwnedFile<rdmagpu_cufile_peer> peer{made};
  EXPECT_EQ(rdmagpu_cufile_peer_overwritten(made, 1000), 0U);
  std::string fetched(1000, '\0');
  ASSERT_EQ(rdmagpu_cufile_peer_fetch(made, 0, fetched.data(), fetched.size(), nullptr), RDMAGPU_OK);
  ASSERT_EQ(rdmagpu_cufile_peer_fill(made, 0, fetched.size(), nullptr), RDMAGPU_OK);
  EXPECT_EQ(slotText(0, 0, fetched.size()), fetched);
  EXPECT_NE(rdmagpu_cufile_peer_write(made, 0, fetched.data(), fetched.size(), nullptr), RDMAGPU_OK);
  EXPECT_NE(rdmagpu_cufile_peer_read(made, 0, fetched.data(), fetched.size(), nullptr), RDMAGPU_OK);
}

TEST_F(CapiCuFile, WhatCannotBeIsRefusedByName) {
  rdmagpu_cufile_registration* registration = nullptr;
  rdmagpu_cufile* file = nullptr;
  rdmagpu_cufile_peer* peer = nullptr;
  const auto codeOf = [](auto call) { return std::string(failureOf(call).code_name); };
  EXPECT_EQ(codeOf([&](rdmagpu_error* e) {
              return rdmagpu_cufile_registration_create(buffer.get(), 3, &registration, e);
            }),
            "ValueUnknown");
  EXPECT_EQ(codeOf([&](rdmagpu_error* e) {
              return rdmagpu_cufile_registration_create(nullptr, 0, &registration, e);
            }),
            "PointerNull");
  EXPECT_EQ(
      codeOf([&](rdmagpu_error* e) { return rdmagpu_cufile_open(slots.get(), path.c_str(), 2, &file, e); }),
      "ValueUnknown");
  EXPECT_EQ(codeOf([&](rdmagpu_error* e) { return rdmagpu_cufile_open(slots.get(), nullptr, 0, &file, e); }),
            "PointerNull");
  EXPECT_EQ(codeOf([&](rdmagpu_error* e) {
              return rdmagpu_cufile_open(slots.get(), (path + "9").c_str(), 0, &file, e);
            }),
            "ENOENT");
  EXPECT_EQ(codeOf([&](rdmagpu_error* e) {
              return rdmagpu_cufile_peer_open(buffer.get(), path.c_str(), -1, 0, &peer, e);
            }),
            "ValueUnknown");
  EXPECT_NE(rdmagpu_cufile_peer_open(buffer.get(), path.c_str(), 0, 2, &peer, nullptr), RDMAGPU_OK);
  EXPECT_EQ(rdmagpu_cufile_of(nullptr, 0, &file, nullptr), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_FALSE(registration || file || peer);
}

TEST_F(CapiCuFile, AStructOfNoVersionMovesNothing) {
  const auto file = openFile(RDMAGPU_FILE_READ);
  rdmagpu_file_transfer done = RDMAGPU_INIT(rdmagpu_file_transfer);
  done.struct_size = 3;
  ASSERT_EQ(rdmagpu_buffer_clear(buffer.get(), 0, nullptr), RDMAGPU_OK);
  EXPECT_EQ(rdmagpu_cufile_read(file.get(), 0, 100, 0, 0, &done, nullptr), RDMAGPU_INVALID_ARGUMENT);
  EXPECT_EQ(slotText(0, 0, 100), std::string(100, '\0'));
}

TEST(CapiCuFileNull, HasNothing) {
  rdmagpu_error reason = RDMAGPU_INIT(rdmagpu_error);
  rdmagpu_cufile_facts facts = RDMAGPU_INIT(rdmagpu_cufile_facts);
  rdmagpu_cufile_peer_facts peer = RDMAGPU_INIT(rdmagpu_cufile_peer_facts);
  std::uint64_t size{};
  char bytes[8]{};
  rdmagpu_report* report = nullptr;
  const auto refused = [](int kind) { EXPECT_EQ(kind, RDMAGPU_INVALID_ARGUMENT); };
  refused(rdmagpu_cufile_registration_facts(nullptr, &facts, nullptr));
  refused(rdmagpu_cufile_registration_reason(nullptr, &reason, nullptr));
  refused(rdmagpu_cufile_registration_deregister(nullptr, nullptr));
  refused(rdmagpu_cufile_reason(nullptr, &reason, nullptr));
  refused(rdmagpu_cufile_size(nullptr, &size, nullptr));
  refused(rdmagpu_cufile_read(nullptr, 0, 1, 0, 0, nullptr, nullptr));
  refused(rdmagpu_cufile_write(nullptr, 0, 1, 0, 0, nullptr, nullptr));
  refused(rdmagpu_cufile_peer_facts_of(nullptr, &peer, nullptr));
  refused(rdmagpu_cufile_peer_cufile_facts(nullptr, &facts, nullptr));
  refused(rdmagpu_cufile_peer_reason(nullptr, &reason, nullptr));
  refused(rdmagpu_cufile_peer_write(nullptr, 0, bytes, 8, nullptr));
  refused(rdmagpu_cufile_peer_read(nullptr, 0, bytes, 8, nullptr));
  refused(rdmagpu_cufile_peer_fetch(nullptr, 0, bytes, 8, nullptr));
  refused(rdmagpu_cufile_peer_fill(nullptr, 0, 8, nullptr));
  refused(rdmagpu_cufile_peer_verify(nullptr, nullptr, nullptr, &report, nullptr));
  EXPECT_EQ(rdmagpu_cufile_path(nullptr), -1);
  EXPECT_EQ(rdmagpu_cufile_peer_overwritten(nullptr, 1), 0U);
  rdmagpu_cufile_destroy(nullptr);
  rdmagpu_cufile_registration_destroy(nullptr);
  rdmagpu_cufile_peer_destroy(nullptr);
}

} // namespace
} // namespace rdmagpu::capitest
