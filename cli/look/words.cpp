#include "look/words.hpp"

#include <colock/log.hpp>

#include "connect/duration.hpp"
#include "connect/four_letter_word.hpp"
#include "lib/names/node_owner.hpp"
#include "program/failure.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <cstdio>

namespace colock::cli {

namespace json = boost::json;

std::string plain(const std::string& text)
{
    return printable(text);
}

std::string token_words(const queue_entry& e)
{
    char text[24];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(e.czxid));
    return text;
}

bool has_session(const queue_entry& e)
{
    return colock::detail::is_of_session(e.session);
}

std::string who(const queue_entry& e)
{
    constexpr std::size_t longest = 96;
    if (e.unread) {
        return "a contender that was not read";
    }
    if (e.unreadable) {
        return "a contender whose node cannot be read";
    }
    const auto o = e.owner();
    if (o.host) {
        return printable(*o.host, longest) + ':' + std::to_string(*o.pid) + " (" +
               printable(*o.program, longest) + (e.is_revoked() ? ", asked to release)" : ")");
    }
    const auto session =
        has_session(e) ? "session " + session_words(e.session) : "nobody's session";
    if (o.text == revocation_request) {
        return session + " (asked to release, which has replaced its data)";
    }
    return (o.text.empty() ? session : '"' + printable(o.text, longest) + "\", " + session) +
           (e.is_revoked() ? " (asked to release)" : "");
}

std::string age_words(const queue_entry& e)
{
    return age_words(e.since);
}

std::string age_words(std::chrono::system_clock::time_point since)
{
    // The server's clock may be a little ahead.
    const auto age = std::chrono::system_clock::now() - since;
    return shown(std::max(std::chrono::duration_cast<std::chrono::nanoseconds>(age),
                          std::chrono::nanoseconds{0}));
}

std::string standing_words(const queue_entry& e)
{
    return std::string{words_before_age(e.name)} + age_words(e);
}

std::string kind_words(const seen_lock& seen)
{
    if (seen.is_gathering()) {
        return seen.shards ? "shards" : "group";
    }
    auto text = std::string{words_for(seen.what)};
    if (!seen.name.empty()) {
        text += " \"" + printable(seen.name, 96) + '"';
    }
    return text;
}

std::string gathering_words(const seen_lock& seen)
{
    const auto count = [](std::size_t n, const char* what) {
        return std::to_string(n) + what + (n == 1 ? "" : "s");
    };
    const auto members = seen.unlisted ? "members unknown" : count(*seen.members, " member");
    return (seen.shards ? count(*seen.shards, " shard") + ", " : "") + members;
}

json::object as_json(const queue_entry& e)
{
    json::object o;
    o["node"] = plain(e.path);
    o["shared"] = e.shared;
    o["holds"] = e.holds;
    if (e.unreadable) {
        o["unreadable"] = in_own_words(e.unreadable.message());
        return o;
    }
    const auto owner = e.owner();
    if (owner.host) {
        o["host"] = plain(*owner.host);
        o["pid"] = *owner.pid;
        o["program"] = plain(*owner.program);
    }
    if (owner.under) {
        o["under"] = plain(*owner.under);
    }
    o["data"] = plain(owner.text);
    o["revoked"] = e.is_revoked();
    if (has_session(e)) {
        o["session"] = session_words(e.session);
    } else {
        o["session"] = nullptr;
    }
    o["since"] = time_words(e.since);
    o["since_ms"] =
        std::chrono::duration_cast<std::chrono::milliseconds>(e.since.time_since_epoch()).count();
    o["token_high"] = token_words(e);
    return o;
}

json::object as_json(const seen_lock& seen)
{
    json::object o;
    o["path"] = plain(seen.path);
    o["exists"] = seen.exists;
    o["kind"] = seen.is_gathering() ? seen.shards ? "shards" : "group" : word_for(seen.what);
    if (seen.is_gathering() && !seen.unlisted) {
        o["members"] = *seen.members;
    }
    if (seen.shards) {
        o["shards"] = *seen.shards;
    }
    if (!seen.name.empty()) {
        o["name"] = plain(seen.name);
    }
    if (seen.permits) {
        o["permits"] = *seen.permits;
    }
    if (seen.unlisted) {
        o["unlisted"] = in_own_words(seen.unlisted.message());
    }
    json::array others;
    for (const auto& k : seen.others) {
        others.push_back({{"kind", word_for(k.what)}, {"example", plain(k.example)}});
    }
    o["others"] = std::move(others);
    json::array holders, waiters;
    for (const auto& e : seen.queue.entries) {
        if (!e.unread) {
            (e.holds ? holders : waiters).push_back(as_json(e));
        }
    }
    o["holding"] = seen.queue.holders().size();
    o["waiting"] = seen.waiting();
    o["holders"] = std::move(holders);
    o["waiters"] = std::move(waiters);
    return o;
}

} // namespace colock::cli
