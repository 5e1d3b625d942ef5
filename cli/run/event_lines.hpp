// What happens, for machines: a JSON object a line. docs/command.md has the events and their fields.
#pragma once

#include "program/background_writer.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace colock::cli {

// Each line has the time, and how long this process has waited for the lock and held it so far. Nobody waits for whoever reads.
class event_lines {
public:
    using shard = std::optional<std::uint32_t>; // none: there is one lock

    // Starts a thread; see background_writer. The file is not closed.
    event_lines(int file, std::string path);

    // A wait for the lock begins.
    void waits();
    void granted(const std::string& node, const std::string& token, shard of);
    // It is held no more: the lines that follow say how long it was.
    void gone(shard of);

    void write(std::string_view event, boost::json::object fields, shard of = {});

    // As those of background_writer.
    void flush(std::chrono::milliseconds patience) { out_.flush(patience); }
    [[nodiscard]] int fault() const { return out_.fault(); }

private:
    struct tenure {
        std::string node;
        std::string token;
        std::optional<std::chrono::nanoseconds> waited;
        std::chrono::nanoseconds since{0};
        std::optional<std::chrono::nanoseconds> held = {}; // when it is over
    };

    const std::string path_;
    std::optional<std::chrono::nanoseconds> waits_since_;
    std::map<shard, tenure> tenures_; // the last one of each
    background_writer out_;
};

// The file that --events names: the number of one that is open, or a path. No command inherits it. Throws failure.
[[nodiscard]] int open_events(const std::string& file);

} // namespace colock::cli
