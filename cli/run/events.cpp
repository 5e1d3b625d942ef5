#include "run/events.hpp"

#include <colock/log.hpp>

#include "connect/duration.hpp"
#include "names/lock_kind.hpp"
#include "program/failure.hpp"

#include <boost/json/serialize.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace colock::cli {

namespace json = boost::json;

namespace {

// For a reader who reads. One that does not, such as a terminal that is stopped, delays what comes next by no more than this.
constexpr auto before_the_next = std::chrono::milliseconds{250};
constexpr auto before_the_end = std::chrono::seconds{1};

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
    return e.unreadable                       ? "somebody whose node cannot be read"
           : owner.text == revocation_request ? "somebody who was asked to let go"
                                              : printable(owner.text, most);
}

std::string place(std::optional<std::size_t> before, std::size_t all)
{
    if (!before) {
        return "in a queue of " + std::to_string(all);
    }
    return *before == 1 ? "next in the queue" : std::to_string(*before) + " before this one";
}

// In UTF-8.
bool continues_character(char c)
{
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// In one line of the terminal, if need be without the beginning of the path.
std::string line_of(const std::string& before, std::string path, const std::string& behind,
                    std::size_t width)
{
    constexpr std::size_t least = 8;
    const auto all = before.size() + path.size() + behind.size();
    if (all > width && path.size() > least) {
        auto from = std::min(all - width + 3, path.size() - least);
        while (from != path.size() && continues_character(path[from])) {
            ++from;
        }
        path = "..." + path.substr(from);
    }
    auto line = before + path + behind;
    auto end = std::min(line.size(), width);
    while (end != 0 && end != line.size() && continues_character(line[end])) {
        --end;
    }
    line.resize(end);
    return line;
}

// A job in the background leaves the terminal alone.
bool in_background()
{
    const pid_t there = ::tcgetpgrp(STDERR_FILENO);
    return there > 0 && there != ::getpgrp();
}

std::string json_line(const std::string& path, const std::string& event, json::object fields)
{
    json::object all{{"event", event}, {"path", path}};
    for (auto& [key, value] : fields) {
        all[key] = std::move(value);
    }
    for (auto& [key, value] : all) {
        if (const auto* const text = value.if_string()) { // names and words of others, too
            value = printable({text->data(), text->size()}, longest_line);
        }
    }
    return json::serialize(all) + '\n';
}

json::object with_shard(json::object fields, std::optional<std::uint32_t> shard)
{
    if (shard) {
        fields["shard"] = *shard;
    }
    return fields;
}

// A clock of the server that is ahead gives no negative time.
std::chrono::nanoseconds age(const queue_entry& e)
{
    return std::max(std::chrono::nanoseconds{0},
                    std::chrono::nanoseconds{std::chrono::system_clock::now() - e.since});
}

} // namespace

events::events(std::string command, std::string path, bool as_json, service_manager manager)
    : command_{std::move(command)}, path_{std::move(path)}, json_{as_json},
      terminal_{!as_json && ::isatty(STDERR_FILENO) == 1}, manager_{std::move(manager)},
      out_{STDERR_FILENO, [command = command_, path = path_, as_json](std::size_t dropped) {
               return as_json ? json_line(path, "dropped", {{"lines", dropped}})
                              : command + ": " + std::to_string(dropped) +
                                    (dropped == 1 ? " line" : " lines") +
                                    " could not be written here\n";
           }}
{
    manager_.status("connecting, for " + path_);
}

std::chrono::seconds events::time_between_looks() const noexcept
{
    return wants_wait() ? std::chrono::seconds{1}
           : manager_   ? std::chrono::seconds{30}
                        : std::chrono::hours{1};
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
                            {"holder", printable(holder.owner().text)},
                            {"holder_node", holder.path},
                            {"in_queue_ms", age(holder).count() / 1'000'000}};
        auto now = (before ? std::to_string(*before) : "") + holder.path;
        if (last_wait_ != now) {
            last_wait_ = std::move(now);
            line("waiting", std::move(fields));
        }
        return;
    }
    const auto rest = ": " + place(before, all.size()) + "; held by " +
                      printable(holder_name(holder)) + ", " +
                      std::string{words_before_age(holder.name)} + shown(age(holder));
    manager_.status("waiting for " + path_ + rest);
    if (!terminal_ || in_background() || !out_.idle()) {
        return; // the next one is newer
    }
    out_.write("\r\033[K" + line_of("waiting for ", printable(path_), rest, width() - 1));
    shows_wait_ = true;
}

// What takes the wait away from the terminal, if it is there.
std::string events::wiped()
{
    return std::exchange(shows_wait_, false) && !in_background() ? "\r\033[K" : "";
}

void events::line(const std::string& event, json::object fields)
{
    out_.write(json_line(path_, event, std::move(fields)));
}

void events::granted(const std::string& node, const std::string& token)
{
    auto wipe = wiped();
    last_wait_.reset();
    if (json_) {
        line("granted", {{"node", node}, {"token", token}});
    } else if (!wipe.empty()) {
        out_.write(std::move(wipe));
    }
    settle(); // the command writes to the same terminal
}

void events::granted(std::uint32_t shard, const std::string& node, const std::string& token)
{
    if (json_) {
        line("granted", {{"shard", shard}, {"node", node}, {"token", token}});
    }
}

void events::started(int process, std::optional<std::uint32_t> shard)
{
    if (!shard) {
        manager_.ready("holds " + path_ + "; the command is process " + std::to_string(process));
    }
    if (json_) {
        line("started", with_shard({{"pid", process}}, shard));
    }
}

void events::exited(std::uint32_t shard, int status, bool by_itself)
{
    if (json_) {
        line("exited", {{"shard", shard}, {"status", status}, {"by_itself", by_itself}});
    } else if (by_itself) {
        words("the command of shard " + std::to_string(shard) + " has ended with status " +
              std::to_string(status));
    }
}

void events::note(const std::string& event, const std::string& text,
                  std::optional<std::uint32_t> shard)
{
    manager_.status(text);
    if (json_) {
        line(event, with_shard({{"text", text}}, shard));
    } else {
        words(shard ? "shard " + std::to_string(*shard) + ": " + text : text);
    }
}

void events::ended(int status, std::string_view reason, const std::string& text)
{
    manager_.stopping();
    if (json_) {
        json::object fields{{"status", status}, {"reason", reason}};
        if (!text.empty()) {
            fields["text"] = text;
        }
        line("ended", std::move(fields));
    } else if (!text.empty()) {
        words(text);
    } else if (auto wipe = wiped(); !wipe.empty()) {
        out_.write(std::move(wipe));
    }
}

void events::words(const std::string& text)
{
    out_.write(wiped() + command_ + ": " + printable(text, longest_line) + '\n');
}

void events::settle()
{
    out_.flush(before_the_next);
}

void events::finish()
{
    out_.flush(before_the_end);
}

} // namespace colock::cli
