#include "look/culprit.hpp"

#include <colock/log.hpp>

#include "connect/duration.hpp"
#include "look/words.hpp"
#include "program/failure.hpp"

#include <algorithm>

namespace colock::cli {

const std::array<cause_text, 12>& all_causes()
{
    static constexpr std::array<cause_text, 12> all{{
        {cause::deadlock, "deadlock", "holders wait for each other in a circle"},
        {cause::another_kind, "another_kind", "locks of different kinds share the path"},
        {cause::persistent_node, "persistent_node", "a node without a session, left by hand"},
        {cause::permission, "permission", "an access control list is in the way"},
        {cause::dead_holder, "dead_holder", "the holder is gone, its session not yet over"},
        {cause::stopped_holder, "stopped_holder", "the holder's process is stopped"},
        {cause::silent_holder, "silent_holder", "the servers do not hear from the holder"},
        {cause::unowned, "unowned", "shards have no owner"},
        {cause::long_queue, "long_queue", "the holder works, and 10 or more wait"},
        {cause::held, "held", "the holder works, as far as can be told"},
        {cause::free, "free", "nobody has the lock, or the path does not exist"},
        {cause::no_lock, "no_lock", "the path has nodes, and none of them is a lock's"},
    }};
    return all;
}

std::string_view word_for(cause c)
{
    return std::ranges::find(all_causes(), c, &cause_text::what)->word;
}

condition_of examine(const queue_entry& e, const session_facts& facts)
{
    condition_of c;
    if (e.unreadable || e.unread) {
        c.state = e.unreadable ? health::unreadable : health::unknown;
        return c;
    }
    if (!has_session(e)) {
        c.state = health::by_hand;
        c.words = "no session will ever delete its node";
        return c;
    }
    c.process = look_at_process(e.owner(), e.since);
    const auto at = facts.connected.find(e.session);
    bool heard = false, quiet = false;
    if (at != facts.connected.end()) {
        c.connection = &at->second;
        c.words =
            "connected to " + at->second.server + " from " + printable(at->second.address, 96);
        if (const auto silent = at->second.silent) {
            c.words +=
                ", heard " + shown(*silent) + " ago of a time-out of " + shown(at->second.timeout);
            quiet = static_cast<double>(silent->count()) >
                    silent_part * static_cast<double>(at->second.timeout.count());
            heard = !quiet;
        }
    } else if (facts.complete) {
        c.words = "no server has a connection of its session";
    }
    const bool cut_off = facts.complete && !c.connection;
    switch (c.process.state) {
    case process_state::stopped: c.state = health::stopped; break;
    case process_state::gone:
    case process_state::ended:
    case process_state::another_one:
        // A container may have the name of this host, and numbers of its own.
        c.state = heard ? health::alive : health::dead;
        if (!heard && !facts.complete) {
            c.process.words += ", unless it is in a container, which numbers its own";
        }
        break;
    case process_state::running:
        c.state = cut_off || quiet ? health::silent : heard ? health::alive : health::unknown;
        break;
    case process_state::unknown:
        c.state = cut_off ? health::dead
                  : quiet ? health::silent
                  : heard ? health::alive
                          : health::unknown;
        break;
    }
    if (!c.process.words.empty()) {
        c.words = c.process.words + (c.words.empty() ? "" : "; ") + c.words;
    }
    return c;
}

namespace {

// Whether the list lets this client create, as far as that can be known: servers keep no passwords.
bool may_create(const access_control_list& acl, const client_options& options)
{
    return std::ranges::any_of(acl, [&](const acl_entry& e) {
        if (!(e.permissions & permission_create)) {
            return false;
        }
        if (e.scheme == "digest") {
            const auto user = e.id.substr(0, e.id.find(':') + 1);
            return std::ranges::any_of(options.credentials, [&](const credential& c) {
                return c.scheme == "digest" && c.secret.starts_with(user);
            });
        }
        if (e.scheme == "x509") {
            return options.tls != nullptr;
        }
        return true;
    });
}

class judgement {
public:
    judgement(const seen_lock& lock, const session_facts& facts, const expectations& expect)
        : lock_{lock}, facts_{facts}, expect_{expect}, path_{printable(lock.path)}
    {
    }

    [[nodiscard]] culprit decide() const
    {
        for (const auto step : {&judgement::unlisted, &judgement::wrong_kind, &judgement::by_hand,
                                &judgement::unreadable_holder, &judgement::bad_holder,
                                &judgement::bad_waiter, &judgement::working_holder}) {
            if (auto found = (this->*step)()) {
                return *found;
            }
        }
        return nobody();
    }

private:
    using finding = std::optional<culprit>;

