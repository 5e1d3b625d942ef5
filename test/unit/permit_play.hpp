// An acquisition of permits, with inputs that return its commands as words.
#pragma once

#include "recipes/semaphore/acquisition.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::permit_play {

inline std::string word_for(protocol::permits::command::kind type)
{
    using kind = protocol::permits::command::kind;
    switch (type) {
    case kind::lock_queue: return "lock queue";
    case kind::unlock_queue: return "unlock queue";
    case kind::list: return "list";
    case kind::list_and_watch: return "list and watch";
    case kind::ask_others: return "ask others";
    case kind::read_limit: return "read limit";
    case kind::create: return "create";
    case kind::make_directory: return "make directory";
    case kind::wait_for_change: return "wait";
    case kind::pause: return "pause";
    case kind::pause_after_event: return "pause after event";
    case kind::cut_short: return "cut short";
    case kind::release_queue: return "release queue";
    case kind::remove_directory: return "remove directory";
    case kind::agreed: return "agreed";
    case kind::give_back: return "give back";
    case kind::granted: return "granted";
    case kind::busy: return "busy";
    case kind::cancelled: return "cancelled";
    case kind::failed: return "failed";
    case kind::gone: return "gone";
    }
    return "?";
}

// An acquisition, whose inputs return what it says to them, as a text: "lock queue, list".
struct play : protocol::permits::acquisition {
    explicit play(protocol::permits::settings s = {}) : acquisition{s, {}} { assume(now); }

    std::string begin(const error_code& ec = {})
    {
        acquisition::begin(ec, out);
        return said();
    }
    std::string cancel(bool at_once = false)
    {
        acquisition::cancel(at_once, out);
        return said();
    }
    std::string deadline_reached(const error_code& unknown = {})
    {
        acquisition::deadline_reached(unknown, out);
        return said();
    }
    std::string suspended()
    {
        acquisition::suspended(out);
        return said();
    }
    std::string queue_locked(bool granted = true)
    {
        acquisition::queue_locked({}, granted, out);
        return said();
    }
    std::string queue_refused(const error_code& ec)
    {
        acquisition::queue_locked(ec, false, out);
        return said();
    }
    std::string queue_unlocked()
    {
        acquisition::queue_unlocked(out);
        return said();
    }
    std::string listed(int leases)
    {
        std::vector<std::string> names{"no lease"};
        for (int i = 0; i != leases; ++i) {
            names.push_back("_c_x-lease-000000000" + std::to_string(i));
        }
        acquisition::listed({}, names, out);
        return said();
    }
    std::string listed_own(const std::string& name)
    {
        acquisition::listed({}, {name + "0000000007"}, out);
        return said();
    }
    std::string not_listed(const error_code& ec)
    {
        acquisition::listed(ec, {}, out);
        return said();
    }
    std::string maximum_read(const std::string& data)
    {
        acquisition::maximum_read({}, data, 0, out);
        return said();
    }
    std::string no_maximum() { return maximum_not_read(zookeeper_errc::no_node); }
    std::string maximum_not_read(const error_code& ec)
    {
        acquisition::maximum_read(ec, {}, 0, out);
        return said();
    }
    std::string siblings_listed(const std::vector<std::string>& names = {"leases", "locks"})
    {
        acquisition::siblings_listed({}, names, out);
        return said();
    }
    std::string limit_read(char number, std::int32_t version = 0)
    {
        acquisition::limit_read({}, std::string{'\0', '\0', '\0', number}, version, out);
        return said();
    }
    std::string limit_read(const std::string& data)
    {
        acquisition::limit_read({}, data, 0, out);
        return said();
    }
    std::string limit_not_read(const error_code& ec)
    {
        acquisition::limit_read(ec, {}, 0, out);
        return said();
    }
    std::string created()
    {
        acquisition::created({}, {"_c_mine-lease-0000000007"}, true, out);
        return said();
    }
    std::string not_created(const error_code& ec, bool in_queue = true)
    {
        acquisition::created(ec, {}, in_queue, out);
        return said();
    }
    std::string directory_made(const error_code& ec = {})
    {
        acquisition::directory_made(ec, out);
        return said();
    }
    std::string changed()
    {
        acquisition::changed(out);
        return said();
    }
    std::string paused()
    {
        acquisition::paused(out);
        return said();
    }

    void queue_lost(errc why)
    {
        now.queue_lost = why;
        assume(now);
    }
    void unavailable(errc why)
    {
        now.unavailable = why;
        assume(now);
    }
    void session(std::int64_t id)
    {
        now.session = id;
        assume(now);
    }

    // Holds the queue's lock, and has counted so many leases.
    std::string counted(int leases)
    {
        begin();
        queue_locked();
        return listed(leases);
    }

    std::string said()
    {
        std::string text;
        for (const auto& c : out) {
            text += (text.empty() ? "" : ", ") + word_for(c.type);
            if (c.error.category() == colock_category()) {
                text += ' ' + std::to_string(c.error.value());
            } else if (c.error) {
                text += ' ' + c.error.message();
            }
            if (c.number != 0) {
                text += " (" + std::to_string(c.number) + ')';
            }
            prefix = c.type == protocol::permits::command::kind::create ? c.name : prefix;
        }
        out.clear();
        return text;
    }

    protocol::permits::surroundings now{.session = 1, .compared = true};
    std::string prefix; // of the last create
    protocol::permits::commands out;
};

} // namespace colock::test::permit_play
