#include <program/operations.hpp>
#include <program/run.hpp>

#include <array>
#include <numeric>
#include <span>

namespace rdmagpu::testkit {
namespace {

namespace op = operations;

constexpr std::size_t callsPerEpisode = 200;
constexpr std::size_t mostAttempts = 4000;
/// Retaining a context that nobody has costs a tenth of a second on a real GPU.
constexpr std::size_t coldEvery = 40;
constexpr std::size_t forkEvery = 25;

struct Choice {
  unsigned weight;
  void (*make)(Session&);
};

constexpr std::array memoryCalls{
    Choice{5, op::makeUsable},
    Choice{6, op::createMemory},
    Choice{5, op::releaseMemory},
    Choice{6, op::reserve},
    Choice{5, op::freeReservation},
    Choice{8, op::map},
    Choice{8, op::setAccess},
    Choice{6, op::unmap},
    Choice{3, op::getProperties},
    Choice{10, op::exportRange},
    Choice{3, op::shareHandle},
    Choice{2, op::importHandle},
    Choice{7, op::getPointerAttribute},
    Choice{4, op::setPointerAttribute},
    Choice{5, op::allocate},
    Choice{4, op::freePlain},
    Choice{5, op::fill},
    Choice{3, op::upload},
    Choice{2, op::download},
    Choice{1, op::synchronize},
    Choice{2, op::flush},
    Choice{2, op::getGranularity},
    Choice{1, op::askContext},
    Choice{1, op::push},
    Choice{1, op::pop},
    Choice{1, op::init},
    Choice{1, op::getAttribute},
};

constexpr std::array contextCalls{
    Choice{3, op::retain},
    Choice{3, op::release},
    Choice{6, op::push},
    Choice{6, op::pop},
    Choice{4, op::setCurrent},
    Choice{6, op::askContext},
    Choice{2, op::askPrimaryState},
    Choice{3, op::allocate},
    Choice{1, op::freePlain},
    Choice{1, op::makeUsable},
    Choice{2, op::exportRange},
    Choice{2, op::getPointerAttribute},
    Choice{2, op::fill},
    Choice{2, op::flush},
    Choice{1, op::init},
    Choice{1, op::countDevices},
    Choice{1, op::getDevice},
    Choice{1, op::getDeviceText},
    Choice{1, op::getDeviceNumbers},
    Choice{2, op::getAttribute},
    Choice{1, op::nameError},
    Choice{1, op::getGranularity},
};

void makeOne(Session& session, std::span<const Choice> choices) {
  const unsigned all =
      std::accumulate(choices.begin(), choices.end(), 0U,
                      [](unsigned sum, const Choice& choice) { return sum + choice.weight; });
  std::size_t at = session.random.below(all);
  for(const Choice& choice : choices) {
    if(at < choice.weight) {
      choice.make(session);
      return;
    }
    at -= choice.weight;
  }
}

void makeCurrent(Session& session) {
  for(int tries = 0; tries < 20 && session.model.retained == 0; ++tries)
    op::retain(session);
  for(int tries = 0; tries < 20 && session.model.stack.empty(); ++tries)
    op::push(session);
}

} // namespace

bool Run::keep() {
  if(!m_kept)
    m_kept = m_cuda->functions.primaryCtxRetain(&m_primary, api::Device{}) == api::Status::Success;
  return m_kept;
}

void Run::unkeep() {
  if(m_kept)
    m_cuda->functions.primaryCtxRelease(api::Device{});
  m_kept = false;
}

bool Run::isHealthy() const {
  const api::Functions& cuda = m_cuda->functions;
  if(cuda.ctxPushCurrent(m_primary) != api::Status::Success)
    return false;
  api::DevicePtr address{};
  bool good = cuda.memAlloc(&address, 4096) == api::Status::Success;
  if(good) {
    good = cuda.memsetD8(address, 1, 4096) == api::Status::Success &&
           cuda.streamSynchronize(api::Stream{}) == api::Status::Success;
    good = cuda.memFree(address) == api::Status::Success && good;
  }
  api::Context popped{};
  return cuda.ctxPopCurrent(&popped) == api::Status::Success && good;
}

bool Run::start() {
  {
    Session session{*m_cuda, m_plan.seed, *m_witness, *m_leftOut};
    m_witness->beginEpisode(0, "before-init");
    op::beforeInit(session);
    m_witness->endEpisode();
  }
  return m_cuda->functions.init(0) == api::Status::Success;
}

std::size_t Run::episode(std::size_t number) {
  const bool cold = m_plan.onlyCold || number % coldEvery == coldEvery - 1;
  const char* kind = cold ? "cold" : "usual";
  if(!cold && number % 8 == 3)
    kind = "no-context";
  if(!cold && number % 8 == 6)
    kind = "contexts";
  if(cold)
    unkeep();
  else if(!keep())
    return 0;

  // Numbers that differ in one bit give unrelated sequences.
  Session session{*m_cuda, Random{m_plan.seed * 1'000'003U + number}.next(), *m_witness, *m_leftOut};
  session.model.granularity = m_plan.granularity;
  session.model.kept = m_kept;
  session.model.primary = m_kept ? m_primary : nullptr;
  m_witness->beginEpisode(number, kind);
  const bool aboutContexts = kind[0] == 'c';
  if(kind[0] == 'u')
    makeCurrent(session);
  for(std::size_t tries = 0; tries < mostAttempts && session.calls() < callsPerEpisode && !session.ended();
      ++tries)
    makeOne(session,
            aboutContexts ? std::span<const Choice>{contextCalls} : std::span<const Choice>{memoryCalls});
  if(number % forkEvery == 7)
    op::callInChild(session);
  session.cleanUp();
  m_witness->endEpisode();
  return keep() && isHealthy() ? session.calls() : 0;
}

Facts gatherFacts(const CudaApi& cuda) {
  using A = api::DeviceAttribute;
  constexpr std::array attributes{A::Integrated,
                                  A::VirtualMemoryManagementSupported,
                                  A::HandleTypePosixFileDescriptorSupported,
                                  A::GpuDirectRdmaWithCudaVmmSupported,
                                  A::GpuDirectRdmaSupported,
                                  A::GpuDirectRdmaFlushWritesOptions,
                                  A::GpuDirectRdmaWritesOrdering,
                                  A::DmaBufSupported};
  Facts facts;
  for(const A attribute : attributes) {
    int value = 0;
    const api::Status status = cuda.functions.deviceGetAttribute(&value, attribute, api::Device{});
    facts.emplace_back("attribute-" + std::to_string(static_cast<unsigned>(attribute)),
                       status == api::Status::Success
                           ? std::to_string(value)
                           : "status-" + std::to_string(static_cast<unsigned>(status)));
  }
  for(const std::uint8_t rdma : {std::uint8_t{0}, std::uint8_t{1}}) {
    for(const unsigned option : {0U, 1U}) {
      const api::AllocationProp prop{.allocFlags = {.gpuDirectRdmaCapable = rdma}};
      std::size_t bytes{};
      cuda.functions.memGetAllocationGranularity(&bytes, &prop, static_cast<api::Granularity>(option));
      facts.emplace_back("granularity-" + std::string{option ? "recommended" : "minimum"} +
                             (rdma ? "-rdma" : ""),
                         std::to_string(bytes));
    }
  }
  return facts;
}

} // namespace rdmagpu::testkit
