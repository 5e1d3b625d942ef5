// Users of a lock, and a stranger on the same ensemble who wants to disturb them.
#ifndef COLOCK_TEST_SECURITY_STRANGERS_HPP
#define COLOCK_TEST_SECURITY_STRANGERS_HPP

#include <colock/lock_root.hpp>
#include <support/lock_scene.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

/// A guard of any kind of lock. Dropping it releases the lock.
struct some_guard {
    std::shared_ptr<void> guard;
    std::function<error_code()> loss_reason;
    std::string node;

    explicit operator bool() const { return guard && !loss_reason(); }
};

template <class Guard>
some_guard any_guard(Guard g)
{
    auto kept = std::make_shared<Guard>(std::move(g));
    std::string node;
    if constexpr (requires { kept->node(); }) {
        node = kept->node();
    } // a permit does not tell
    auto reason = [raw = kept.get()] { return raw->loss_reason(); };
    // An empty one says that nothing was acquired.
    return *kept ? some_guard{std::move(kept), std::move(reason), std::move(node)} : some_guard{};
}

/// How a kind of lock is acquired, at once, or within a time.
struct kind_of_lock {
    using handler = std::function<void(error_code, some_guard)>;
    std::string name;
    std::function<void(client&, const std::string& path, std::optional<std::chrono::milliseconds>,
                       diagnostics&, handler)>
        acquire;
    std::string queue_below = {}; ///< Where the nodes of holders are, below the path.
    bool has_limit = true;        ///< Whether one can wait for a time.
    bool held_by_writer = false;  ///< Readers would not wait for a reader.
};

template <class Lock>
kind_of_lock kind_from(std::string name, std::string queue_below = {})
{
    return {std::move(name),
            [](client& c, const std::string& path, auto limit, diagnostics& why, auto handler) {
                Lock lock{c, path, {.max_local_grants = 0}};
                const auto done = [handler](error_code ec, unique_lock g) {
                    handler(ec, any_guard(std::move(g)));
                };
                limit ? lock.async_try_lock_for(*limit, bind_diagnostics(why, done))
                      : lock.async_lock(bind_diagnostics(why, done));
            },
            std::move(queue_below), true};
}

inline kind_of_lock a_mutex()
{
    return kind_from<mutex>("mutex");
}
inline kind_of_lock a_writer()
{
    return kind_from<shared_mutex>("shared_mutex, to write");
}
inline kind_of_lock a_single_node()
{
    return kind_from<single_node_mutex>("single_node_mutex");
}
inline kind_of_lock a_reader()
{
    return {"shared_mutex, to read",
            [](client& c, const std::string& path, auto limit, diagnostics& why, auto handler) {
                shared_mutex lock{c, path, {.max_local_grants = 0}};
                const auto done = [handler](error_code ec, shared_lock g) {
                    handler(ec, any_guard(std::move(g)));
                };
                limit ? lock.async_try_lock_shared_for(*limit, bind_diagnostics(why, done))
                      : lock.async_lock_shared(bind_diagnostics(why, done));
            },
            "", true, true};
}
inline kind_of_lock a_semaphore()
{
    return {"semaphore with one permit",
            [](client& c, const std::string& path, auto limit, diagnostics& why, auto handler) {
                semaphore pool{c, path, 1};
                const auto done = [handler](error_code ec, permit g) {
                    handler(ec, any_guard(std::move(g)));
                };
                limit ? pool.async_try_acquire_for(*limit, bind_diagnostics(why, done))
                      : pool.async_acquire(bind_diagnostics(why, done));
            },
            "/leases", true};
}
inline kind_of_lock an_election()
{
    return {"election",
            [](client& c, const std::string& path, auto, diagnostics& why, auto handler) {
                election race{c, path, "a candidate"};
                race.async_campaign(bind_diagnostics(why, [handler](error_code ec, leadership g) {
                    handler(ec, any_guard(std::move(g)));
                }));
            },
            "", false};
}

enum class access_to_locks { open, by_recipe };

/// A lock with a holder and a waiter; with the open access control list, or below a root that was made by the recipe.
/// And a stranger, who has an identity of his own, and no right but those of everybody.
struct strangers_scene : lock_scene {
    strangers_scene(kind_of_lock k, access_to_locks access, zookeeper_server& on = common_server())
        : lock_scene{on}, kind{std::move(k)}, by_recipe{access == access_to_locks::by_recipe}
    {
        stranger.add_auth("digest", "stranger:secret");
        admin.add_auth("digest", "orders:secret");
        if (by_recipe) {
            outcome<> made;
            async_ensure_lock_root(user(), directory, made.handler());
            value_of(io, made);
        } else {
            admin.create(directory);
        }
    }

    /// Operations that are under way write into `why`.
    ~strangers_scene()
    {
        try {
            close_all();
        } catch (...) {
        }
    }

    client& user()
    {
        client_options options{.session_timeout = 30s}; // a flood of names keeps the servers busy
        if (by_recipe) {
            options.credentials = {{"digest", "orders:secret"}};
            options.acl = creator_acl();
        }
        options.log = [lines = log](log_level, std::string_view line) {
            lines->emplace_back(line);
        };
        return connect(std::move(options));
    }

