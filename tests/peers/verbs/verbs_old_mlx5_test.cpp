#include "verbs_gpu_fixture.hpp"

namespace rdmagpu::nictest {
namespace {

/// With a libmlx5.so.1 that is older than data-direct.
using VerbsOldMlx5 = VerbsGpu;

TEST_F(VerbsOldMlx5, DataDirectIsTooNewForItAndTheDmaBufIsTaken) {
  const RdmaGpuBuffer buffer = gpuBuffer();
  const VerbsRegistration all = registerOn(buffer, {.dataDirect = true});
  EXPECT_EQ(all.path(), RegistrationPath::DmaBuf);
  ASSERT_EQ(all.attempts().size(), 2U);
  const Error& error = all.attempts()[0].error;
  EXPECT_EQ(error.kind, Errc::TooOld);
  EXPECT_STREQ(error.call, "mlx5dv_reg_dmabuf_mr");
  EXPECT_THAT(error.hints().front(), testing::HasSubstr("rdma-core"));
}

} // namespace
} // namespace rdmagpu::nictest
