// How the looking commands name what they show: contenders, times, tokens; for people and as JSON.
#pragma once

#include <colock/queue_view.hpp>

#include "look/look_at.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace colock::cli {

// "build3:4711 (backup)"; otherwise what the data are, or the session. Printable.
[[nodiscard]] std::string who(const queue_entry& e);

// The high half of the fencing token, 16 hexadecimal digits; the low half counts grants on the holder's client.
[[nodiscard]] std::string token_words(const queue_entry& e);

// "12.3 s": from then, which is a time of the servers' clock, until now by ours.
[[nodiscard]] std::string age_words(std::chrono::system_clock::time_point since);
// The same, of the node.
[[nodiscard]] std::string age_words(const queue_entry& e);
// "in the queue for 6.5 s", waiting included; of a permit, which has its node since it was granted, "for 6.5 s".
[[nodiscard]] std::string standing_words(const queue_entry& e);

// "8 shards, 3 members"
[[nodiscard]] std::string gathering_words(const seen_lock& seen);

// "reader/writer lock", "named lock \"orders\"", "group".
[[nodiscard]] std::string kind_words(const seen_lock& seen);

// Nodes that are there until somebody deletes them have no session, or the number of a container or a time to live.
[[nodiscard]] bool has_session(const queue_entry& e);

[[nodiscard]] boost::json::object as_json(const queue_entry& e);
// Kind, holders, waiters: all that were read, and how many there are.
[[nodiscard]] boost::json::object as_json(const seen_lock& seen);

// A text of others, for JSON: printable, and so UTF-8.
[[nodiscard]] std::string plain(const std::string& text);

} // namespace colock::cli
