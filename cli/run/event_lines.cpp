#include "run/event_lines.hpp"

#include <colock/log.hpp>

#include "connect/duration.hpp"
#include "program/failure.hpp"
#include "program/text.hpp"
#include "run/boot_time.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace colock::cli {

namespace json = boost::json;

namespace {

json::value in_ms(std::optional<std::chrono::nanoseconds> time)
{
    return time ? json::value(std::chrono::duration_cast<std::chrono::milliseconds>(*time).count())
                : json::value();
}

json::value text_or_null(const std::string& text)
{
    return text.empty() ? json::value() : json::value(text);
}

// Names and words of others, too.
void make_printable(json::object& all)
{
    for (auto& [key, value] : all) {
        if (const auto* const text = value.if_string()) {
            value = printable({text->data(), text->size()}, longest_line);
        }
    }
}

json::object beginning(std::string_view event, const std::string& path)
{
    return {{"event", event},
            {"time", moment_words(std::chrono::system_clock::now())},
            {"monotonic_ms", in_ms(boot_time())},
            {"path", path}};
}

} // namespace

event_lines::event_lines(int file, std::string path)
    : path_{std::move(path)},
      out_{file, [path = path_](std::size_t dropped) {
               auto all = beginning("dropped", path);
               for (const char* const none : {"node", "token", "waited_ms", "held_ms"}) {
                   all[none] = nullptr;
               }
               all["lines"] = dropped;
               make_printable(all);
               return json::serialize(all) + '\n';
           }}
{
}

void event_lines::waits()
{
    waits_since_ = boot_time();
    tenures_.clear();
}

void event_lines::granted(const std::string& node, const std::string& token, shard of)
{
    const auto now = boot_time();
    std::optional<std::chrono::nanoseconds> waited;
    if (waits_since_) {
        waited = now - *waits_since_;
    }
    tenures_[of] = {node, token, waited, now};
}

void event_lines::gone(shard of)
{
    if (const auto at = tenures_.find(of); at != tenures_.end() && !at->second.held) {
        at->second.held = boot_time() - at->second.since;
    }
}

void event_lines::write(std::string_view event, json::object fields, shard of)
{
    const auto now = boot_time();
    auto all = beginning(event, path_);
    if (of) {
        all["shard"] = *of;
    }
    if (const auto at = tenures_.find(of); at != tenures_.end()) {
        const auto& t = at->second;
        all["node"] = text_or_null(t.node);
        all["token"] = text_or_null(t.token);
        all["waited_ms"] = in_ms(t.waited);
        all["held_ms"] = in_ms(t.held.value_or(now - t.since));
    } else {
        all["node"] = nullptr;
        all["token"] = nullptr;
        all["waited_ms"] = waits_since_ ? in_ms(now - *waits_since_) : json::value();
        all["held_ms"] = nullptr;
    }
    for (auto& [key, value] : fields) {
        all[key] = std::move(value);
    }
    make_printable(all);
    out_.write(json::serialize(all) + '\n', event == "ended");
}

int open_events(const std::string& name)
{
    if (const auto number = number_in<int>(name)) {
        if (*number >= 0 && *number <= STDERR_FILENO) {
            throw failure{usage, "--events is " + name +
                                     ", which the command has, too; open a file of its own, as in "
                                     "--events 3 3>events, or name one"};
        }
        if (::fcntl(*number, F_SETFD, FD_CLOEXEC) != 0) {
            throw failure{usage, "--events is " + name +
                                     ", and no such file is open here; open it, as in --events 3 "
                                     "3>events, or name one"};
        }
        return *number;
    }
    // To open a pipe for writing alone takes as long as nobody opens it for reading.
    struct stat about {};
    const bool is_pipe = ::stat(name.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
    const int file =
        ::open(name.c_str(),
               (is_pipe ? O_RDWR : O_WRONLY | O_CREAT | O_APPEND) | O_NOCTTY | O_CLOEXEC, 0666);
    if (file < 0) {
        throw failure{usage, "--events: \"" + printable(name) +
                                 "\" cannot be written: " + std::strerror(errno)};
    }
    return file;
}

} // namespace colock::cli
