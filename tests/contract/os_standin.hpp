#pragma once
#include <cstddef>
#include <string>

namespace rdmagpu::test {

/// Stands on the other side of the library's door to the operating system: the linker's --wrap
/// sends every system call of src/os/ here first. Passes calls on to the kernel, keeps a ledger of
/// descriptors and mappings, and can make the n-th call fail as the kernel would.
///
/// Also a software udmabuf device: with softUdmabuf(true) /dev/udmabuf and the module's size limit
/// exist, and UDMABUF_CREATE refuses what the kernel's driver refuses. What it returns has the size
/// of the range but not its bytes.
class OsStandin {
public:
  static OsStandin& instance();

  /// Starts to count calls anew and makes the n-th one fail; 0: none.
  void failCall(int n);
  /// The call that was made to fail, as the library names it; empty when none was.
  std::string failedCall() const;
  /// Makes each call of that name fail with `code` until failNamed("", 0).
  void failNamed(const std::string& name, int code);
  /// How many calls of that name were made since failCall().
  int calls(const std::string& name) const;

  /// Direct I/O of memory in that range moves other bytes than it says, as behind an IOMMU that refuses it:
  /// what is read goes `elsewhere` bytes farther, or nowhere with 0; what is written are zeros. 0 bytes: no
  /// longer.
  void loseDirect(const void* begin, std::size_t bytes, std::ptrdiff_t elsewhere = 0);

  void softUdmabuf(bool present, unsigned limitMegabytes = 64);

  /// What is held that was acquired since the last clearLedger(), in words; empty when nothing is.
  std::string ledger() const;
  void clearLedger();
};

} // namespace rdmagpu::test
