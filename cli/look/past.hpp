// What has become of a lock, from transactions and snapshots: who held it when, and who waited. Without I/O.
#pragma once

#include <colock/queue_view.hpp>

#include "look/transactions.hpp"
#include "names/lock_kind.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::cli {

// How a node went.
enum class departure {
    none,            // it is there
    released,        // deleted by its own session, also after a wait
    session_closed,  // deleted with its session, by its client
    session_expired, // ... by the servers
    deleted,         // by another session
    removed,         // by the servers, as a node without a session
    unseen,          // where the files have a gap
};

// All times are in milliseconds since 1970, by the clock of the servers' leader of then.
struct contender {
    // Its data are kept if they describe its owner in colock's words. Others may be a secret, and files have no access control.
    queue_entry node;
    std::int64_t created = 0;
    departure how = departure::none;
    std::int64_t gone = 0;    // unless it is there
    std::int64_t gone_by = 0; // the session, if another one has deleted it
    std::optional<std::int64_t> granted;
    bool granted_before = false; // ... or earlier, when no file tells
    std::optional<std::int64_t>
        asked;                     // of a permit: when its owner began to queue, if that is known
    bool has_permits = false;      // of an owner in the queue of a semaphore: it was granted some
    std::size_t waiters = 0;       // while it held the lock, not of a permit
    std::int64_t longest_wait = 0; // of these, and meanwhile

    [[nodiscard]] bool holds_at(std::int64_t time) const
    {
        return granted && *granted <= time && is_there_at(time);
    }
    [[nodiscard]] bool is_there_at(std::int64_t time) const
    {
        return created <= time && (how == departure::none || time < gone);
    }
};

struct past {
    seen_kind what = nullptr;          // null: there was no lock
    std::vector<queue_kind> others;    // in the same directory
    std::vector<contender> contenders; // in the order in which they came
    std::int64_t from = 0, to = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps;

    [[nodiscard]] std::int64_t end_of(const contender& c) const
    {
        return c.how == departure::none ? to : c.gone;
    }
    // The contender's time in characters: '.' waits, '#' holds.
    [[nodiscard]] std::string picture_of(const contender& c) const;
};

// Takes what happened in its order, of one lock.
class recorder {
public:
    explicit recorder(std::string path);

    [[nodiscard]] bool is_wanted(std::string_view path) const { return place_of(path).has_value(); }
    // The first state that is known, or the next one after a gap. Without news it counts where it contradicts what is known.
    void state(const snapshot& s, bool is_news = true);
    void happened(const transaction& t);

    // At the end.
    [[nodiscard]] past tell() const;

private:
    // Where in a lock a node stands.
    enum class place { itself, queue, locks_of_semaphore, leases };
    struct event {
        std::size_t moment; // those of one moment are seen together
        std::int64_t time;
        std::size_t who; // in `contenders_`
        bool comes;
        bool is_news; // the time is that at which it happened
    };

    [[nodiscard]] std::optional<place> place_of(std::string_view path) const;
    [[nodiscard]] static layout layout_below(place directory);
    void come(const std::string& path, const snapshot::node& n, bool is_news);
    void go(std::size_t who, departure how, std::int64_t by = 0);
    void take_back_from(std::size_t moment);

    std::string path_;
    std::vector<contender> contenders_;
    std::vector<place> places_;                             // of these
    std::map<std::string, std::size_t, std::less<>> there_; // by path
    std::set<std::pair<std::int64_t, std::size_t>> by_session_;
    std::vector<event> events_;
    std::size_t moment_ = 0;
    std::optional<std::int64_t> from_;
    bool after_state_ = false; // whose time is the next transaction's, or somewhat earlier
    std::int64_t now_ = 0;
    std::int64_t latest_ = 0; // a clock may be set back
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps_;

    friend class retelling;
};

} // namespace colock::cli
