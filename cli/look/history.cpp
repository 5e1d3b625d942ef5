// `colock history`: who held a lock when, and who waited, from the files of a server.
#include <colock/fencing_token.hpp>
#include <colock/log.hpp>

#include "connect/duration.hpp"
#include "connect/four_letter_word.hpp"
#include "connect/path_argument.hpp"
#include "look/past.hpp"
#include "look/server_files.hpp"
#include "look/words.hpp"
#include "program/exit_status.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"
#include "program/text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <time.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::cli {

namespace {

namespace json = boost::json;

struct history_options {
    std::string path;
    std::vector<std::string> directories;
    std::string at, token;
    bool as_json = false;
};

std::string moment_of(std::int64_t time)
{
    return moment_words(std::chrono::system_clock::time_point{std::chrono::milliseconds{time}});
}

std::string span_words(std::int64_t milliseconds)
{
    return shown(std::chrono::milliseconds{std::max<std::int64_t>(milliseconds, 0)});
}

// As `moment_words` and `time_words` write it, or the milliseconds since 1970 of a JSON document.
std::int64_t moment_in(const std::string& text)
{
    if (const auto number = number_in<std::int64_t>(text); number && is_possible_time(*number)) {
        return *number;
    }
    tm parts{};
    const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::int64_t milliseconds = 0;
    if (rest != nullptr && *rest == '.') {
        ++rest;
        for (int place = 100; place != 0 && *rest >= '0' && *rest <= '9'; place /= 10) {
            milliseconds += std::int64_t{*rest++ - '0'} * place;
        }
    }
    const auto day = parts.tm_mday; // a 31st of February would become another day
    const auto time = std::int64_t{::timegm(&parts)} * 1000 + milliseconds;
    if (rest == nullptr || (*rest != '\0' && std::string_view{rest} != "Z") ||
        parts.tm_mday != day || !is_possible_time(time)) {
        throw failure{usage, '"' + printable(text, 96) +
                                 "\" is no time; write it like 2026-11-24T19:28:00.123Z, in UTC"};
    }
    return time;
}

// The first half of it, which names a node.
std::int64_t token_in(std::string text)
{
    constexpr std::size_t half = 16;
    if (text.size() == half) {
        text.append(half, '0');
    }
    const auto token = fencing_token::parse(text);
    if (!token) {
        throw failure{usage, '"' + printable(text, 96) +
                                 "\" is no fencing token; it has 32 hexadecimal digits, of which "
                                 "the first 16 are enough"};
    }
    return static_cast<std::int64_t>(token->high());
}

std::string end_words(const contender& c)
{
    switch (c.how) {
    case departure::none: return "still there";
    case departure::released: return c.granted || c.has_permits ? "released" : "gave up";
    case departure::session_closed: return "its session was closed";
    case departure::session_expired: return "its session expired";
    case departure::deleted: return "deleted by session " + session_words(c.gone_by);
    case departure::removed: return "deleted by the servers";
    case departure::unseen: return "gone within a gap of the files";
    }
    return {};
}

std::string_view end_word(const contender& c)
{
    switch (c.how) {
    case departure::none: return "";
    case departure::released: return "released";
    case departure::session_closed: return "session_closed";
    case departure::session_expired: return "session_expired";
    case departure::deleted: return "deleted";
    case departure::removed: return "removed";
    case departure::unseen: return "unseen";
    }
    return {};
}

class telling {
public:
    telling(const history_options& o, told_by_files files)
        : options_{o}, told_{std::move(files.told)}, notes_{std::move(files.notes)}
    {
    }

