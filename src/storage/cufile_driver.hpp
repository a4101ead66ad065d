#pragma once
#include <driver/cufile.hpp>
#include <rdmagpu/cufile.hpp>
#include <rdmagpu/error.hpp>

namespace rdmagpu::storage {

namespace api = driver::cufile;

/// How cuFile goes between GPU memory and a file that it takes.
struct Route {
  StoragePath path{};
  Error reason{}; ///< Why it is not known to be direct; of one that is not usable, why.
  bool usable{};
};
Route routeOf(const CuFileFacts&, bool storageSupported, bool p2pSupported) noexcept;

struct CuFileDriver {
  const api::Functions* functions{};
  CuFileFacts facts{};
  Route route{};
};

/// cuFile, loaded on first use and opened once. An error where it is not installed, is too old or refuses, or
/// was opened by the process that this one was forked from.
Result<CuFileDriver> openCuFile() noexcept;

} // namespace rdmagpu::storage
