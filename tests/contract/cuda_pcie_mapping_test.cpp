#include <contract/cuda_driver.hpp>
#include <contract/fault.hpp>
#include <support/log_capture.hpp>

#include <utility>

namespace rdmagpu::test {
namespace {

RdmaGpuBufferConfig mapped(PcieMapping mapping, CudaMemory memory = CudaMemory::Vmm) {
  auto config = cudaConfig(memory);
  config.pcieMapping = mapping;
  return config;
}

TEST(CudaPcieMapping, OffIsTheDriversDefault) {
  const auto buffer = RdmaGpuBuffer::make(mapped(PcieMapping::Off));
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto exported = buffer->exportRegion();
  ASSERT_TRUE(exported) << exported.error().message();
  EXPECT_FALSE(exported->pcieMapped());
  EXPECT_EQ(exported->pcieError().kind, Errc::None);
}

TEST(CudaPcieMapping, TriedMappingExportsAndSaysHow) {
  for(const CudaMemory memory : {CudaMemory::Vmm, CudaMemory::MemAlloc}) {
    const auto buffer = RdmaGpuBuffer::make(mapped(PcieMapping::Try, memory));
    ASSERT_TRUE(buffer) << buffer.error().message();
    const auto slot = buffer->exportSlot(1);
    ASSERT_TRUE(slot) << slot.error().message();
    EXPECT_EQ(slot->pcieMapped(), slot->pcieError().kind == Errc::None);
  }
}

class CudaPcieMappingOnStandin : public OnCudaStandin {
protected:
  static Outcome exportBoth(PcieMapping mapping) {
    const LogCapture log;
    Outcome outcome;
    {
      const auto buffer = RdmaGpuBuffer::make(mapped(mapping));
      const auto region = buffer ? buffer->exportRegion() : Result<DmaBuf>{buffer.error()};
      const auto slot = region ? buffer->exportSlot(0) : Result<DmaBuf>{region.error()};
      if(buffer)
        outcome.survived = survivedBy(buffer->facts());
      if(!slot)
        outcome.result = slot.error();
      for(const auto* exported : {&region, &slot}) {
        if(*exported)
          outcome.survived.push_back((*exported)->pcieError());
      }
    }
    const auto logged = log.errors();
    outcome.survived.insert(outcome.survived.end(), logged.begin(), logged.end());
    return outcome;
  }
};

TEST_F(CudaPcieMappingOnStandin, IsMadeWhereTheDriverOffersIt) {
  standin->profile("grace");
  for(const PcieMapping mapping : {PcieMapping::Try, PcieMapping::Require}) {
    const auto buffer = RdmaGpuBuffer::make(mapped(mapping));
    ASSERT_TRUE(buffer);
    for(int i = 0; i < 2; ++i) { // the second is a further descriptor of the first
      auto region = buffer->exportRegion();
      ASSERT_TRUE(region) << region.error().message();
      EXPECT_TRUE(region->pcieMapped());
      const DmaBuf moved = *std::move(region);
      EXPECT_TRUE(moved.pcieMapped());
    }
  }
}

TEST_F(CudaPcieMappingOnStandin, FallbackCarriesItsReason) {
  const auto buffer = RdmaGpuBuffer::make(mapped(PcieMapping::Try));
  ASSERT_TRUE(buffer);
  for(int i = 0; i < 2; ++i) {
    const auto region = buffer->exportRegion();
    ASSERT_TRUE(region) << region.error().message();
    EXPECT_FALSE(region->pcieMapped());
    EXPECT_STREQ(region->pcieError().codeName, "NotPcieMappable");
    EXPECT_EQ(region->pcieError().device, 0);
  }
}

TEST_F(CudaPcieMappingOnStandin, RequiredMappingIsRefusedWithItsRemedy) {
  const auto buffer = RdmaGpuBuffer::make(mapped(PcieMapping::Require));
  ASSERT_TRUE(buffer);
  const auto region = buffer->exportRegion();
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().kind, Errc::Unsupported);
  EXPECT_STREQ(region.error().codeName, "NotPcieMappable");
  EXPECT_FALSE(region.error().hints().empty());
}

TEST_F(CudaPcieMappingOnStandin, EveryCallOfAnExportFailsOnce) {
  everyCallFailsOnce(*standin, [] { return exportBoth(PcieMapping::Try); });
  standin->profile("grace");
  everyCallFailsOnce(*standin, [] { return exportBoth(PcieMapping::Try); });
  everyCallFailsOnce(*standin, [] { return exportBoth(PcieMapping::Require); });
}

} // namespace
} // namespace rdmagpu::test
