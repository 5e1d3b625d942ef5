// Reading what servers answer about their connections and sessions.
#include "connect/duration.hpp"
#include "connect/four_letter_word.hpp"
#include "look/session_facts.hpp"
#include "program/text.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

namespace colock::cli {

namespace json = boost::json;

namespace {

// The value behind "key=" in "a=1,key=2)", up to the next comma or bracket.
std::string_view value_of(std::string_view fields, std::string_view key)
{
    for (std::size_t at = 0; (at = fields.find(key, at)) != fields.npos; at += key.size()) {
        if (at != 0 && (fields[at - 1] == ',' || fields[at - 1] == '(')) {
            const auto value = fields.substr(at + key.size());
            return value.substr(0, value.find_first_of(",)"));
        }
    }
    return {};
}

std::optional<std::int64_t> possible_time(std::optional<std::int64_t> milliseconds)
{
    return milliseconds && is_possible_time(*milliseconds) ? milliseconds : std::nullopt;
}

} // namespace

// /127.0.0.1:53542[1](queued=0,...,sid=0x10000fa1b350000,...,to=4000,...,lresp=16407792,...)
std::map<std::int64_t, session_connection> connections_in_cons(std::string_view text)
{
    std::map<std::int64_t, session_connection> all;
    for_each_line(text, [&](std::string_view line) {
        const auto slash = line.find('/');
        const auto fields = line.find('(');
        if (slash == line.npos || fields == line.npos) {
            return;
        }
        const auto session = session_in(value_of(line.substr(fields), "sid="));
        if (!session || *session == 0) {
            return; // no client
        }
        const auto time = [&](std::string_view key) {
            return possible_time(number_in<std::int64_t>(value_of(line.substr(fields), key)));
        };
        session_connection c;
        // An IPv6 address has brackets of its own: "/[0:0:0:0:0:0:0:1]:53542[1](".
        const auto mark = line.rfind('[', fields);
        c.address = line.substr(slash + 1, (mark == line.npos ? fields : mark) - slash - 1);
        c.timeout = std::chrono::milliseconds{time("to=").value_or(0)};
        c.last_heard = time("lresp=");
        all.insert_or_assign(*session, std::move(c));
    });
    return all;
}

// "server.1=zk1:2888:3888:participant;0.0.0.0:2181", a line each, then "version=100000000".
std::size_t servers_in_config(std::string_view text)
{
    std::size_t number = 0;
    for_each_line(text, [&](std::string_view line) { number += line.starts_with("server."); });
    return std::max<std::size_t>(number, 1);
}

std::optional<std::map<std::int64_t, session_connection>> connections_in_json(std::string_view text)
{
    boost::system::error_code ec;
    const auto answer = json::parse({text.data(), text.size()}, ec);
    if (ec || !answer.is_object() || !answer.as_object().contains("connections")) {
        return std::nullopt;
    }
    std::map<std::int64_t, session_connection> all;
    for (const auto* list : {"connections", "secure_connections"}) {
        const auto* const found = answer.as_object().if_contains(list);
        if (!found || !found->is_array()) {
            continue;
        }
        for (const auto& each : found->as_array()) {
            const auto* const o = each.if_object();
            const auto number = [&](const char* key) -> std::optional<std::int64_t> {
                const auto* const v = o ? o->if_contains(key) : nullptr;
                return v && v->is_int64() ? std::optional{v->as_int64()} : std::nullopt;
            };
            const auto session = number("session_id");
            if (!session || *session == 0) {
                continue;
            }
            session_connection c;
            if (const auto* const a = o->if_contains("remote_socket_address");
                a && a->is_string()) {
                c.address = std::string_view{a->as_string().data(), a->as_string().size()};
            }
            c.timeout =
                std::chrono::milliseconds{possible_time(number("session_timeout")).value_or(0)};
            c.last_heard = possible_time(number("last_response_time"));
            all.insert_or_assign(*session, std::move(c));
        }
    }
    return all;
}

std::optional<std::map<std::int64_t, std::vector<std::string>>> nodes_in_json(std::string_view text)
{
    boost::system::error_code ec;
    const auto answer = json::parse({text.data(), text.size()}, ec);
    const auto* const list = !ec && answer.is_object()
                                 ? answer.as_object().if_contains("session_id_to_ephemeral_paths")
                                 : nullptr;
    if (!list || !list->is_object()) {
        return std::nullopt;
    }
    std::map<std::int64_t, std::vector<std::string>> all;
    for (const auto& [key, paths] : list->as_object()) {
        const auto session = number_in<std::int64_t>({key.data(), key.size()});
        if (!session || !paths.is_array()) {
            continue;
        }
        for (const auto& p : paths.as_array()) {
            if (p.is_string()) {
                all[*session].emplace_back(p.as_string().data(), p.as_string().size());
            }
        }
    }
    return all;
}

} // namespace colock::cli
