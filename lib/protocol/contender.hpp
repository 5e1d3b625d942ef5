// One place in a lock's queue: joins, waits, is granted, leaves. Sans-io.
#pragma once

#include <colock/error.hpp>
#include <colock/layout.hpp>

#include "blocking_rule.hpp"
#include "guid.hpp"
#include "naming.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::protocol {

// What a contender wants done. Names are those of children of the lock's directory.
struct command {
    enum class kind {
        // Requests. Each is answered by exactly one call of the function named, in the order in which
        // they were issued; when the connection breaks, first all that are open are answered with a code
        // for which outcome_unknown() is true, then comes suspended() or expired().
        make_directory, // directory_made(): create the directory and its parents, unless they exist
        create,         // created(): `name` is the prefix to which the server appends the number
        create_and_count, // counted(): likewise, and in the same transaction write to the directory, which tells how
                          // many children it has then; both or none
        list,            // listed()
        watch,           // watched(), and fired() once if that was without error
        inspect,         // inspected(): whether colock has made the directory, and the note in it
        remove,          // removed()
        remove_and_note, // removed(): likewise, and note in the directory that nobody is left up to my
                         // number; both or none
        step_down, // stepped_down(): create the reader's node `name` in place of my own one, both or none
        look, // looked(), of a single_node: read whose the node is
        // No answer.
        remove_directory, // unless it has children; behind the remove that precedes
        unwatch,          // forget a watch; neither watched() nor fired() shall come of it any more
        prove, // that the session is safe; proved() when it is, unless the connection breaks
        // Reports, each at most once.
        granted, // the lock is held from now on
        busy,    // of a try: somebody else has it
        shared, // the lock is held together with others from now on; or not, if there is an `error`
        lost, // `error` says why; follows granted only, also when it shows as late as at the release
        failed,       // `error` says why; instead of granted
        mark_refused, // the low-water mark in the directory cannot be true: `number` is what it claims
        gone, // the last: no node is left, answers are ignored; `error` if a node may remain after all
    };

    kind type;
    std::string name = {};
    error_code error = {};
    std::int64_t number = 0;

    [[nodiscard]] bool is_request() const noexcept { return type <= kind::look; }
    [[nodiscard]] bool is_report() const noexcept { return type >= kind::granted; }

    friend bool operator==(const command&, const command&) = default;
};

using commands = std::vector<command>;

struct node_identity {
    std::int64_t czxid = 0; // the transaction that created it
    std::int64_t owner = 0; // its session

    friend bool operator==(const node_identity&, const node_identity&) = default;
};

// The queue protocol of docs/architecture.md. Inputs are member functions, outputs are appended to `out`.
// No clock, no I/O, no threads: copies may be taken, which is how the tests walk through every
// interleaving.
//
// Everything follows from one fact: once my node is created, no node with a smaller number can appear, so
// the set B of those that block me only shrinks.
//
// Numbers end. Near their end one who finds anybody before it takes its node back, and waits without one until
// the queue is empty; then it joins again. Who leaves deletes the directory, and with it the numbers begin anew.
// Of those who join after the queue was empty the first one finds nobody before it. So for each that has to take
// its node back again another one has had its turn.
//
// In a long queue who has held the lock notes in the directory, in the transaction that removes its node: up to my
// number nobody is left. It was the lowest, numbers only grow, and a directory that is made anew has no note; so the
// note stays true. Who sees the one ahead of the nearest go, and cannot see whether others are before them, reads
// the note instead of a list of all. Only a directory that is known to be colock's is written to.
//
// Who expects nobody else creates its node in a transaction that also writes to the directory. If that has no other
// child then, nobody can block the new node, and no list is needed.
class contender {
public:
    struct settings {
        colock::layout layout = curator_layout();
        bool shared = false; // a reader, which waits for writers only
        bool rejoin_on_expiry = true;
        std::size_t note_from = 16; // contenders in the queue: from there on a note spares listings