    outcome<some_guard> start(client& c, std::optional<std::chrono::milliseconds> limit = {})
    {
        outcome<some_guard> o;
        kind.acquire(c, path, limit, why, o.handler());
        return o;
    }
    some_guard acquire(client& c) { return value_of(io, start(c)); }

    /// Someone holds the lock, and someone waits for it. Some numbers are used up before.
    void begin()
    {
        for (int i = 0; i != 3; ++i) {
            acquire(i % 2 == 0 ? first : second);
            drained();
        }
        outcome<some_guard> o;
        (kind.held_by_writer ? a_writer() : kind).acquire(first, path, {}, why, o.handler());
        held = value_of(io, o);
        if (held.node.empty()) {
            held.node = queue_path() + "/" + queue_of(queue_path()).front();
        }
        waiting = start(second);
        settle();
        BOOST_TEST(!waiting.done());
    }

    /// Until all that was released is gone.
    void drained()
    {
        BOOST_TEST(
            until([&] { return first.stats().contenders + second.stats().contenders == 0; }));
        sync(first);
        sync(second);
    }
    /// Until a waiter has nothing more to ask, because it has its place and its watches.
    void settle()
    {
        // Each answer may bring further requests.
        BOOST_TEST(until([&] {
            sync(second);
            const auto requests = second.stats().requests;
            sync(second);
            return second.stats().requests == requests + 1;
        }));
    }
    void sync(client& c)
    {
        outcome<> o;
        c.async_sync("/", o.handler());
        value_of(io, o);
    }

    /// The stranger tries something; whether he may is counted.
    template <class Attempt>
    void attempt(Attempt what)
    {
        ++attempts;
        try {
            what(stranger);
        } catch (const admin_error& e) {
            constexpr int no_auth = -102;
            BOOST_TEST(e.code() == no_auth, e.what());
            ++refused;
        }
    }

    void give_to_all(const std::string& node, std::int32_t permissions)
    {
        auto acl = admin.get_acl(node);
        acl.push_back({permissions, "world", "anyone"});
        admin.set_acl(node, acl);
    }

    /// Every node that was created for the lock, or to get there, is the users' alone.
    void check_lists(const std::string& top)
    {
        const auto acl = admin.get_acl(top);
        BOOST_TEST((acl.size() == 1 && acl[0].scheme == "digest" &&
                    acl[0].id.starts_with("orders:") && acl[0].permissions == permission_all),
                   top << " is open to others");
        for (const auto& name : admin.children(top)) {
            check_lists(top + "/" + name);
        }
    }

    void check_one_holder()
    {
        const bool another = waiting.done() && waiting.value();
        BOOST_TEST(!(held && another), "there are two holders");
    }

    /// The holder releases, the waiter gets the lock, and a newcomer after it.
    void check_goes_on()
    {
        BOOST_TEST(static_cast<bool>(held), held.loss_reason().message());
        check_one_holder();
        held = {};
        auto next = value_of(io, waiting);
        BOOST_TEST(static_cast<bool>(next));
        next = {};
        waiting = {};
        check_newcomer({});
    }
    void check_newcomer(const error_code& expected, const std::string& words = {})
    {
        auto& c = user();
        const auto o = start(c);
        BOOST_TEST(code_of(io, o) == expected);
        BOOST_TEST(why.message().find(words) != std::string::npos,
                   why.message() << " does not say " << words);
        o.value() = {};
    }
    void check_newcomer_is_blocked()
    {
        auto& c = user();
        if (kind.has_limit) {
            const auto o = start(c, 200ms);
            BOOST_TEST(code_of(io, o) == error_code{});
            BOOST_TEST(!o.value());
            BOOST_TEST(!why.message().empty());
            return;
        }
        const auto o = start(c);
        BOOST_TEST(until([&] { return queue_of(queue_path()).size() > 1; }));
        go_on(io, 100ms);
        BOOST_TEST(!o.done());
        clients.pop_back();
    }
    /// The one who waits is not blocked by what came later, whatever numbers it has.
    void check_waiter_is_next()
    {
        check_one_holder();
        held = {};
        auto next = value_of(io, waiting);
        BOOST_TEST(static_cast<bool>(next));
        next = {};
        waiting = {};
    }
    void check_holder_is_told(const error_code& reason)
    {
        BOOST_TEST(until([&] { return held.loss_reason() == reason; }));
        check_one_holder();
    }

    [[nodiscard]] std::string queue_path() const { return path + kind.queue_below; }
    [[nodiscard]] bool logged(const std::string& words) const
    {
        return std::ranges::any_of(
            *log, [&](const auto& line) { return line.find(words) != std::string::npos; });
    }

    const kind_of_lock kind;
    const bool by_recipe;
    const std::string path = directory + "/lock";
    const std::shared_ptr<std::vector<std::string>> log =
        std::make_shared<std::vector<std::string>>(); // the clients outlive this object
    diagnostics why;
    admin_session stranger{server.connect_string()};
    client& first = user();
    client& second = user();
    some_guard held;
    outcome<some_guard> waiting;
    int attempts = 0, refused = 0;
};

} // namespace colock::test

#endif
