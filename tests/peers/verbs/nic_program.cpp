// Puts the NIC in software into the program, as RDMAGPU_STANDIN_NIC says.
#include "nic_standin.hpp"

#include <cstdlib>
#include <string_view>

namespace rdmagpu::nictest {
namespace {

Nic nicNamed(std::string_view name) {
  Nic nic = name == "no-gpu" ? rxe() : mlx5();
  nic.there = name != "absent";
  nic.portUp = name != "down";
  nic.iWarp = name == "iwarp";
  nic.ethernet = name != "infiniband";
  nic.readsArrive = name != "writes-only";
  nic.bytesMove = name != "liar";
  if(const char* node = std::getenv("RDMAGPU_STANDIN_NIC_NODE"))
    nic.node = node;
  if(name == "small")
    nic.maxMrSize = 1 << 20;
  return nic;
}

const bool installed = [] {
  const char* name = std::getenv("RDMAGPU_STANDIN_NIC");
  reset(nicNamed(name ? name : ""));
  if(name && std::string_view(name) == "locked")
    failNext("ibv_open_device", EACCES);
  if(name && std::string_view(name) == "no-gpu")
    failNext("ibv_reg_mr_iova2", EFAULT); // that it is a device's pointer it cannot know here
  return true;
}();

} // namespace
} // namespace rdmagpu::nictest