    int tell()
    {
        if (told_.what == nullptr) {
            refuse(printable(options_.path) + " was no lock " + when());
        }
        choose();
        if (options_.as_json) {
            std::cout << json::serialize(document()) << '\n';
        } else {
            write_lines();
        }
        std::cout << std::flush;
        return success;
    }

private:
    [[nodiscard]] std::string when() const
    {
        return "from " + moment_of(told_.from) + " to " + moment_of(told_.to);
    }
    void write_notes() const
    {
        for (const auto& each : notes_) {
            std::cerr << "colock history: " << each << '\n';
        }
    }
    // The files that could not be read may have it.
    [[noreturn]] void refuse(const std::string& why) const
    {
        write_notes();
        throw failure{not_found_here, why + (told_.gaps.empty() ? "" : ", with gaps")};
    }
    [[nodiscard]] bool is_known(std::int64_t time) const
    {
        return told_.from <= time && time <= told_.to &&
               std::ranges::none_of(told_.gaps, [&](const auto& gap) {
                   return gap.first < time && time < gap.second;
               });
    }

    void choose()
    {
        if (!options_.token.empty()) {
            const auto token = token_in(options_.token);
            std::erase_if(told_.contenders,
                          [&](const contender& c) { return c.node.czxid != token; });
            if (told_.contenders.empty()) {
                refuse("no node at " + printable(options_.path) + " had this token " + when());
            }
        }
        if (!options_.at.empty()) {
            at_ = moment_in(options_.at);
            if (!is_known(*at_)) {
                refuse("the files tell nothing of " + moment_of(*at_) + ", but " + when());
            }
            std::erase_if(told_.contenders,
                          [&](const contender& c) { return !c.is_there_at(*at_); });
        }
    }

    [[nodiscard]] std::string words_of(const contender& c) const
    {
        const auto owner = who(c.node) + ", token " + token_words(c.node) + "...";
        if (c.how == departure::unseen) { // and when, is not known either
            return (c.granted ? "held by " : "waited, and may have held: ") + owner + ", " +
                   end_words(c);
        }
        if (!c.granted) {
            return "waited " + span_words(told_.end_of(c) - c.created) + " for nothing: " + owner +
                   ", " + end_words(c);
        }
        auto text = (c.granted_before ? "held for more than " : "held ") +
                    span_words(told_.end_of(c) - *c.granted) + " by " + owner + ", " + end_words(c);
        const auto wait = *c.granted - c.asked.value_or(c.created);
        if (wait > 0 && !c.granted_before) {
            text += "; had waited " + span_words(wait);
        }
        if (c.waiters != 0) {
            text += "; " + std::to_string(c.waiters) + " waited meanwhile, " +
                    span_words(c.longest_wait) + " at most";
        }
        return text;
    }

    void write_lines() const
    {
        std::cout << printable(options_.path) << "  " << words_for(told_.what) << "  "
                  << (at_ ? "at " + moment_of(*at_) : when()) << '\n';
        for (const auto& [before, after] : told_.gaps) {
            std::cout << "    nothing is known between " << moment_of(before) << " and "
                      << moment_of(after) << '\n';
        }
        for (const auto& k : told_.others) {
            std::cout << "    beside it nodes of " << with_article(words_for(k.what))
                      << ", such as " << printable(k.example) << '\n';
        }
        for (const auto& c : told_.contenders) {
            if (c.has_permits && !at_) { // those have lines
                continue;
            }
            std::cout << "    ";
            if (at_) {
                std::cout << (c.holds_at(*at_) ? "held by " : "waits:  ") << who(c.node)
                          << ", since " << moment_of(c.holds_at(*at_) ? *c.granted : c.created)
                          << (c.holds_at(*at_) && c.granted_before ? " or earlier" : "")
                          << ", token " << token_words(c.node) << "...\n";
            } else {
                std::cout << moment_of(c.granted.value_or(c.created)) << "  " << told_.picture_of(c)
                          << "  " << words_of(c) << '\n';
            }
        }
        if (at_ && told_.contenders.empty()) {
            std::cout << "    nobody held it, and nobody waited\n";
        }
        write_notes();
    }

