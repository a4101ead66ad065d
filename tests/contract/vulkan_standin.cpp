#include <contract/vulkan_standin.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rdmagpu::test {
namespace {

bool validates = true;

/// The driver, and the layers from the top: validation, where there is one, above the project's.
void setEnvironment(const std::filesystem::path& folder) {
  const std::string settings = (folder / "vk_layer_settings.txt").string();
  std::ofstream{settings} << "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG\n"
                          << "khronos_validation.report_flags = error,warn,perf\n"
                          << "khronos_validation.log_filename = " << (folder / "log").string() << "\n";
  const auto set = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1); // NOLINT(concurrency-mt-unsafe): before any other thread
  };
  set("VK_LAYER_SETTINGS_PATH", settings);
  set("VK_ICD_FILENAMES", RDMAGPU_TEST_VULKAN_DRIVER);
  set("VK_LAYER_PATH", RDMAGPU_TEST_VULKAN_LAYER_PATH); // whose order counts, and not that of the names
  set("VK_INSTANCE_LAYERS", validates ? RDMAGPU_TEST_VULKAN_LAYERS : "VK_LAYER_RDMAGPU_software");
  set("NODEVICE_SELECT", "1"); // Mesa's own layer
}

class Machine : public testing::Environment {
public:
  void SetUp() override {
    std::string folder = (std::filesystem::temp_directory_path() / "rdmagpu-vulkan-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    m_folder = folder;
    setEnvironment(m_folder);
  }
  void TearDown() override {
    EXPECT_EQ(take(), "") << "Khronos' validation has something to say";
    std::error_code ignored;
    std::filesystem::remove_all(m_folder, ignored);
  }
  std::string take() {
    std::ifstream log{m_folder / "log"};
    log.seekg(m_read);
    const std::string text{std::istreambuf_iterator<char>{log}, {}};
    m_read += static_cast<std::streamoff>(text.size());
    return text;
  }

private:
  std::filesystem::path m_folder;
  std::streamoff m_read{};
};

Machine& machine() {
  static auto* const made = new Machine; // GoogleTest's, once it is added
  return *made;
}
[[maybe_unused]] const auto* const added = testing::AddGlobalTestEnvironment(&machine());

template <class Function>
void look(SymbolSource& source, const char* name, Function& function) {
  function = reinterpret_cast<Function>(source.find(name)); // what a symbol table gives has no type
}

} // namespace

std::string takeValidation() { return machine().take(); }

bool withoutValidation() {
  validates = false;
  return true;
}

VulkanStandin& VulkanStandin::instance() {
  // Held open: the loader closes it with each instance.
  static os::Library library = [] {
    auto opened = os::Library::open(RDMAGPU_TEST_VULKAN_LAYER);
    if(!opened) {
      std::fputs("no " RDMAGPU_TEST_VULKAN_LAYER "\n", stderr);
      std::exit(1); // NOLINT(concurrency-mt-unsafe): before any other thread
    }
    return *opened;
  }();
  static VulkanStandin standin{library};
  return standin;
}

VulkanStandin::VulkanStandin(SymbolSource& source) {
  look(source, "rdmagpu_standin_vulkan_fail_call", m_failCall);
  look(source, "rdmagpu_standin_vulkan_failed_call", m_failedCall);
  look(source, "rdmagpu_standin_vulkan_fail_named", m_failNamed);
  look(source, "rdmagpu_standin_vulkan_calls", m_calls);
  look(source, "rdmagpu_standin_vulkan_ledger", m_ledger);
  look(source, "rdmagpu_standin_vulkan_mode", m_mode);
  look(source, "rdmagpu_standin_vulkan_last_usage", m_lastUsage);
}

} // namespace rdmagpu::test