    [[nodiscard]] culprit make(cause what, const std::string& node, std::string text) const
    {
        return {what, lock_.path, node, std::move(text)};
    }

    [[nodiscard]] finding unlisted() const
    {
        if (!lock_.unlisted || lock_.unlisted == errc::invalid_path) {
            return {};
        }
        return make(cause::permission, lock_.unlisted_path,
                    "this client lacks READ on " + printable(lock_.unlisted_path) +
                        ", so it cannot see who is there, nor wait for the lock; use --auth with "
                        "an identity that may, or change its access control list");
    }

    [[nodiscard]] finding wrong_kind() const
    {
        const auto other = std::ranges::find_if(lock_.others, [&](const queue_kind& k) {
            return k.what != lock_.what; // named locks share a directory, and know it
        });
        if (other != lock_.others.end()) {
            const auto& first = lock_.queue.entries;
            return make(cause::another_kind, child_of(lock_.path, other->example),
                        path_ + " is used as " + with_article(kind_words(lock_)) +
                            (first.empty() ? "" : " (" + printable(first.front().name) + ')') +
                            " and as " + with_article(words_for(other->what)) + " (" +
                            printable(other->example) +
                            "), which do not exclude each other; give one of them another path");
        }
        if (!expect_.expected || !lock_.exists) {
            return {};
        }
        const auto expected = *expect_.expected;
        if (expected == &kinds::single_node_mutex && !lock_.is_lock() && !lock_.unlisted) {
            const bool is_directory = !lock_.child_names.empty();
            return make(is_directory ? cause::another_kind : cause::persistent_node, lock_.path,
                        path_ +
                            (is_directory
                                 ? " has nodes below it, so it is no lock of a single node"
                                 : " is a node that no session owns, so it is never deleted; make "
                                   "sure that nobody needs it, and delete it"));
        }
        if (lock_.is_lock() && lock_.what != expected) {
            return make(cause::another_kind, lock_.path,
                        path_ + " is " + with_article(kind_words(lock_)) + ", no " +
                            std::string{words_for(expected)} + "; give yours another path");
        }
        return {};
    }

    [[nodiscard]] const queue_entry* first_that(health state, bool holds) const
    {
        for (const auto& e : lock_.queue.entries) {
            if (e.holds == holds && examine(e, facts_).state == state) {
                return &e;
            }
        }
        return nullptr;
    }

    [[nodiscard]] finding by_hand() const
    {
        const auto* e = first_that(health::by_hand, true);
        e = e ? e : first_that(health::by_hand, false);
        if (!e) {
            return {};
        }
        return make(cause::persistent_node, e->path,
                    printable(e->path) + " has no session, so nothing deletes it, and those behind "
                                         "it wait for ever; `colock break` deletes it");
    }

    [[nodiscard]] finding unreadable_holder() const
    {
        const auto* const e = first_that(health::unreadable, true);
        return e ? unreadable(*e) : finding{};
    }

    [[nodiscard]] finding unreadable(const queue_entry& e) const
    {
        const bool permission = e.unreadable == zookeeper_errc::no_auth;
        return make(permission ? cause::permission : cause::held, e.path,
                    permission ? "this client lacks READ on " + printable(e.path) +
                                     ", the node of a " + (e.holds ? "holder" : "waiter") +
                                     ", and cannot wait behind it; give all clients of a lock the "
                                     "same access control list, or use --auth"
                               : printable(e.path) +
                                     " cannot be read: " + in_own_words(e.unreadable.message()));
    }

    [[nodiscard]] finding bad_holder() const
    {
        struct row {
            health state;
            cause what;
            std::string_view is;
            std::string_view remedy;
        };
        static constexpr row rows[] = {
            {health::dead, cause::dead_holder, " and is dead: ",
             "; the servers let the next one in when its session is over; `colock break` does at "
             "once"},
            {health::stopped, cause::stopped_holder, " and is stopped: ",
             "; let it go on (kill -CONT), or end it; its lock goes when its session is over"},
            {health::silent, cause::silent_holder, " and is silent: ",
             "; it is stopped, overloaded or cut off; its lock goes when its session is over"}};
        for (const auto& r : rows) {
            if (const auto* const e = first_that(r.state, true)) {
                return make(r.what, e->path,
                            who(*e) + " holds " + path_ + std::string{r.is} +
                                examine(*e, facts_).words + std::string{r.remedy});
            }
        }
        return {};
    }

    [[nodiscard]] finding bad_waiter() const
    {
        const auto* const e = first_that(health::unreadable, false);
        return e ? unreadable(*e) : finding{};
    }

