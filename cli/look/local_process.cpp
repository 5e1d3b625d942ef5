#include "look/local_process.hpp"

#include <colock/log.hpp>

#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

namespace colock::cli {

namespace {

using std::chrono::system_clock;

// What /proc/PID/stat tells.
struct kernel_view {
    std::string name; // at most 15 characters
    char state = '?';
    system_clock::time_point began;
};

std::optional<std::string> read_all(const std::string& path)
{
    std::ifstream file{path, std::ios::binary};
    if (!file) {
        return std::nullopt;
    }
    std::ostringstream text;
    text << file.rdbuf(); // an iterator would throw when the process ends at this moment
    return std::move(text).str();
}

std::optional<kernel_view> read_stat(std::int64_t pid)
{
    const auto text = read_all("/proc/" + std::to_string(pid) + "/stat");
    if (!text) {
        return std::nullopt;
    }
    // "4711 (name) S 1 ...": the name may have brackets and blanks.
    const auto open = text->find('('), close = text->rfind(')');
    if (open == text->npos || close == text->npos) {
        return std::nullopt;
    }
    kernel_view v;
    v.name = text->substr(open + 1, close - open - 1);
    std::istringstream fields{text->substr(close + 1)};
    fields >> v.state;
    constexpr int state_field = 3, start_field = 22;
    std::uint64_t number = 0;
    for (int i = state_field; i != start_field; ++i) {
        std::string word;
        fields >> word;
        if (i + 1 == start_field) {
            number = std::strtoull(word.c_str(), nullptr, 10);
        }
    }
    timespec up{};
    ::clock_gettime(CLOCK_BOOTTIME, &up);
    using namespace std::chrono;
    const auto running =
        seconds{up.tv_sec} + nanoseconds{up.tv_nsec} -
        milliseconds{number * 1000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK))};
    v.began = system_clock::now() - duration_cast<system_clock::duration>(running);
    return v;
}

// Also of other users, whom /proc may hide.
bool is_there(std::int64_t pid)
{
    return pid <= std::numeric_limits<pid_t>::max() &&
           (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

std::string_view base_name(std::string_view path)
{
    return path.substr(path.rfind('/') + 1);
}

// A process may have many names: of its file, of its first argument, and one that it has given itself.
bool may_be(const std::string& program, std::int64_t pid, const kernel_view& v)
{
    constexpr std::size_t longest = 15;
    if (program.substr(0, longest) == v.name || v.name == "colock") {
        return true;
    }
    const auto directory = "/proc/" + std::to_string(pid);
    char file[4096];
    const auto length = ::readlink((directory + "/exe").c_str(), file, sizeof file);
    if (length > 0 && base_name({file, static_cast<std::size_t>(length)}) == program) {
        return true;
    }
    const auto arguments = read_all(directory + "/cmdline");
    // Not ours to read: then it may be.
    return !arguments || arguments->empty() || base_name(arguments->c_str()) == program;
}

} // namespace

std::string this_host()
{
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    return host;
}

process_fact look_at_process(const owner_info& owner, system_clock::time_point since)
{
    if (!owner.host || !owner.pid || *owner.pid <= 0 || *owner.host != this_host()) {
        return {};
    }
    const auto process = "process " + std::to_string(*owner.pid) + " on this host ";
    const auto v = read_stat(*owner.pid);
    if (!v && is_there(*owner.pid)) {
        return {process_state::unknown, process + "exists; /proc hides more"};
    }
    if (!v) {
        return {process_state::gone, process + "does not exist any more"};
    }
    // The clocks of the servers and of this machine may differ by that much.
    constexpr auto skew = std::chrono::seconds{30};
    if (!may_be(owner.program.value_or(v->name), *owner.pid, *v)) {
        return {process_state::another_one,
                process + "is another one by now: " + printable(v->name, 64)};
    }
    if (v->began > since + skew) {
        return {process_state::unknown,
                process + "is another one of that name, or the servers' clock is behind"};
    }
    switch (v->state) {
    case 'T':
    case 't':
        return {process_state::stopped,
                process + (v->state == 't' ? "is held by a debugger" : "is stopped (SIGSTOP)")};
    case 'Z':
    case 'X': return {process_state::ended, process + "has ended"};
    default: return {process_state::running, process + "runs"};
    }
}

} // namespace colock::cli
