#include <program/left_out.hpp>
#include <program/supervisor.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace rdmagpu::testkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto probeLimit = std::chrono::seconds{120};
constexpr auto stillness = std::chrono::seconds{180};
constexpr int mostAttempts = 30;

struct End {
  int code = -1; ///< -1: it did not exit by itself.
  int signal{};
  bool hung{};

  std::string text() const {
    if(hung)
      return "does not return";
    if(signal != 0)
      return "ends the process with signal " + std::to_string(signal);
    return code == workerLostDriver ? "leaves a driver that does not work any more"
                                    : "exit status " + std::to_string(code);
  }
};

off_t sizeOf(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

/// Starts this program again. It may take `limit`; with a file: from one growth of the file to the next.
End runSelf(std::vector<std::string> arguments, Clock::duration limit, const std::string& growing = {}) {
  arguments.insert(arguments.begin(), {"rdmagpu-testkit", "worker"});
  std::vector<char*> raw;
  raw.reserve(arguments.size() + 1);
  for(std::string& argument : arguments)
    raw.push_back(argument.data());
  raw.push_back(nullptr);
  std::fflush(stdout);
  const pid_t child = fork();
  if(child == 0) {
    if(growing.empty()) { // a probe: only its exit matters
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDERR_FILENO);
    }
    execv("/proc/self/exe", raw.data());
    _exit(127);
  }
  if(child < 0)
    return {};
  auto since = Clock::now();
  off_t size = 0;
  for(;;) {
    int status{};
    if(waitpid(child, &status, WNOHANG) == child)
      return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
              .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    if(!growing.empty() && sizeOf(growing) != size) {
      size = sizeOf(growing);
      since = Clock::now();
    }
    if(Clock::now() - since > limit) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return {.hung = true};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{3});
  }
}

std::string baseOf(const std::string& line) {
  const std::string kind = line.substr(0, line.find(' '));
  return kind.substr(0, kind.find('+'));
}

bool isRisky(const std::string& base) {
  const auto& all = riskyPatterns();
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& pattern) { return matches(pattern, base); });
}

/// Of a call that ended: a status that every later call gets as well, when a kernel or a copy went wrong.
bool isSticky(const std::string& line) {
  const auto at = line.find(" -> 7");
  if(at == std::string::npos)
    return false;
  const int status = std::stoi(line.substr(at + 4));
  return status >= 700 && status <= 719 && status != 704 && status != 705 && (status < 708 || status > 713);
}

/// The kind of call that a worker died of: the one that has no answer, or else the last dubious one before
/// the driver began to fail.
std::string findCulprit(const std::string& fullPath) {
  std::ifstream file{fullPath};
  std::string line;
  std::string last;
  std::string dubious;
  bool failing = false;
  while(std::getline(file, line)) {
    last = line;
    failing = failing || isSticky(line);
    if(!failing && line.find(" -> ") != std::string::npos && isRisky(baseOf(line)))
      dubious = baseOf(line);
  }
  const bool isCall = last.find('/') != std::string::npos && last.find(" -> ") == std::string::npos &&
                      last.find(" not made") == std::string::npos && last[0] != '=';
  return isCall ? baseOf(last) : dubious;
}

bool append(const std::string& path, const std::string& pattern, const std::string& reason) {
  std::ofstream file{path, std::ios::app};
  file << pattern << ' ' << reason << '\n';
  return file.good();
}

bool copyText(const std::string& from, const std::string& to) {
  const std::ifstream source{from};
  std::ostringstream text;
  text << source.rdbuf();
  std::ofstream target{to};
  target << text.str();
  return source.good() && target.good();
}

