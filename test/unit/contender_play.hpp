// A contender played by hand: each input returns in words what the contender asks for.
#pragma once

#include "queue/contender.hpp"
#include "words.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test::contender_play {

using colock::protocol::command;
using colock::protocol::commands;
using colock::protocol::guid;
using colock::protocol::node_identity;

inline constexpr std::int64_t session = 0x51;
inline const error_code lost_connection = zookeeper_errc::connection_loss;
inline const error_code no_node = zookeeper_errc::no_node;
inline const error_code no_auth = zookeeper_errc::no_auth;
inline const error_code throttled = zookeeper_errc::throttled_op;

inline std::string digits(std::int64_t number)
{
    char text[16];
    std::snprintf(text, sizeof text, "%010lld", static_cast<long long>(number));
    return text;
}

// A contender, whose inputs return what it says to them, as a text: "create #1, list", where #1 is
// the join, or "watch 7", where 7 is the number of the node.
class play {
public:
    explicit play(protocol::contender::settings s = {}) : contender_{s, guid{1, 1}} {}

    std::int64_t directory = 7; // the transaction that created it

    std::string join(bool connected = true)
    {
        contender_.join(connected, session, out_);
        return said();
    }
    std::string try_join(bool connected = true)
    {
        contender_.try_join(connected, session, out_);
        return said();
    }
    std::string leave()
    {
        contender_.leave(out_);
        return said();
    }
    std::string watch_own_node()
    {
        contender_.watch_own_node(out_);
        return said();
    }
    std::string step_down()
    {
        contender_.step_down(out_);
        return said();
    }
    std::string stepped_down(const error_code& ec = {})
    {
        contender_.stepped_down(ec, out_);
        return said();
    }
    std::string connected(std::int64_t with = session)
    {
        contender_.connected(with, out_);
        return said();
    }
    void assume_safe(bool safe) { contender_.assume_safe(safe); }
    std::string proved()
    {
        contender_.proved(out_);
        return said();
    }
    void suspended() { contender_.suspended(); }
    std::string expired()
    {
        contender_.expired(out_);
        return said();
    }
    std::string directory_made(const error_code& ec = {})
    {
        contender_.directory_made({&ec, 1}, out_);
        return said();
    }
    std::string created(std::int64_t number, std::int64_t owner = session)
    {
        own_ = prefix_ + digits(number);
        contender_.created({}, own_, {1000 + number, owner}, out_);
        return said();
    }
    std::string created(const error_code& ec)
    {
        contender_.created(ec, {}, {}, out_);
        return said();
    }
    std::string listed(const std::vector<std::string>& children)
    {
        contender_.listed({}, {.children = children, .directory = directory}, out_);
        return said();
    }
    // Others by their numbers, and `own` by its name, if it is among them.
    std::string listed(std::initializer_list<int> numbers)
    {
        std::vector<std::string> children;
        for (const auto n : numbers) {
            children.push_back(name(n));
        }
        return listed(children);
    }
    std::string listed(const error_code& ec)
    {
        contender_.listed(ec, {.children = {}}, out_);
        return said();
    }
    std::string watched(int number, std::int64_t owner = session)
    {
        contender_.watched(name(number), {}, {1000 + number, owner}, out_);
        return said();
    }
    std::string watched(int number, const error_code& ec)
    {
        contender_.watched(name(number), ec, {}, out_);
        return said();
    }
    std::string deleted(int number)
    {
        contender_.fired(name(number), true, out_);
        return said();
    }
    std::string changed(int number)
    {
        contender_.fired(name(number), false, out_);
        return said();
    }
    void directory_read(bool replaceable) { contender_.directory_read(replaceable); }
    std::string removed(const error_code& ec = {})
    {
        contender_.removed(ec, out_);
        return said();
    }
    // The connection breaks. `open`: the requests that had not been answered.
    std::string broken(std::initializer_list<std::string_view> open)
    {
        std::string all;
        for (const auto request : open) {
            all += request == "make"     ? directory_made(lost_connection)
                   : request == "create" ? created(lost_connection)
                   : request == "list"   ? listed(lost_connection)
                   : request == "step"   ? stepped_down(lost_connection)
                   : request == "remove"
                       ? removed(lost_connection)
                       : watched(std::stoi(std::string{request}), lost_connection);
        }
        suspended();
        return all;
    }

    // The name of a node: the own one where it has this number, else somebody's.
    [[nodiscard]] std::string name_of(std::int64_t number) const
    {
        return own_.ends_with(digits(number)) ? own_ : foreign(number);
    }
    [[nodiscard]] std::string name(int number) const { return name_of(number); }
    [[nodiscard]] static std::string foreign(std::int64_t number)
    {
        return "_c_99999999-0000-0000-0000-000000000000-lock-" + digits(number);
    }
    // What the last create made, as a listing shows it before its answer came.
    std::string made(int number) { return own_ = prefix_ + digits(number); }
    // Made by others, with the same guid.
    std::string twin(int number) { return *twins_.insert(prefix_ + digits(number)).first; }

    [[nodiscard]] const protocol::contender& operator*() const { return contender_; }

private:
    std::string said()
    {
        std::string text;
        for (const auto& c : out_) {
            text += text.empty() ? "" : ", ";
            text += colock::test::word_for(c.type);
            const std::string name{c.name};
            if (c.type == command::kind::create) {
                prefix_ = name;
                text += " #" + std::to_string(std::stoi(name.substr(27, 12), nullptr, 16));
            } else if (!c.name.empty()) {
                text += ' ' + std::to_string(std::stoll(name.substr(name.size() - 10)));
                if (c.type == command::kind::remove) {
                    BOOST_TEST((name == own_ || twins_.contains(name))); // never anybody else's
                }
            }
            if (c.error) {
                text += ": " + (c.error.category() == colock_category()
                                    ? std::string{short_name(static_cast<errc>(c.error.value()))}
                                    : std::to_string(c.error.value()));
            }
        }
        out_.clear();
        return text;
    }

    static const char* short_name(errc e)
    {
        switch (e) {
        case errc::session_expired: return "session_expired";
        case errc::node_deleted: return "node_deleted";
        case errc::conflicting_kind: return "conflicting_kind";
        case errc::sequence_exhausted: return "sequence_exhausted";
        case errc::duplicate_sequence: return "duplicate_sequence";
        default: return "?";
        }
    }

    protocol::contender contender_;
    commands out_;
    std::string prefix_;
    std::string own_;
    std::set<std::string> twins_;
};

// Waits behind two: 5 is its own number, 4 and 3 are watched.
inline play waiting()
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({3, 4, 5}) == "watch 5, watch 4, watch 3");
    BOOST_TEST(p.watched(5) == "");
    BOOST_TEST(p.watched(4) == "");
    BOOST_TEST(p.watched(3) == "");
    return p;
}

// Holds the lock with the number 5, uncontended.
inline play holding()
{
    play p;
    BOOST_TEST(p.join() == "create #1, list");
    BOOST_TEST(p.created(5) == "");
    BOOST_TEST(p.listed({5}) == "granted");
    return p;
}

} // namespace colock::test::contender_play
