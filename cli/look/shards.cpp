// `colock shards`: who owns what, what moves, and how evenly it is spread.
#include <colock/group.hpp>
#include <colock/log.hpp>
#include <colock/queue_view.hpp>
#include <colock/shards.hpp>

#include "connect/duration.hpp"
#include "connect/four_letter_word.hpp"
#include "connect/path_argument.hpp"
#include "connect/patience.hpp"
#include "connect/run_client.hpp"
#include "look/look_at.hpp"
#include "look/spread.hpp"
#include "look/words.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace colock::cli {

namespace {

namespace asio = boost::asio;
namespace json = boost::json;

struct shards_command {
    server_options servers;
    std::string path;
    bool whole = false;
    bool as_json = false;
};

std::string part_words(double part)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", part);
    return text;
}

// The name of a shard is its number, unless the members have given names.
std::string name_of(const shard_id& id)
{
    const auto number = std::to_string(id.index);
    return id.name == number ? number : number + " (" + printable(id.name, 96) + ')';
}

std::string owner_words(const std::optional<std::string>& owner)
{
    if (!owner) {
        return "nobody";
    }
    constexpr std::size_t longest = 96;
    const auto info = parse_owner(*owner); // somebody may have locked the shard
    return info.host ? printable(*info.host, longest) + ':' + std::to_string(*info.pid) + " (" +
                           printable(*info.program, longest) + ')'
                     : printable(info.text, longest);
}

std::string line_of(const shard_owner& s)
{
    auto text = "    shard " + name_of(s.shard) + "  " + owner_words(s.owner);
    if (s.since) {
        text += ", for " + age_words(*s.since) + " (since " + time_words(*s.since) + ')';
    }
    if (moves(s)) {
        text += s.owner ? ", moves to " : ", goes to ";
        text += owner_words(s.assigned);
    }
    return text + '\n';
}

std::string as_text(const std::string& path, const spread& s, bool whole)
{
    auto text = printable(path) + "  " + std::to_string(s.shards.size()) +
                (s.shards.size() == 1 ? " shard, " : " shards, ") +
                std::to_string(s.members.size()) +
                (s.members.size() == 1 ? " member, " : " members, ") + std::to_string(s.owned) +
                " owned, " + std::to_string(s.moving) + (s.moving == 1 ? " moves" : " move") +
                (s.is_even ? ", even\n" : ", not even\n");
    for (const auto& m : s.members) {
        text += "    member " + printable(m.who.name, 96) + "  owns " + std::to_string(m.owned) +
                ", shall own " + std::to_string(m.assigned) + ", its part by weight " +
                std::to_string(m.who.weight) + " is " + part_words(m.part) + ", for " +
                age_words(m.who.since) + " (since " + time_words(m.who.since) + ")" +
                (m.shards.empty() ? "" : ": " + m.shards) + '\n';
    }
    for (const auto& each : s.shards) {
        if (whole || moves(each) || !each.owner || !is_member(s, *each.owner)) {
            text += line_of(each);
        }
    }
    return text;
}

json::value or_null(const std::optional<std::string>& text)
{
    return text ? json::value(plain(*text)) : json::value();
}

void add_since(json::object& to, std::chrono::system_clock::time_point since)
{
    to["since"] = time_words(since);
    to["since_ms"] =
        std::chrono::duration_cast<std::chrono::milliseconds>(since.time_since_epoch()).count();
}

std::string as_json_text(const std::string& path, const spread& s)
{
    json::array members, shards;
    for (const auto& m : s.members) {
        json::object o{{"name", plain(m.who.name)},
                       {"weight", m.who.weight},
                       {"owned", m.owned},
                       {"assigned", m.assigned},
                       {"part", m.part},
                       {"session", session_words(m.who.session)}};
        add_since(o, m.who.since);
        members.push_back(std::move(o));
    }
    for (const auto& each : s.shards) {
        json::object o{{"index", each.shard.index},
                       {"name", plain(each.shard.name)},
                       {"owner", or_null(each.owner)},
                       {"assigned", or_null(each.assigned)},
                       {"moves", moves(each)}};
        if (each.since) {
            add_since(o, *each.since);
        }
        shards.push_back(std::move(o));
    }
    json::object all{{"path", plain(path)},        {"count", s.shards.size()},
                     {"owned", s.owned},           {"moving", s.moving},
                     {"even", s.is_even},          {"members", std::move(members)},
                     {"shards", std::move(shards)}};
    return json::serialize(all) + '\n';
}

asio::awaitable<int> tell(client& zk, const shards_command& o)
{
    co_await catch_up(zk, o.path);
    const auto all = co_await look_at_spread(zk, o.path);
    if (all.shards.empty()) {
        const auto seen = co_await look_at(zk, o.path);
        throw failure{not_found_here,
                      printable(o.path) + (seen.exists ? " is no set of shards; `colock why` tells "
                                                         "what it is"
                                                       : " does not exist; no member has been "
                                                         "there, or the path or the chroot of "
                                                         "--servers is wrong")};
    }
    std::cout << (o.as_json ? as_json_text(o.path, all) : as_text(o.path, all, o.whole))
              << std::flush;
    co_return success;
}

} // namespace

void add_shards(program& p)
{
    auto& c = p.add(
        {.name = "shards",
         .synopsis = "[options] PATH",
         .summary = "tell who owns which shards, and what moves",
         .description =
             "Tells of the shards at PATH, which `colock run --shards` and programs with "
             "colock::shards spread: how many there are, how many have an owner, how many move; "
             "each member with what it owns, what it shall own, and its part by weight; each shard "
             "that moves, has no owner, or is locked by somebody who is no member. It is even when "
             "each member owns its part, rounded up or down. A shard is owned since its owner "
             "joined the queue of its lock, shortly before it got it.\n\n"
             "It only looks: it joins nothing, and sends two reads for each shard and one for each "
             "member.",
         .examples = {{"colock shards /shards/mail", "members, and what is not at rest"},
                      {"colock shards --long /shards/mail", "each shard in a line"},
                      {"colock shards --json /shards/mail | jq -e '.even and .owned == .count'",
                       "whether all is at rest, for scripts"}},
         .statuses = {{"1", "There are no shards."}}});
    const auto o = std::make_shared<shards_command>();
    add_path(*c.options, o->path, "the path of the shards")->required();
    c.options->add_flag("-l,--long", o->whole, "show each shard in a line");
    c.options->add_flag("--json", o->as_json, "print one JSON document");
    add_server_options(*c.options, o->servers);
    c.run = [o] {
        const auto options = to_client_options(o->servers);
        return run_client(options,
                          [&](client& zk) { return while_connected(zk, options, tell(zk, *o)); });
    };
}

} // namespace colock::cli
