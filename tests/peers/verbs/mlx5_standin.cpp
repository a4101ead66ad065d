// A libmlx5.so.1, one that knows data-direct or one that is too old. The NIC behind it is in the test
// program.
#include <cstddef>
#include <cstdint>

struct ibv_pd;
struct ibv_mr;

extern "C" {

#ifndef RDMAGPU_WITHOUT_DATA_DIRECT
ibv_mr* rdmagpu_standin_reg_data_direct(ibv_pd*, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                                        int fd, int access, int mlx5Access);

__attribute__((visibility("default"))) ibv_mr* mlx5dv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset,
                                                                    std::size_t bytes, std::uint64_t iova,
                                                                    int fd, int access, int mlx5Access) {
  return rdmagpu_standin_reg_data_direct(pd, offset, bytes, iova, fd, access, mlx5Access);
}
#endif

} // extern "C"
