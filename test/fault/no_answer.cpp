// What ends each operation when no server answers: docs/operations.md, row by row.
#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace colock::test::no_answer_test {

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto timeout = 4'500ms;         // of the session
constexpr auto noticed = timeout * 2 / 3; // by then the client knows that the connection is broken
constexpr auto margin = 2s;               // for a busy machine

// Each case stops the server, and so has its own.
zookeeper_options quick()
{
    zookeeper_options options;
    options.tick_time = 100ms;
    options.min_session_timeout = 1s;
    options.max_session_timeout = timeout;
    return options;
}

client_options short_session()
{
    return {
        .session_timeout = timeout, .connect_timeout = timeout, .close_timeout = 1s, .tick = 100ms};
}

error_code code_in(const std::exception_ptr& e)
{
    try {
        if (e) {
            std::rethrow_exception(e);
        }
    } catch (const boost::system::system_error& error) {
        return error.code();
    }
    return {};
}

// One operation, and what became of it.
struct started {
    std::string name;
    unsigned calls = 0;
    error_code error;
    error_code value; // of a wait for a loss
    clock_type::time_point begun = clock_type::now();
    clock_type::duration took{0};
    asio::cancellation_signal stop;
};

struct recorder {
    started* op;

    void operator()(const error_code& ec) const { record(ec); }
    template <class Result>
    void operator()(const error_code& ec, Result&& result) const
    {
        if constexpr (std::is_same_v<std::remove_cvref_t<Result>, error_code>) {
            op->value = result;
        }
        record(ec);
    }
    void operator()(const std::exception_ptr& e) const { record(code_in(e)); }

private:
    void record(const error_code& ec) const
    {
        ++op->calls;
        op->error = ec;
        op->took = clock_type::now() - op->begun;
    }
};

using kind = asio::cancellation_type;

const char* name_of(kind type)
{
    return type == kind::terminal ? "terminal" : type == kind::partial ? "partial" : "total";
}

// What starts an operation, at a path of its own.
using start_function = std::function<void(const std::string& path, started& op)>;

auto handler_of(started& op)
{
    return asio::bind_cancellation_slot(op.stop.slot(), recorder{&op});
}

struct own_server {
    zookeeper_server own{link_servers(quick())};
};

struct outage : own_server, lock_scene {
    outage() : lock_scene{own} {}

    // ---- the table

    struct row {
        std::unique_ptr<started> op = std::make_unique<started>();
        milliseconds limit{0};
        std::vector<error_code> codes; // one of them
        std::optional<error_code> value = {};
    };
    struct endless {
        std::unique_ptr<started> op = std::make_unique<started>();
        kind type = kind::none;
        bool waits_for_no_trace = false;
    };

    // Ends by itself, so long after now at most.
    void ends(const std::string& name, milliseconds limit, std::vector<error_code> codes,
              const start_function& start)
    {
        auto& r = rows.emplace_back();
        r.limit = limit;
        r.codes = std::move(codes);
        begin(name, *r.op, start);
    }
    void tells_loss(const std::string& name, const start_function& start)
    {
        ends(name, timeout, {error_code{}}, start);
        rows.back().value = errc::safe_until_passed;
    }

    // Waits until the servers are back; whoever cancels it does not wait. With `total_waits` a total cancellation
    // does, as long as it is not known what the servers have.
    void goes_on(const std::string& name, const start_function& start, bool total_waits = false)
    {
        for (const auto type : {kind::terminal, kind::partial, kind::total}) {
            auto& r = endless_rows.emplace_back();
            r.type = type;
            r.waits_for_no_trace = total_waits && type == kind::total;
            begin(name + ", " + name_of(type), *r.op, start);
        }
    }