        friend bool operator==(const settings&, const settings&) = default;
    };

    contender(settings s, guid first) : settings_{std::move(s)}, guid_{first} {}

    // Intentions of the user. `connected`: whether there is a connection now, with this session.
    void join(bool connected, std::int64_t session, commands& out);
    void try_join(bool connected, std::int64_t session, commands& out); // never waits for its turn
    void leave(commands& out); // may come at any time, and twice
    // From the exclusive lock to a shared one, with no gap: Curator's downgrade. Only while it is held.
    void step_down(commands& out);
    // The lock is held for long enough that it is worth watching the own node.
    void guard(commands& out);

    // Whether the session is known to live for a while longer: without that nothing is granted. To be told
    // before every input that may grant.
    void assume_safe(bool safe) noexcept { safe_ = safe; }
    void proved(commands& out);

    // The connection. Precondition of connected(): a quorum write precedes, on this connection, whatever
    // is sent now, so that no read sees a state older than the loss of the previous connection.
    void connected(std::int64_t session, commands& out);
    void suspended();
    void expired(commands& out);

    // Whether nobody else is likely to be in the queue, and the directory may be written to. To be told before every
    // input that may make it join.
    void expect_nobody(bool likely) noexcept { expects_nobody_ = likely; }

    // Answers.
    void directory_made(const error_code& ec, commands& out);
    void created(const error_code& ec, std::string_view name, node_identity identity,
                 commands& out);
    // `alone`: the directory has no other child.
    void counted(const error_code& ec, std::string_view name, node_identity identity, bool alone,
                 commands& out);
    // `recognised`: it is a directory that was seen to be colock's before.
    void listed(const error_code& ec, const std::vector<std::string>& children, bool recognised,
                commands& out);
    void watched(std::string_view name, const error_code& ec, node_identity identity,
                 commands& out);
    void fired(std::string_view name, bool deleted, commands& out);
    // `noted`: up to this number nobody is left, says the note of this queue; -1 without one.
    void inspected(const error_code& ec, bool ours, std::int64_t noted, commands& out);
    void removed(const error_code& ec, commands& out);
    void stepped_down(const error_code& ec, commands& out);

    [[nodiscard]] bool holds() const noexcept
    {
        return state_ == state::granted || (state_ == state::stepping_down && !left_);
    }
    [[nodiscard]] bool is_next() const noexcept
    {
        return state_ == state::waiting && stock_taken_ && blocking_ <= 1;
    }
    [[nodiscard]] bool is_gone() const noexcept { return state_ == state::gone; }
    // Whether it waits without a node, for the queue to drain.
    [[nodiscard]] bool holds_back() const noexcept { return state_ == state::holding_back; }
    // Whether its node is one behind which newcomers hold back: there may be more of them than can be seen.
    [[nodiscard]] bool drains() const noexcept { return disposable_ && is_late(); }
    [[nodiscard]] bool has_node() const noexcept { return !own_.empty(); }
    [[nodiscard]] const std::string& name() const noexcept { return own_; }
    // Whether others stood in the queue, before me or behind me, when it was last listed.
    [[nodiscard]] bool met_others() const noexcept { return met_others_; }
    // Whether the directory had any other child then.
    [[nodiscard]] bool met_siblings() const noexcept { return met_siblings_; }
    [[nodiscard]] const node_identity& identity() const noexcept { return identity_; }
    [[nodiscard]] std::int64_t number() const noexcept { return number_; }

    // A text that is equal for equal states; for the walk over all of them.
    [[nodiscard]] std::string fingerprint() const;
    friend bool operator==(const contender&, const contender&) = default;

private:
    enum class state {
        idle,         // not begun, or waiting for a connection to begin
        probing,      // a try, which lists before it writes
        making,       // the directory
        joining,      // a create is under way, and a list behind it, unless it is one that counts
        lost_track,   // the create's outcome is unknown
        waiting,      // the node exists; B is not known to be empty
        holding_back, // the node is being removed, or is gone; to join again when the queue is empty
        granted,
        stepping_down, // granted, and about to be so together with others
        leaving,       // the node, or what may have become of the create, is being removed
        gone,
    };
    enum class watch_state { none, arming, armed };
    struct watch_slot {
        std::string name;
        watch_state state = watch_state::none;

