#include "run/process_tree.hpp"

#include "program/text.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace colock::cli {

namespace {

// "1234 (any name) S 1 ...": the name may contain blanks and parentheses.
process process_in(pid_t id, std::string_view stat)
{
    process p{id, 0, {}, false};
    const auto name = stat.find('('), name_end = stat.rfind(") ");
    if (name_end == stat.npos || name > name_end || stat.size() < name_end + 5) {
        return p;
    }
    p.name = stat.substr(name + 1, name_end - name - 1);
    p.has_ended = stat[name_end + 2] == 'Z';
    const auto* const begin = stat.data() + name_end + 4;
    std::from_chars(begin, stat.data() + stat.size(), p.parent);
    return p;
}

// Those that the first thread of a process has forked.
std::vector<pid_t> children_in(const char* file)
{
    std::vector<pid_t> all;
    const int from = ::open(file, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        return all; // it has ended, or the kernel is without such files
    }
    char text[4096];
    if (const auto size = ::read(from, text, sizeof text); size > 0) {
        const std::string_view names{text, static_cast<std::size_t>(size)};
        for (std::size_t begin = 0, space = 0; (space = names.find(' ', begin)) != names.npos;
             begin = space + 1) {
            pid_t child = 0;
            std::from_chars(text + begin, text + space, child);
            if (child > 0) { // 0 would be this process's group
                all.push_back(child);
            }
        }
    }
    ::close(from);
    return all;
}

// What forks and ends is not there any more when a look at all processes is over; nor is the next one that it has left. A look
// from parent to child takes microseconds, if those that have ended are reaped: there are thousands of them, and they come
// first. Each is killed before its children are looked for: it forks no others then. Gives the number of those that this process
// may not signal, whom /proc need not show elsewhere (hidepid).
int kill_below(const std::vector<pid_t>& spared, const std::function<void()>& reap)
{
    using namespace std::chrono_literals;
    constexpr int looks = 100; // after the last one that has found somebody new
    const auto end = std::chrono::steady_clock::now() + 100ms;
    const auto is_spared = [&](pid_t one) { return contains(spared, one); };
    pid_t newest = 0;
    int refused = 0;
    for (int i = 0; i != looks && std::chrono::steady_clock::now() < end; ++i) {
        refused = 0;
        auto below = children_in("/proc/thread-self/children");
        std::erase_if(below, is_spared);
        if (below.empty()) {
            break;
        }
        for (std::size_t at = 0; at != below.size(); ++at) {
            if (::kill(below[at], SIGKILL) != 0 && errno == EPERM) {
                ++refused;
            }
            const auto id = std::to_string(below[at]);
            auto more = children_in(("/proc/" + id + "/task/" + id + "/children").c_str());
            std::erase_if(more, is_spared);
            below.insert(below.end(), more.begin(), more.end());
        }
        i = std::exchange(newest, below.back()) == below.back() ? i : 0;
        reap();
    }
    return refused;
}

// As after unshare(CLONE_NEWPID). While nobody is in the new one, the link to it leads nowhere.
bool children_have_another_namespace() noexcept
{
    struct stat own {
    }, of_children{};
    if (::stat("/proc/self/ns/pid", &own) != 0) {
        return false;
    }
    if (::stat("/proc/self/ns/pid_for_children", &of_children) != 0) {
        return errno == ENOENT && ::lstat("/proc/self/ns/pid_for_children", &of_children) == 0;
    }
    return own.st_ino != of_children.st_ino;
}

} // namespace

std::vector<process> all_processes()
{
    std::vector<process> all;
    const std::unique_ptr<::DIR, int (*)(::DIR*)> proc{::opendir("/proc"), &::closedir};
    while (const auto* const entry = proc ? ::readdir(proc.get()) : nullptr) {
        const std::string_view name{entry->d_name};
        const auto id = number_in<pid_t>(name);
        if (!id) {
            continue;
        }
        const int file =
            ::open(("/proc/" + std::string{name} + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) {
            continue; // it has gone
        }
        char text[512];
        const auto size = ::read(file, text, sizeof text);
        ::close(file);
        if (size > 0) {
            all.push_back(process_in(*id, {text, static_cast<std::size_t>(size)}));
        }
    }
    return all;
}

std::vector<process> processes_below_this(const std::vector<pid_t>& spared)
{
    const auto all = all_processes();
    std::vector<process> below;
    std::vector<pid_t> parents{::getpid()};
    for (std::size_t i = 0; i < parents.size(); ++i) {
        for (const auto& p : all) {
            if (p.parent == parents[i] && !contains(spared, p.id)) {
                parents.push_back(p.id);
                below.push_back(p);
            }
        }
    }
    return below;
}

void adopt_orphans() noexcept
{
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool sees_processes() noexcept
{
    char text[32];
    const auto size = ::readlink("/proc/self", text, sizeof text);
    pid_t self = 0;
    return size > 0 && std::from_chars(text, text + size, self).ec == std::errc{} &&
           self == ::getpid() && !children_have_another_namespace();
}

std::vector<pid_t> children_of(pid_t parent)
{
    std::vector<pid_t> children;
    for (const auto& p : all_processes()) {
        if (p.parent == parent) {
            children.push_back(p.id);
        }
    }
    return children;
}

std::vector<pid_t> some_own_children()
{
    std::vector<pid_t> children;
    std::error_code ec;
    for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task", ec}) {
        std::ifstream all{thread.path() / "children"};
        children.insert(children.end(), std::istream_iterator<pid_t>{all}, {});
    }
    return children;
}

std::vector<pid_t> own_children()
{
    auto all = children_of(::getpid());
    for (const auto child : some_own_children()) {
        if (!contains(all, child)) {
            all.push_back(child);
        }
    }
    return all;
}

int signal_all_below_this(int number, const std::function<void()>& reap,
                          const std::vector<pid_t>& spared)
{
    int refused = 0;
    for (const auto& p : processes_below_this(spared)) {
        if (::kill(p.id, number) != 0 && errno == EPERM) {
            ++refused;
        } else if (number == SIGTERM) {
            ::kill(p.id, SIGCONT);
        }
    }
    if (number == SIGKILL) {
        reap();
        refused = std::max(refused, kill_below(spared, reap));
    }
    return refused;
}

} // namespace colock::cli