    [[nodiscard]] finding working_holder() const
    {
        const auto holders = lock_.queue.holders();
        if (holders.empty()) {
            return {};
        }
        const auto& e = holders.front();
        const auto known = examine(e, facts_);
        const auto waiting = lock_.waiting();
        const bool is_long = waiting >= long_queue_from;
        auto text = std::to_string(holders.size()) + " hold";
        if (holders.size() == 1) {
            text = who(e) + " holds";
        }
        text += ' ' + path_;
        if (!e.unread && !e.unreadable) {
            text += ", " + standing_words(e);
        }
        if (lock_.permits) {
            text += ", of " + std::to_string(*lock_.permits) + " permits";
        }
        if (holders.size() == 1 && e.is_revoked()) {
            text += ", was asked to release it, and has not yet";
        } else if (known.state == health::alive) {
            text += holders.size() == 1 ? ", and works" : ", and the first one works";
        }
        if (is_long) {
            text =
                std::to_string(waiting) + " wait for " + path_ + ", one after the other; " + text;
        } else if (waiting != 0) {
            text += ", and " + std::to_string(waiting) + (waiting == 1 ? " waits" : " wait");
        }
        if (known.state == health::unknown) {
            text += known.process.state == process_state::running
                        ? "; its process runs; whether the servers hear it cannot be known"
                        : "; whether it lives cannot be known";
        }
        return make(is_long ? cause::long_queue : cause::held, is_long ? "" : e.path,
                    std::move(text));
    }

    [[nodiscard]] culprit gathering() const
    {
        const auto what = path_ + " has " + gathering_words(lock_);
        if (*lock_.members == 0) {
            return make(cause::free, "", "none; " + what + ": no process takes part");
        }
        if (!lock_.shards) {
            return make(cause::held, "", what + "; a group keeps nobody waiting");
        }
        if (lock_.unowned == 0) {
            return make(cause::held, "",
                        what + ", and each shard has an owner; `colock shards` tells which");
        }
        return make(cause::unowned, "",
                    what + ", and " + std::to_string(lock_.unowned) +
                        (lock_.unowned == 1 ? " shard has" : " shards have") +
                        " no owner: members are about to take them, or prepare, or the leader has "
                        "just died; `colock shards` tells which");
    }

    [[nodiscard]] culprit nobody() const
    {
        if (!lock_.acl.empty() && !may_create(lock_.acl, *expect_.options)) {
            return make(cause::permission, lock_.acl_path,
                        "this client lacks CREATE on " + printable(lock_.acl_path) +
                            ", so it cannot take the lock; use --auth with an identity that may, "
                            "or change its access control list");
        }
        if (lock_.is_gathering()) {
            return gathering();
        }
        // The directory of an idle lock goes by itself.
        if (!lock_.exists) {
            return make(cause::free, "",
                        "none; nobody holds " + path_ +
                            ", nor waits for it: it does not exist, as a lock that nobody uses, or "
                            "the path or the chroot of --servers is wrong");
        }
        if (lock_.may_be_free_lock() || lock_.is_lock()) {
            if (const auto& waiters = lock_.queue.entries; !waiters.empty()) {
                return make(cause::held, waiters.front().path,
                            std::to_string(waiters.size()) + " wait for " + path_ +
                                ", and nobody holds it; the next one is about to take it, or more "
                                "permits than are free are wanted");
            }
            return make(cause::free, "", "none; nobody holds " + path_ + ", nor waits for it");
        }
        return make(cause::no_lock, "",
                    path_ + " is no lock: none of its children is a contender; `colock ls -r` "
                            "finds locks below it");
    }

    const seen_lock& lock_;
    const session_facts& facts_;
    const expectations& expect_;
    const std::string path_;
};

} // namespace

culprit find_culprit(std::span<const seen_lock> asked_for, const std::vector<seen_lock>& all,
                     const session_facts& facts, const expectations& expect)
{
    if (const auto circle = find_deadlock(all, asked_for.size()); !circle.empty()) {
        // A process may wait in one task, and let go in another; a shell does not.
        const bool is_certain = std::ranges::any_of(
            circle, [](const contender_ref& c) { return c.entry->owner().under.has_value(); });
        return {cause::deadlock, circle.front().lock->path, circle.front().entry->path,
                deadlock_words(circle) + ": a deadlock" +
                    (is_certain ? "" : ", unless they do both independently") +
                    "; end one of them, or `colock break` one of the locks"};
    }
    std::optional<culprit> gravest;
    for (const auto& lock : asked_for) {
        auto found = judgement{lock, facts, expect}.decide();
        if (!gravest || found.what < gravest->what) {
            gravest = std::move(found);
        }
    }
    return gravest.value_or(culprit{});
}

} // namespace colock::cli
