// The lines of the log, and the words of a time-out, about those who wait for a lock.
#pragma once

#include "names/kinds.hpp"
#include "report/contenders_ahead.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colock::detail {

// "host:pid (program)", or the data as they are; in one line, and not too long.
[[nodiscard]] std::string owner_words(std::string_view data);

// "1 waiter", "2 waiters".
[[nodiscard]] std::string counted_words(std::size_t n, const std::string& what);

// "35 ms", "3.2 s".
[[nodiscard]] std::string time_words(std::chrono::nanoseconds t);

// A path, or whose queue it is.
[[nodiscard]] std::string name_words(std::string_view path, const lock_kind& kind);

// The first contender of the queue, when the client asked the servers for it.
struct asked_holder {
    std::string data;
    bool own = false; // this client's
    // How many blocked the asking client's own contender, if that was in the queue.
    std::optional<std::size_t> before_own = {};
    std::chrono::nanoseconds when{0};
};

// Why a waiter waits.
struct wait_reasons {
    bool connected = true;
    // A user of this client has the lock, by the node that the waiter would use, too.
    bool held_here = false;
    std::optional<std::chrono::nanoseconds> held_since = {};
    contenders_ahead ahead = {};
    std::optional<asked_holder> asked = {};
    std::size_t local = 0; // waiters of this client before it
};
// "behind 2 contenders, held by host:pid (program), and behind 1 waiter of this client"; empty when nothing is known.
[[nodiscard]] std::string reason_words(const wait_reasons& why, std::chrono::nanoseconds now);

// `reasons` are reason_words().
[[nodiscard]] std::string waiting_words(const std::string& name, const std::string& reasons);
// `others`: so many waiters of this client wait, too.
[[nodiscard]] std::string still_waiting_words(const std::string& name,
                                              std::chrono::nanoseconds time,
                                              const std::string& reasons, std::size_t others);
[[nodiscard]] std::string others_words(std::size_t others);
// Why permits have to be waited for. `one` of their holders.
[[nodiscard]] std::string permits_words(const std::string& taken, std::int64_t limit,
                                        const std::optional<asked_holder>& one,
                                        std::chrono::nanoseconds now);
[[nodiscard]] std::string suspicion_words(const std::string& path, const lock_kind& kind,
                                          std::chrono::nanoseconds held_for);

} // namespace colock::detail