    [[nodiscard]] json::object object_of(const contender& c) const
    {
        auto o = as_json(c.node);
        o.erase("data");
        o.erase("revoked");
        o["holds"] = at_ ? c.holds_at(*at_) : c.granted && c.how == departure::none;
        const auto time = [&](const char* name, std::optional<std::int64_t> t) {
            t ? o[name] = *t : o[name] = nullptr;
        };
        time("granted_ms", c.granted);
        o["granted_before"] = c.granted_before;
        time("asked_ms", c.asked.value_or(c.created));
        time("ended_ms", c.how == departure::none ? std::nullopt : std::optional{c.gone});
        c.how == departure::none ? o["ended"] = nullptr : o["ended"] = end_word(c);
        if (c.how == departure::deleted) {
            o["deleted_by"] = session_words(c.gone_by);
        }
        o["has_permits"] = c.has_permits;
        o["waiters"] = c.waiters;
        o["longest_wait_ms"] = c.longest_wait;
        return o;
    }

    [[nodiscard]] json::object document() const
    {
        json::object all;
        all["path"] = plain(options_.path);
        all["kind"] = word_for(told_.what);
        all["from_ms"] = told_.from;
        all["to_ms"] = told_.to;
        json::array gaps, contenders, notes;
        for (const auto& [before, after] : told_.gaps) {
            gaps.push_back({{"from_ms", before}, {"to_ms", after}});
        }
        for (const auto& c : told_.contenders) {
            contenders.push_back(object_of(c));
        }
        for (const auto& each : notes_) {
            notes.emplace_back(each);
        }
        all["gaps"] = std::move(gaps);
        all["contenders"] = std::move(contenders);
        all["notes"] = std::move(notes);
        return all;
    }

    const history_options& options_;
    past told_;
    std::vector<std::string> notes_;
    std::optional<std::int64_t> at_;
};

void require_path(const std::string& path)
{
    if (!path.starts_with('/')) {
        throw failure{usage, '"' + printable(path, 96) + "\" is no path; it begins with '/'"};
    }
}

} // namespace

void add_history(program& p)
{
    auto& c = p.add(
        {.name = "history",
         .synopsis = "[options] --from DIRECTORY PATH",
         .summary = "tell from a server's files who held a lock when, and who waited",
         .description =
             "Reads the transaction logs and snapshots of one ZooKeeper server, there or copied "
             "from it, and asks no server. Prints a line for each node that stood in the queue of "
             "the lock at PATH: when it was granted the lock, for how long it held it and how "
             "that ended, who it was, and who waited meanwhile, with a picture in which `.` "
             "waits and `#` holds. Times are those of the servers' clocks, in UTC.\n\n"
             "A token belongs to a node: its first half is the transaction that made the node. "
             "Clients that hand the lock on among their own users do so under one node.\n\n"
             "The files have the data of all nodes, whatever access control lists say. So of data "
             "only what colock writes of a node's owner is printed: host, process, program. "
             "Others are named by their session.\n\n"
             "The history begins with the oldest snapshot. Where transactions are missing it says "
             "so. The last ones, or those before a gap, may be such that the other servers never "
             "accepted.",
         .examples =
             {{"colock history --from /var/lib/zookeeper /locks/backup",
               "all that the files tell of the lock"},
              {"colock history --from copy/version-2 --at 2026-11-24T03:00:00Z /locks/backup",
               "who held the lock at three o'clock, and who waited"},
              {"colock history --from data --from log --token 00000004000001f3 /locks/backup",
               "to whom a token belongs; logs in a directory of their own (dataLogDir)"}},
         .statuses = {{"1", "There was no such lock, holder or time."},
                      {"120", {}},
                      {"121", {}},
                      {"122", {}}}});
    const auto o = std::make_shared<history_options>();
    add_path(*c.options, o->path, "the lock")->required();
    c.options
        ->add_option("--from", o->directories,
                     "dataDir or dataLogDir of a server, or version-2 in it; may be repeated")
        ->required()
        ->expected(1)
        ->take_all()
        ->type_name("DIRECTORY");
    c.options->add_option("--at", o->at, "who held the lock at this time, and who waited")
        ->type_name("TIME");
    c.options->add_option("--token", o->token, "the holder with this fencing token")
        ->type_name("TOKEN");
    c.options->add_flag("--json", o->as_json, "print one JSON document");
    c.run = [o] {
        require_path(o->path);
        return telling{*o, read_past(o->directories, o->path)}.tell();
    };
}

} // namespace colock::cli
