#include <program/left_out.hpp>

#include <algorithm>

namespace rdmagpu::testkit {
namespace {

void add(std::vector<std::string>& all, std::initializer_list<const char*> functions,
         std::initializer_list<const char*> variants) {
  for(const char* function : functions) {
    for(const char* variant : variants)
      all.push_back(std::string{function} + "/" + variant);
  }
}

std::vector<std::string> listRisky() {
  std::vector<std::string> all;
  add(all, {"cuMemsetD8_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"},
      {"mapped-past", "mapped-spanning", "plain-past", "no-access*", "read-only*", "hole*", "stale*",
       "bogus*", "host*", "null*"});
  add(all, {"cuMemGetHandleForAddressRange"},
      {"mapped-past*", "mapped-spanning*", "plain-past*", "no-access*", "read-only*", "hole*", "stale*",
       "bogus*", "host*", "null*", "*-huge*"});
  add(all, {"cuPointerGetAttribute", "cuPointerSetAttribute"},
      {"stale*", "hole*", "bogus*", "host*", "null*"});
  add(all,
      {"cuDeviceGetCount", "cuDeviceGetAttribute", "cuMemGetAllocationGranularity", "cuMemCreate",
       "cuMemAddressReserve", "cuMemAlloc_v2", "cuCtxPopCurrent_v2", "cuCtxGetDevice",
       "cuPointerGetAttribute", "cuMemGetHandleForAddressRange"},
      {"*no-output"});
  add(all,
      {"cuMemRelease", "cuMemMap", "cuMemGetAllocationPropertiesFromHandle", "cuMemExportToShareableHandle"},
      {"zero-handle"});
  add(all, {"cuMemAddressFree"}, {"wrong-size*", "interior*", "good-mapped", "stale", "null", "bogus"});
  add(all, {"cuMemUnmap"},
      {"partial", "interior", "with-holes", "several", "hole", "stale", "bogus", "zero-bytes", "odd-bytes"});
  add(all, {"cuMemFree_v2"}, {"interior", "stale", "bogus", "vmm", "null"});
  add(all, {"cuMemSetAccess"},
      {"partial", "with-holes", "several", "hole", "odd-bytes", "zero-bytes", "count-0"});
  add(all, {"cuMemMap"}, {"too-large", "overlapping", "partial", "offset", "zero-bytes", "odd-bytes"});
  add(all, {"cuMemImportFromShareableHandle"}, {"not-a-descriptor", "closed", "of-a-file", "bad-type"});
  add(all, {"cuDevicePrimaryCtxRelease_v2"}, {"not-retained", "last-while-current"});
  add(all, {"cuCtxPushCurrent_v2", "cuCtxSetCurrent"}, {"gone"});
  add(all, {"cuDeviceGetName", "cuDeviceGetPCIBusId"}, {"short"});
  add(all, {"fork"}, {"child-calls"});
  return all;
}

} // namespace

bool matches(std::string_view pattern, std::string_view kind) noexcept {
  if(pattern.empty())
    return kind.empty();
  if(pattern.front() != '*')
    return !kind.empty() && pattern.front() == kind.front() && matches(pattern.substr(1), kind.substr(1));
  for(std::size_t skip = 0; skip <= kind.size(); ++skip) {
    if(matches(pattern.substr(1), kind.substr(skip)))
      return true;
  }
  return false;
}

bool LeftOut::contains(std::string_view kind) const noexcept {
  return std::any_of(m_patterns.begin(), m_patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, kind); });
}

const std::vector<std::string>& riskyPatterns() {
  static const std::vector<std::string> all = listRisky();
  return all;
}

bool needsColdEpisodes(std::string_view pattern) noexcept {
  return pattern.starts_with("cuDevicePrimaryCtxRelease_v2/") || pattern.ends_with("/gone");
}

} // namespace rdmagpu::testkit