/// False when there is no driver to try.
bool probeAll(const std::string& leftOutPath) {
  const auto& all = riskyPatterns();
  std::printf("Trying %zu kinds of call that may end a process, each in one of its own\n", all.size());
  for(const std::string& pattern : all) {
    std::printf("  %-55s ", pattern.c_str());
    const End end = runSelf({"probe", pattern}, probeLimit);
    if(end.code == workerGood) {
      std::printf("\n");
      continue;
    }
    if(end.code == workerCannot || end.code == 127)
      return false;
    std::printf("%s: left out\n", end.text().c_str());
    append(leftOutPath, pattern, end.text());
  }
  return true;
}

} // namespace

int record(const RecordOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  const std::string leftOutPath = options.folder + "/left_out.txt";
  const std::string fullPath = options.folder + "/full.txt";
  if(!std::ofstream{leftOutPath}.good()) {
    std::fprintf(stderr, "rdmagpu-testkit: cannot write %s\n", leftOutPath.c_str());
    return workerCannot;
  }
  const std::string profilePath = options.folder + "/profile.txt";
  if(runSelf({"profile", profilePath}, probeLimit, profilePath).code != workerGood) {
    std::fputs("rdmagpu-testkit: the driver does not start here\n", stderr);
    return workerCannot;
  }
  if(options.leftOutPath.empty() ? !probeAll(leftOutPath) : !copyText(options.leftOutPath, leftOutPath)) {
    std::fputs("rdmagpu-testkit: what has to be left out is not known\n", stderr);
    return workerCannot;
  }
  for(int attempt = 1; attempt <= mostAttempts; ++attempt) {
    std::printf("Recording %zu calls\n", options.calls);
    const auto begin = Clock::now();
    const End end = runSelf({"record", options.folder, std::to_string(options.seed),
                             std::to_string(options.calls), std::to_string(options.wholeLines)},
                            stillness, fullPath);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if(end.code == workerGood) {
      std::printf("%s/trace.txt and %s/full.txt are complete; it took %.1f s\n", options.folder.c_str(),
                  options.folder.c_str(), seconds);
      return workerGood;
    }
    if(end.code == workerCannot || end.code == 127)
      return workerCannot;
    const std::string culprit = findCulprit(fullPath);
    std::printf("After %.1f s: %s %s\n", seconds, culprit.c_str(), end.text().c_str());
    std::filesystem::rename(fullPath, options.folder + "/attempt" + std::to_string(attempt) + ".txt", error);
    if(culprit.empty())
      return workerLostDriver;
    append(leftOutPath, culprit, end.text());
  }
  return workerLostDriver;
}

int replay(const std::string& tracePath, const std::string& fullPath) {
  if(!std::ifstream{tracePath}.good()) { // before anything is written
    std::fprintf(stderr, "rdmagpu-testkit: cannot read %s\n", tracePath.c_str());
    return workerCannot;
  }
  const std::string deadlyPath = fullPath + ".left_out";
  if(!std::ofstream{deadlyPath}.good()) {
    std::fprintf(stderr, "rdmagpu-testkit: cannot write %s\n", deadlyPath.c_str());
    return workerCannot;
  }
  std::string deadly;
  for(int attempt = 1; attempt <= mostAttempts; ++attempt) {
    const End end = runSelf({"replay", tracePath, fullPath, deadlyPath}, stillness, fullPath);
    if(end.code == workerGood || end.code == workerDiffers) {
      if(!deadly.empty())
        std::printf("Recorded with an answer, but not to be called here:\n%s", deadly.c_str());
      return deadly.empty() ? end.code : workerDiffers;
    }
    if(end.code == workerCannot || end.code == 127) {
      std::error_code error;
      std::filesystem::remove(deadlyPath, error); // a file that is no trace leaves nothing
      return workerCannot;
    }
    const std::string culprit = findCulprit(fullPath);
    deadly += "  " + culprit + ": " + end.text() + "\n";
    if(culprit.empty())
      break;
    append(deadlyPath, culprit, end.text());
  }
  std::printf("Given up:\n%s", deadly.c_str());
  return workerDiffers;
}

} // namespace rdmagpu::testkit
