#include "environment.hpp"

#include <colock/version.hpp>
#include <support/subprocess.hpp>

#include <boost/version.hpp>

#include <zookeeper/zookeeper_version.h>

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace bench {

namespace {

// Clang names itself in that text, GCC does not.
#ifdef __clang__
constexpr const char* compiler = __VERSION__;
#else
constexpr const char* compiler = "GCC " __VERSION__;
#endif

// What a program prints, line by line; nothing when it is not there, or fails.
std::vector<std::string> output_of(const std::vector<std::string>& command)
{
    if (colock::test::find_program(command.front()).empty()) {
        return {};
    }
    colock::test::subprocess program{command, {.capture_output = true}};
    std::vector<std::string> lines;
    while (auto line = program.read_line(std::chrono::seconds{10})) {
        lines.push_back(std::move(*line));
    }
    const auto status = program.wait_for(std::chrono::seconds{10});
    return status && status->success() ? lines : std::vector<std::string>{};
}

// Of the first line that begins so: what stands behind the separator.
std::string value_in(const char* file, std::string_view key, char separator)
{
    std::ifstream in{file};
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(key)) {
            const auto begin = line.find_first_not_of(" \t\"", line.find(separator) + 1);
            return begin == line.npos ? ""
                                      : line.substr(begin, line.find_last_not_of('"') + 1 - begin);
        }
    }
    return {};
}

std::string today()
{
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm parts{};
    char text[16] = "";
    std::strftime(text, sizeof text, "%Y-%m-%d", ::gmtime_r(&now, &parts));
    return text;
}

std::string commit(const std::string& self)
{
    const auto directory = std::filesystem::path{self}.parent_path().string();
    const auto id = output_of({"git", "-C", directory, "rev-parse", "--short", "HEAD"});
    if (id.empty()) {
        return {};
    }
    const auto changes =
        output_of({"git", "-C", directory, "status", "--porcelain", "--untracked-files=no", ":/"});
    return ", commit " + id.front() + (changes.empty() ? "" : " with changes");
}

std::string machine()
{
    const auto cores = std::to_string(::sysconf(_SC_NPROCESSORS_ONLN));
    const auto bytes = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
    const bool is_virtual =
        value_in("/proc/cpuinfo", "flags", ':').find(" hypervisor") != std::string::npos;
    return cores + " processors (" + value_in("/proc/cpuinfo", "model name", ':') +
           (is_virtual ? ", virtual" : "") + "), " + std::to_string(int(bytes / (1 << 30) + 0.5)) +
           " GiB";
}

// Of the one that runs the servers.
std::string java_version()
{
    const char* home = std::getenv("JAVA_HOME");
    const auto program = home != nullptr && *home != 0 ? std::string{home} + "/bin/java" : "java";
    const auto lines = output_of({program, "--version"});
    return lines.empty() ? std::string{} : lines.front();
}

} // namespace

std::vector<std::pair<std::string, std::string>> environment(const std::string& self)
{
    utsname kernel{};
    ::uname(&kernel);
    const std::string release{kernel.release};
    std::vector<std::pair<std::string, std::string>> all{
        {"date", today()},
        {"machine", machine()},
        {"system", value_in("/etc/os-release", "PRETTY_NAME", '=') + ", " + kernel.sysname + ' ' +
                       release.substr(0, release.find('-'))},
        {"colock", COLOCK_VERSION_STRING + commit(self)},
        {"compiler", compiler},
        {"Boost", std::to_string(BOOST_VERSION / 100'000) + '.' +
                      std::to_string(BOOST_VERSION / 100 % 1000)},
        {"ZooKeeper's C client", ZOO_VERSION}};
    if (const auto version = java_version(); !version.empty()) {
        all.emplace_back("Java", version);
    }
    // The peers and the servers are Debian's.
    constexpr const char* packages[] = {
        "libzookeeper-java", "libcurator-recipes-java",
        "python3-kazoo",     "golang-github-samuel-go-zookeeper-dev",
        "golang-go",         "etcd-server"};
    for (const auto* package : packages) {
        const auto version = output_of({"dpkg-query", "-W", "-f", "${Version}\\n", package});
        if (!version.empty() && !version.front().empty()) { // empty: known, but not installed
            all.emplace_back(package, version.front());
        }
    }
    return all;
}

processor_time processors()
{
    // user nice system idle iowait irq softirq steal
    std::array<double, 8> ticks{};
    std::istringstream fields{value_in("/proc/stat", "cpu ", ' ')};
    for (auto& t : ticks) {
        fields >> t;
    }
    return {std::accumulate(ticks.begin(), ticks.end(), 0.0), ticks.back()};
}

} // namespace bench
