#include <capi/convert.hpp>
#include <capi/structs.hpp>
#include <rdmagpu/version.hpp>

#include <new>

using namespace rdmagpu;

namespace {

static_assert(Hint::anyCode == RDMAGPU_HINT_ANY_CODE);

/// What there is of it: a struct of any version that names a failure.
Error read(const rdmagpu_error* error) noexcept {
  const auto known = capi::read("rdmagpu_error_message", error);
  return known ? capi::fromC(*known) : known.error();
}

} // namespace

extern "C" {

const char* rdmagpu_version(void) { return version(); }

size_t rdmagpu_error_message(const rdmagpu_error* error, char* text, size_t size) {
  try {
    return capi::copyText(read(error).message(), text, size);
  } catch(const std::bad_alloc&) {
    return capi::copyText("no memory is left for the message", text, size);
  }
}

size_t rdmagpu_error_hint_count(const rdmagpu_error* error) { return read(error).hints().size(); }

const char* rdmagpu_error_hint(const rdmagpu_error* error, size_t index) {
  const auto hints = read(error).hints();
  return index < hints.size() ? hints[index] : nullptr;
}

size_t rdmagpu_hint_count(void) { return hintTable().size(); }

bool rdmagpu_hint_get(size_t index, rdmagpu_hint* to) {
  if(index >= hintTable().size())
    return false;
  const Hint& row = hintTable()[index];
  return capi::write("rdmagpu_hint_get",
                     rdmagpu_hint{.struct_size = 0,
                                  .origin = static_cast<int32_t>(row.origin),
                                  .call = row.call,
                                  .code = row.code,
                                  .code_name = row.codeName,
                                  .finding = row.finding,
                                  .sentences = row.sentences.data(),
                                  .sentence_count = row.sentences.size()},
                     to)
      .has_value();
}

const char* rdmagpu_errc_name(int32_t kind) { return capi::nameOf(kind, Errc::Internal); }
const char* rdmagpu_origin_name(int32_t origin) { return capi::nameOf(origin, Origin::CuFile); }
const char* rdmagpu_answer_name(int32_t answer) { return capi::nameOf(answer, Answer::Yes); }

bool rdmagpu_pci_parse(const char* text, rdmagpu_pci_address* address) {
  const auto parsed = text ? PciAddress::parse(text) : std::nullopt;
  if(parsed && address)
    *address = capi::toC(parsed);
  return parsed && address;
}

size_t rdmagpu_pci_text(rdmagpu_pci_address address, char* text, size_t size) {
  const auto pci = capi::fromC(address);
  try {
    return capi::copyText(pci ? pci->text() : std::string{}, text, size);
  } catch(const std::bad_alloc&) {
    return capi::copyText({}, text, size);
  }
}

} // extern "C"
