// In place of libFuzzer where the compiler has none: gives each file of the corpus to the fuzzer once.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  std::size_t files = 0;
  for(int i = 1; i < argc; ++i) {
    for(const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ostringstream content;
      content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      const std::string input = content.str();
      std::fprintf(stderr, "%s\n", entry.path().c_str());
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
      ++files;
    }
  }
  std::fprintf(stderr, "%zu inputs replayed\n", files);
  return files == 0; // no corpus: nothing was tested
}
