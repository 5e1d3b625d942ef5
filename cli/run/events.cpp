#include "run/events.hpp"

#include <colock/log.hpp>

#include "connect/duration.hpp"

#include <boost/json/serialize.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace colock::cli {

namespace json = boost::json;

namespace {

// A terminal that has gone away is no reason to stop.
void write(const std::string& text)
{
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::size_t width()
{
    ::winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::string holder_name(const queue_entry& e)
{
    const auto owner = e.owner();
    if (owner.host && owner.pid && owner.program) {
        return *owner.host + ':' + std::to_string(*owner.pid) + " (" + *owner.program + ')';
    }
    constexpr std::size_t most = 60;
    return e.unreadable ? "somebody whose node cannot be read" : printable(e.data, most);
}

std::string place(std::optional<std::size_t> before, std::size_t all)
{
    if (!before) {
        return "in a queue of " + std::to_string(all);
    }
    return *before == 1 ? "next in the queue" : std::to_string(*before) + " before this one";
}

// In one line of the terminal, if need be without the beginning of the path.
std::string line_of(const std::string& before, std::string path, const std::string& behind,
                    std::size_t width)
{
    constexpr std::size_t least = 8;
    const auto all = before.size() + path.size() + behind.size();
    if (all > width && path.size() > least) {
        path = "..." + path.substr(std::min(all - width + 3, path.size() - least));
    }
    auto line = before + path + behind;
    line.resize(std::min(line.size(), width));
    return line;
}

// A clock of the server that is ahead gives no negative time.
std::chrono::nanoseconds age(const queue_entry& e)
{
    return std::max(std::chrono::nanoseconds{0},
                    std::chrono::nanoseconds{std::chrono::system_clock::now() - e.since});
}

} // namespace

events::events(std::string command, std::string path, bool as_json)
    : command_{std::move(command)}, path_{std::move(path)}, json_{as_json},
      terminal_{!as_json && ::isatty(STDERR_FILENO) == 1}
{
}

void events::waiting(const queue_view& queue, std::int64_t own_session)
{
    const auto& all = queue.entries;
    if (queue.holders().empty() || queue.holders().front().unread) {
        return; // about to be granted
    }
    const auto& holder = queue.holders().front();
    const auto own = std::ranges::find_if(all, [&](const queue_entry& e) {
        return !e.holds && !e.unread && e.session == own_session;
    });
    std::optional<std::size_t> before;
    if (own != all.end()) {
        before = static_cast<std::size_t>(own - all.begin());
    } else if (!all.back().unread) {
        return; // not there yet
    }
    if (json_) {
        json::object fields{{"position", before ? json::value(*before) : json::value()},
                            {"holder", printable(holder.data)},
                            {"holder_node", holder.path},
                            {"held_for_ms", age(holder).count() / 1'000'000}};
        auto now = (before ? std::to_string(*before) : "") + holder.path;
        if (last_wait_ != now) {
            last_wait_ = std::move(now);
            line("waiting", std::move(fields));
        }
        return;
    }
    const auto rest = ": " + place(before, all.size()) + "; held by " +
                      printable(holder_name(holder)) + " for " + shown(age(holder));
    write("\r\033[K" + line_of("waiting for ", printable(path_), rest, width() - 1));
    shows_wait_ = true;
}

void events::wipe()
{
    if (std::exchange(shows_wait_, false)) {
        write("\r\033[K");
    }
}

void events::line(const char* event, json::object fields)
{
    json::object all{{"event", event}, {"path", path_}};
    for (auto& [key, value] : fields) {
        all[key] = std::move(value);
    }
    write(json::serialize(all) + '\n');
}

void events::granted(const std::string& node, const std::string& token)
{
    wipe();
    last_wait_.reset();
    if (json_) {
        line("granted", {{"node", node}, {"token", token}});
    }
}

void events::started(int process)
{
    if (json_) {
        line("started", {{"pid", process}});
    }
}

void events::note(const std::string& event, const std::string& text)
{
    wipe();
    if (json_) {
        line(event.c_str(), {{"text", text}});
    } else {
        write(command_ + ": " + text + '\n');
    }
}

void events::ended(int status)
{
    wipe();
    if (json_) {
        line("ended", {{"status", status}});
    }
}

} // namespace colock::cli