    void check_rows()
    {
        until([&] { return std::ranges::all_of(rows, [](auto& r) { return r.op->calls != 0; }); },
              timeout + margin);
        for (const auto& r : rows) {
            BOOST_TEST_CONTEXT(r.op->name)
            {
                BOOST_TEST(r.op->calls == 1U);
                BOOST_TEST(std::ranges::count(r.codes, r.op->error) == 1,
                           "it completed with " << r.op->error.message());
                BOOST_TEST((r.op->took <= r.limit + margin));
                if (r.value) {
                    BOOST_TEST(r.op->value == *r.value);
                }
            }
        }
    }

    void cancel_endless_rows()
    {
        const auto ended = [](auto& r) { return r.op->calls != 0; };
        for (auto& r : endless_rows) {
            BOOST_TEST(r.op->calls == 0U, r.op->name << " ended: " << r.op->error.message());
            r.op->stop.emit(r.type);
        }
        until([&] {
            return std::ranges::all_of(endless_rows,
                                       [&](auto& r) { return r.waits_for_no_trace || ended(r); });
        });
        for (auto& r : endless_rows) {
            BOOST_TEST(ended(r) == !r.waits_for_no_trace, r.op->name);
            r.op->stop.emit(kind::terminal); // ends what a total one has not
        }
        until([&] { return std::ranges::all_of(endless_rows, ended); });
        for (const auto& r : endless_rows) {
            BOOST_TEST_CONTEXT(r.op->name)
            {
                BOOST_TEST(r.op->calls == 1U);
                BOOST_TEST(r.op->error == asio::error::operation_aborted);
            }
        }
    }

    // Again, when all is over.
    void check_that_all_ended_once()
    {
        for (const auto& r : rows) {
            BOOST_TEST(r.op->calls == 1U, r.op->name);
        }
        for (const auto& r : endless_rows) {
            BOOST_TEST(r.op->calls == 1U, r.op->name);
        }
    }

    // ---- what is there before

    std::string path() { return directory + "-" + std::to_string(++paths); }

    template <class Guard, class Start>
    std::shared_ptr<Guard> have(Start start)
    {
        outcome<Guard> o;
        start(o.handler());
        return std::make_shared<Guard>(value_of(io, o));
    }