        friend bool operator==(const watch_slot&, const watch_slot&) = default;
    };

    void begin(commands& out);
    void begin_again(commands& out);
    void send_list(commands& out);
    void take_stock(const std::vector<std::string>& children, bool recognised, commands& out);
    void recover(const std::vector<std::string>& children, bool recognised, commands& out);
    void hold_back(const std::vector<entry>& queue, commands& out);
    void look_again(commands& out);
    void watch_only(std::string_view nearest, std::string_view ahead, commands& out);
    void arm(watch_slot& slot, const std::string& name, commands& out);
    void drop(watch_slot& slot, commands& out);
    void forget_connection() noexcept;
    void forget_node() noexcept;
    void departed(watch_slot& slot, commands& out);
    [[nodiscard]] bool may_have_become_reader(const std::string& name) const;
    void own_node_vanished(commands& out);
    [[nodiscard]] std::string readers_name() const;
    void became_reader(commands& out);
    void grant_or_list(commands& out);
    void grant(commands& out);
    void fail(const error_code& ec, commands& out);
    void start_leaving(commands& out);
    void remove_node(commands& out);
    [[nodiscard]] bool may_read_notes() const noexcept;
    [[nodiscard]] bool may_note() const noexcept;
    [[nodiscard]] bool is_false(std::int64_t noted) const;
    void finish(const error_code& ec, commands& out);
    [[nodiscard]] bool is_late() const noexcept { return number_ >= drain_from || number_ < 0; }
    [[nodiscard]] bool list_open() const noexcept { return open_lists_ > stale_lists_; }
    [[nodiscard]] std::size_t in_sight() const noexcept
    {
        return std::size_t{!nearest_.name.empty()} + std::size_t{!ahead_.name.empty()};
    }

    settings settings_;
    guid guid_;
    state state_ = state::idle;

    bool connected_ = false;
    std::int64_t session_ = 0;
    bool try_only_ = false;
    bool begun_ = false;    // join or try_join was called
    bool reported_ = false; // granted, busy or failed was reported
    bool held_ = false;     // granted was
    bool left_ = false;     // leave() came while the node was being exchanged
    bool safe_ = true;
    bool expects_nobody_ = false;
    bool count_refused_ = false; // the directory is not what it was believed to be
    bool proving_ = false;       // to be granted as soon as it is proved that the session is safe
    bool remove_lost_ = false;   // a remove was not answered: it may have been carried out
    unsigned open_lists_ = 0;    // unanswered
    unsigned stale_lists_ = 0;   // those of them that belong to an earlier join

    std::string own_; // name of the own node, "" while it is not known
    std::int64_t number_ = 0;
    node_identity identity_;
    bool identity_known_ = false;

    std::size_t blocking_ = 0; // members of B not known to have left; valid when stock_taken_
    bool stock_taken_ = false;
    bool met_others_ = false;
    bool met_siblings_ = false;
    bool long_queue_ = false; // when it was last listed
    // The one ahead that has gone, while it is asked whether anybody is left before the nearest one; or -1.
    std::int64_t asked_after_ = -1;
    bool note_refused_ = false; // the directory may not be written to
    bool mark_refused_ = false; // the note there was false: this contender trusts none any more
    enum class directory { unknown, ours, to_stay } directory_ = directory::unknown;
    bool disposable_ = false; // the directory is ours, and nothing but the queue is in it
    watch_slot own_watch_;
    watch_slot nearest_;
    watch_slot ahead_;
};

} // namespace colock::protocol
