#pragma once
#include <rdmagpu/cufile.hpp>
#include <rdmagpu/cufile_peer.hpp>
#include <rdmagpu/rdmagpu_cufile.h>

struct rdmagpu_cufile_registration {
  rdmagpu::CuFileRegistration value;
};
struct rdmagpu_cufile {
  rdmagpu::CuFile value;
};
struct rdmagpu_cufile_peer {
  rdmagpu::CuFilePeer value;
};

namespace rdmagpu::capi {

inline rdmagpu_cufile_facts toC(const CuFileFacts& facts, StoragePath path) noexcept {
  return {.struct_size = 0,
          .path = static_cast<int32_t>(path),
          .version = facts.version,
          .nvidia_fs_major = facts.nvidiaFsMajor,
          .nvidia_fs_minor = facts.nvidiaFsMinor,
          .compat_allowed = facts.compatAllowed ? 1U : 0U,
          .compat_forced = facts.compatForced ? 1U : 0U,
          .nvidia_fs_loaded = static_cast<int32_t>(facts.nvidiaFsLoaded)};
}

} // namespace rdmagpu::capi