    int paths = 0;
    std::list<row> rows;
    std::list<endless> endless_rows;

private:
    void begin(const std::string& name, started& op, const start_function& start)
    {
        op.name = name;
        op.begun = clock_type::now();
        start(path(), op);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(no_answer)

BOOST_AUTO_TEST_CASE(every_operation_ends_as_its_page_says)
{
    outage s;
    auto& zk = s.connect(short_session());
    auto& closing = s.connect(short_session());
    client connecting{s.io, [&] {
                          auto options = short_session();
                          options.hosts = link_hosts(s.own);
                          return link_client(options);
                      }()};

    // The locks, watches and operations that are under way when the server stops answering.
    const auto take = [&](auto lock) {
        return s.have<unique_lock>([&](auto h) { lock.async_lock(std::move(h)); });
    };
    const auto take_mutex = [&] { return take(mutex{zk, s.path()}); };
    const auto take_permit = [&] {
        return s.have<permit>([&](auto h) {
            semaphore{zk, s.path(), 2}.async_acquire(2, std::move(h));
        });
    };
    const auto take_several = [&] {
        return s.have<multi_guard>([&](auto h) {
            multi_lock{mutex{zk, s.path()}, semaphore{zk, s.path(), 1}}.async_lock(std::move(h));
        });
    };
    const auto to_unlock = take_mutex();
    const auto single = take(single_node_mutex{zk, s.path()});
    shared_mutex both{zk, s.path()};
    const auto to_downgrade = take(both);
    const auto shared = s.have<shared_lock>([&](auto h) {
        shared_mutex{zk, s.path()}.async_lock_shared(std::move(h));
    });
    lock_owner owner;
    recursive_mutex nested{zk, s.path()};
    recursive_mutex nested_again{zk, s.path()};
    const auto take_nested = [&](recursive_mutex m) {
        return s.have<unique_lock>([&](auto h) { m.async_lock(owner, std::move(h)); });
    };
    const auto outer = take_nested(nested);
    const auto inner = take_nested(nested);
    const auto kept = take_nested(nested_again);
    const auto several = take_several();
    const auto permits = take_permit();
    const auto half = std::make_shared<permit>(permits->split(1));
    const auto watched_lock = take_mutex();
    const auto watched_permit = take_permit();
    const auto watched_several = take_several();
    const auto busy = s.path();
    const auto holder = take(mutex{s.connect(short_session()), busy});

    const auto node = s.path();
    s.admin.create(node);
    const auto changes =
        s.have<watched<get_result>>([&](auto h) { zk.async_watch(node, std::move(h)); });
    const auto created = s.have<watched<std::optional<node_stat>>>(
        [&](auto h) { zk.async_watch_exists(node, std::move(h)); });
    const auto children = s.have<watched<children_result>>(
        [&](auto h) { zk.async_watch_children(node, std::move(h)); });

    asio::steady_timer gate{s.io, clock_type::time_point::max()};
    int running = 0;
    const auto until_the_gate_opens = [&](auto&) -> asio::awaitable<void> {
        ++running;
        error_code ignored;
        co_await gate.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    };
    const auto until_cancelled = [&](auto&) -> asio::awaitable<void> {
        ++running;
        asio::steady_timer never{s.io, clock_type::time_point::max()};
        co_await never.async_wait(asio::use_awaitable);
    };
    const std::vector<error_code> lost{errc::lock_lost};
    const auto with_body = [&](const std::string& what, const auto& body) {
        s.ends("async_with_lock, " + what, timeout, lost, [&](auto& path, auto& op) {
            mutex{zk, path}.async_with_lock(body, handler_of(op));
        });
        s.ends("async_with_lock_shared, " + what, timeout, lost, [&](auto& path, auto& op) {
            shared_mutex{zk, path}.async_with_lock_shared(body, handler_of(op));
        });
        s.ends("async_lead, " + what, timeout, lost, [&](auto& path, auto& op) {
            election{zk, path, "a"}.async_lead(body, handler_of(op));
        });
    };
    with_body("the body has ended", until_the_gate_opens);
    with_body("the body is running", until_cancelled);
    run_until(s.io, [&] { return running == 6; });
    s.goes_on(
        "async_lock, in the queue",
        [&](auto&, auto& op) {
            mutex{zk, busy, s.with_nodes()}.async_lock(handler_of(op));
        },
        true);
    BOOST_REQUIRE(s.until([&] { return s.queue_of(busy).size() == 4; }));

    s.own.stop_process();
    const auto silent_since = clock_type::now();
    for (auto& r : s.rows) {
        r.op->begun = silent_since;
    }
    gate.cancel();

    // ---- the client
    const std::vector<error_code> unknown{zookeeper_errc::connection_loss};
    s.ends("async_connect", timeout, {errc::connect_timeout},
           [&](auto&, auto& op) { connecting.async_connect(handler_of(op)); });
    s.ends("async_close", 1s, {errc::disconnected},
           [&](auto&, auto& op) { closing.async_close(handler_of(op)); });
    const auto writes = [&](auto begin) {
        begin("async_create", [&](auto& path, auto& op) {
            zk.async_create(path, "", create_mode::persistent, handler_of(op));
        });
        begin("async_set",
              [&](auto&, auto& op) { zk.async_set(node, "", any_version, handler_of(op)); });
        begin("async_remove",
              [&](auto& path, auto& op) { zk.async_remove(path, any_version, handler_of(op)); });
        begin("async_set_acl",
              [&](auto&, auto& op) { zk.async_set_acl(node, open_acl(), handler_of(op)); });
        begin("async_multi",
              [&](auto&, auto& op) { zk.async_multi({check_op(node)}, handler_of(op)); });
    };
    writes([&](auto name, auto start) { s.ends(name, noticed, unknown, start); });
    s.goes_on("async_get", [&](auto&, auto& op) { zk.async_get(node, handler_of(op)); });
    s.goes_on("async_exists", [&](auto&, auto& op) { zk.async_exists(node, handler_of(op)); });
    s.goes_on("async_children", [&](auto&, auto& op) { zk.async_children(node, handler_of(op)); });
    s.goes_on("async_sync", [&](auto&, auto& op) { zk.async_sync(node, handler_of(op)); });
    s.goes_on("async_get_acl", [&](auto&, auto& op) { zk.async_get_acl(node, handler_of(op)); });
    s.goes_on("async_add_credentials", [&](auto&, auto& op) {
        zk.async_add_credentials("digest", "me:secret", handler_of(op));
    });
    s.goes_on("async_watch", [&](auto&, auto& op) { zk.async_watch(node, handler_of(op)); });
    s.goes_on("async_watch_exists",
              [&](auto&, auto& op) { zk.async_watch_exists(node, handler_of(op)); });
    s.goes_on("async_watch_children",
              [&](auto&, auto& op) { zk.async_watch_children(node, handler_of(op)); });
    // At most one wait for each watch.
    std::vector<watch*> watches{&changes->changes, &created->changes, &children->changes};
    s.goes_on("watch::async_wait", [&](auto&, auto& op) {
        watches.back()->async_wait(handler_of(op));
        watches.pop_back();
    });
    s.ends("async_wait_state_change", noticed, {error_code{}}, [&](auto&, auto& op) {
        zk.async_wait_state_change(connection_state::connected, handler_of(op));
    });

    // ---- the locks
    const auto acquisitions = [&](auto begin) {
        begin("mutex", [&](auto& path, auto call) { call(mutex{zk, path}); });
        begin("single_node_mutex", [&](auto& path, auto call) {
            call(single_node_mutex{zk, path});
        });
        begin("shared_mutex", [&](auto& path, auto call) { call(shared_mutex{zk, path}); });
        begin("multi_lock", [&](auto& path, auto call) {
            call(multi_lock{mutex{zk, path}, semaphore{zk, path + "-s", 1}});
        });
    };
    std::list<lock_owner> owners;
    const std::vector<error_code> away{errc::disconnected}, silent{errc::no_answer},
        in_time{error_code{}};
    acquisitions([&](const std::string& name, auto with) {
        s.goes_on(
            name + "::async_lock",
            [&](auto& path, auto& op) {
                with(path, [&](auto lock) { lock.async_lock(handler_of(op)); });
            },
            true);
        s.ends(name + "::async_try_lock", noticed, away, [&](auto& path, auto& op) {
            with(path, [&](auto lock) { lock.async_try_lock(handler_of(op)); });
        });
        s.ends(name + "::async_try_lock_for, soon", 500ms, silent, [&](auto& path, auto& op) {
            with(path, [&](auto lock) { lock.async_try_lock_for(500ms, handler_of(op)); });
        });
        s.ends(name + "::async_try_lock_until, later", timeout, away, [&](auto& path, auto& op) {
            with(path, [&](auto lock) {
                lock.async_try_lock_until(silent_since + timeout, handler_of(op));
            });
        });
    });
    s.goes_on(
        "async_lock_shared",
        [&](auto& path, auto& op) {
            shared_mutex{zk, path}.async_lock_shared(handler_of(op));
        },
        true);
    s.ends("async_try_lock_shared", noticed, away, [&](auto& path, auto& op) {
        shared_mutex{zk, path}.async_try_lock_shared(handler_of(op));
    });
    s.ends("async_try_lock_shared_for, soon", 500ms, silent, [&](auto& path, auto& op) {
        shared_mutex{zk, path}.async_try_lock_shared_for(500ms, handler_of(op));
    });
    s.ends("recursive_mutex::async_try_lock_for, soon", 500ms, silent, [&](auto& path, auto& op) {
        recursive_mutex{zk, path}.async_try_lock_for(owners.emplace_back(), 500ms, handler_of(op));
    });
    s.ends("async_try_lock_for, in the queue", 500ms, silent, [&](auto&, auto& op) {
        mutex{zk, busy, s.with_nodes()}.async_try_lock_for(500ms, handler_of(op));
    });
    s.ends("async_try_lead_for, soon", 500ms, silent, [&](auto& path, auto& op) {
        election{zk, path, "a"}.async_try_lead_for(
            500ms, until_cancelled,
            asio::bind_cancellation_slot(op.stop.slot(),
                                         [&op](std::exception_ptr e, bool) { recorder{&op}(e); }));
    });
    s.ends("async_try_lock_shared_for", timeout, away, [&](auto& path, auto& op) {
        shared_mutex{zk, path}.async_try_lock_shared_for(timeout, handler_of(op));
    });
    s.goes_on(
        "recursive_mutex::async_lock",
        [&](auto& path, auto& op) {
            recursive_mutex{zk, path}.async_lock(owners.emplace_back(), handler_of(op));
        },
        true);
    s.ends("recursive_mutex::async_try_lock", noticed, away, [&](auto& path, auto& op) {
        recursive_mutex{zk, path}.async_try_lock(owners.emplace_back(), handler_of(op));
    });
    s.ends("recursive_mutex::async_try_lock_for", timeout, away, [&](auto& path, auto& op) {
        recursive_mutex{zk, path}.async_try_lock_for(owners.emplace_back(), timeout,
                                                     handler_of(op));
    });
    s.ends("recursive_mutex::async_lock of the owner", 0s, in_time,
           [&](auto&, auto& op) { nested_again.async_lock(owner, handler_of(op)); });
    s.goes_on(
        "semaphore::async_acquire",
        [&](auto& path, auto& op) {
            semaphore{zk, path, 1}.async_acquire(1, handler_of(op));
        },
        true);
    s.ends("semaphore::async_try_acquire", noticed, away, [&](auto& path, auto& op) {
        semaphore{zk, path, 1}.async_try_acquire(1, handler_of(op));
    });
    s.ends("semaphore::async_try_acquire_for, soon", 500ms, silent, [&](auto& path, auto& op) {
        semaphore{zk, path, 1}.async_try_acquire_for(1, 500ms, handler_of(op));
    });
    s.ends("semaphore::async_try_acquire_for, later", timeout, away, [&](auto& path, auto& op) {
        semaphore{zk, path, 1}.async_try_acquire_for(1, timeout, handler_of(op));
    });
    s.goes_on(
        "async_with_lock, waiting",
        [&](auto& path, auto& op) {
            mutex{zk, path}.async_with_lock(until_cancelled, handler_of(op));
        },
        true);
    s.goes_on(
        "async_lead, waiting",
        [&](auto& path, auto& op) {
            election{zk, path, "a"}.async_lead(until_cancelled, handler_of(op));
        },
        true);

    // ---- the guards
    const std::vector<error_code> too_late{errc::safe_until_passed};
    const auto releases = [&](const std::string& name, auto guard) {
        s.ends(name, timeout, too_late,
               [&](auto&, auto& op) { guard->async_unlock(handler_of(op)); });
    };
    s.ends("async_unlock of an inner guard", 0s, in_time,
           [&](auto&, auto& op) { inner->async_unlock(handler_of(op)); });
    releases("unique_lock::async_unlock", to_unlock);
    releases("async_unlock of a single_node_mutex", single);
    releases("async_unlock of a recursive_mutex", outer);
    releases("shared_lock::async_unlock", shared);
    releases("multi_guard::async_unlock", several);
    s.ends("permit::async_release", timeout, too_late,
           [&](auto&, auto& op) { permits->async_release(handler_of(op)); });
    s.ends("permit::async_release of the other half", timeout, too_late,
           [&](auto&, auto& op) { half->async_release(handler_of(op)); });
    s.ends("async_downgrade", timeout, too_late, [&](auto&, auto& op) {
        both.async_downgrade(std::move(*to_downgrade), handler_of(op));
    });
    s.tells_loss("held_lock::async_wait_lost",
                 [&](auto&, auto& op) { watched_lock->async_wait_lost(handler_of(op)); });
    s.ends("held_lock::async_wait_revoked", timeout, too_late,
           [&](auto&, auto& op) { watched_lock->async_wait_revoked(handler_of(op)); });
    s.tells_loss("permit::async_wait_lost",
                 [&](auto&, auto& op) { watched_permit->async_wait_lost(handler_of(op)); });
    s.tells_loss("multi_guard::async_wait_lost",
                 [&](auto&, auto& op) { watched_several->async_wait_lost(handler_of(op)); });

    // ---- who only looks
    s.goes_on("async_view_queue", [&](auto&, auto& op) {
        async_view_queue(zk, busy, curator_layout(), handler_of(op));
    });
    s.goes_on("async_wait_position", [&](auto&, auto& op) {
        async_wait_position(zk, holder->node(), curator_layout(), 0, handler_of(op));
    });
    s.goes_on("async_revoke",
              [&](auto&, auto& op) { async_revoke(zk, holder->node(), handler_of(op)); });
    s.goes_on("async_revoke_holders", [&](auto&, auto& op) {
        async_revoke_holders(zk, busy, curator_layout(), handler_of(op));
    });
    s.goes_on("async_leader", [&](auto& path, auto& op) {
        election{zk, path, "a"}.async_leader(handler_of(op));
    });
    s.goes_on("async_participants", [&](auto& path, auto& op) {
        election{zk, path, "a"}.async_participants(handler_of(op));
    });
    s.goes_on("async_wait_change", [&](auto& path, auto& op) {
        election{zk, path, "a"}.async_wait_change({}, handler_of(op));
    });

    // ---- what is begun without a connection
    BOOST_REQUIRE(s.until([&] { return zk.state() == connection_state::suspended; }));
    writes([&](auto name, auto start) { s.goes_on(name + std::string{", not sent"}, start); });
    acquisitions([&](const std::string& name, auto with) {
        s.goes_on(name + "::async_lock without a connection", [&](auto& path, auto& op) {
            with(path, [&](auto lock) { lock.async_lock(handler_of(op)); });
        });
        s.ends(name + "::async_try_lock without a connection", 0s, away, [&](auto& path, auto& op) {
            with(path, [&](auto lock) { lock.async_try_lock(handler_of(op)); });
        });
    });
    s.ends("semaphore::async_try_acquire without a connection", 0s, away,
           [&](auto& path, auto& op) {
               semaphore{zk, path, 1}.async_try_acquire(1, handler_of(op));
           });
    s.ends("async_connect of a client that was connected", timeout,
           {errc::connect_timeout, errc::no_server},
           [&](auto&, auto& op) { zk.async_connect(handler_of(op)); });
    s.goes_on("async_wait_state_change without a connection", [&](auto&, auto& op) {
        zk.async_wait_state_change(connection_state::suspended, handler_of(op));
    });

    s.check_rows();
    s.cancel_endless_rows();
    BOOST_TEST((clock_type::now() - silent_since > timeout));

    // Nothing is left when the server is back, and nothing is reported twice.
    s.own.continue_process();
    BOOST_REQUIRE(s.until([&] { return zk.state() == connection_state::connected; }));
    *watched_lock = {};
    *kept = {};
    *watched_permit = {};
    *watched_several = {};
    BOOST_TEST(s.until([&] { return zk.stats().contenders == 0; }));
    const auto count = zk.stats();
    BOOST_TEST(count.locks_granted == count.locks_released + count.locks_lost);
    s.check_that_all_ended_once();
    *holder = {};
    s.close_all();
    BOOST_TEST(s.until([&] { return s.own.ephemerals().empty(); }));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::no_answer_test
