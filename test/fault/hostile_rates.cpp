// A server that answers every request of a kind with one error, or lets every watch fire at once: for each kind of work, kind
// of request and error code, all at the same time, on one server.
#include <colock/election.hpp>
#include <colock/lock_root.hpp>
#include <colock/multi_lock.hpp>
#include <colock/queue_view.hpp>
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/single_node_mutex.hpp>
#include <support/hostile_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <any>
#include <atomic>
#include <charconv>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace colock::test::hostile_rates_test {

using namespace std::chrono_literals;

namespace {

using asked = hostile_server::request;
using answer = hostile_server::answer;

// All that ZooKeeper's protocol knows, and two that it does not.
constexpr std::int32_t error_codes[] = {-1,   -2,   -3,   -4,   -5,   -6,   -7,   -8,   -9,
                                        -13,  -14,  -100, -101, -102, -103, -108, -110, -111,
                                        -112, -113, -114, -115, -116, -117, -118, -119, -120,
                                        -121, -123, -124, -125, -127, -999, 7};

constexpr std::int32_t created = 1, deleted = 2, changed = 3, children_changed = 4;

constexpr auto* other = "_c_ffffffff-ffff-ffff-ffff-ffffffffffff-";

// What a client does while the server misbehaves, and what keeps it doing so.
struct row;
struct work {
    const char* name;
    std::vector<std::string> nodes;    // which are there before, below the chroot
    std::function<void(row&)> prepare; // with an honest server
    std::function<void(row&)> begin;
    std::vector<opcode> kinds;        // of the requests that it makes
    std::vector<std::int32_t> events; // of the watches that it sets
};

// One server for each error, so that none has much to do.
struct host {
    explicit host(boost::asio::io_context& io) : operating{io, options()} {}

    hostile_server server;
    client operating;

private:
    colock::client_options options()
    {
        colock::client_options o;
        o.hosts = server.connect_string();
        o.close_timeout = 100ms;
        return o;
    }
};

// A client below a chroot of its own.
struct line {
    line(boost::asio::io_context& io, host& h, std::size_t number)
        : of{h}, chroot{"/c" + std::to_string(number)}, zk{io, options()}
    {
    }

    host& of;
    const std::string chroot;
    outcome<> connected;
    client zk;
    row* only = nullptr; // what its heartbeats count for

private:
    colock::client_options options() const
    {
        colock::client_options o;
        o.hosts = of.server.connect_string();
        o.chroot = chroot;
        o.session_timeout = 3s;
        o.tick = 200ms;
        o.close_timeout = 100ms;
        return o;
    }
};

struct row {
    row(line& l, std::size_t number, const work& w)
        : of{l}, zk{l.zk}, does{w}, root{"/r" + std::to_string(number)}
    {
    }

    [[nodiscard]] std::string kind_of_row() const
    {
        return std::string{does.name} + ": " +
               (event != 0 ? "event " + std::to_string(event) : name_of(kind));
    }
    [[nodiscard]] std::string name() const
    {
        return kind_of_row() + (event != 0 ? "" : " " + std::to_string(error));
    }
    [[nodiscard]] std::string at(const std::string& path) const { return root + path; }

    template <class T, class... Args>
    T& make(const std::string& path, Args&&... args)
    {
        const auto p = std::make_shared<T>(zk, at(path), std::forward<Args>(args)...);
        owned.push_back(p);
        return *p;
    }
    void keep(std::shared_ptr<void> p) { owned.push_back(std::move(p)); }
    // The operation that has to be over before the server misbehaves.
    template <class T>
    outcome<T> first()
    {
        const outcome<T> o;
        ready = [o] { return o.done(); };
        held = o;
        return o;
    }
    template <class T>
    T& holds()
    {
        return std::any_cast<outcome<T>&>(held).value();
    }

    line& of;
    client& zk;
    const work& does;
    const std::string root;
    opcode kind{};
    std::int32_t error = 0; // all requests of the kind get it
    std::int32_t event = 0; // each watch fires with it
    std::atomic<bool> hostile{false};
    std::atomic<std::uint64_t> requests{0}, lies{0};
    std::function<bool()> ready = [] { return true; };
    std::any held;
    std::vector<std::shared_ptr<void>> owned;
};

std::vector<work> all_work()
{
    using o = opcode;
    const std::vector all{deleted, changed};
    std::vector<work> w;
    w.push_back({"waits",
                 {"/lock", std::string{"/lock/"} + other + "lock-"},
                 {},
                 [](row& r) {
                     r.make<colock::mutex>("/lock").async_lock(
                         outcome<colock::unique_lock>{}.handler());
                 },
                 {o::create2, o::get_children2, o::get_data},
                 all});
    const auto lock = [](row& r) {
        r.make<colock::mutex>("/lock").async_lock(r.first<colock::unique_lock>().handler());
    };
    w.push_back({"holds", {"/lock"}, {}, lock, {o::get_data}, all});
    w.push_back({"unlocks",
                 {"/lock"},
                 lock,
                 [](row& r) { r.holds<colock::unique_lock>().async_unlock(outcome<>{}.handler()); },
                 {o::remove},
                 {}});
    w.push_back({"makes its directory",
                 {},
                 {},
                 [](row& r) {
                     r.make<colock::mutex>("/a/b/lock")
                         .async_lock(outcome<colock::unique_lock>{}.handler());
                 },
                 {o::create2, o::create_container},
                 {}});
    w.push_back({"waits among readers and writers",
                 {"/lock", std::string{"/lock/"} + other + "__WRIT__"},
                 {},
                 [](row& r) {
                     r.make<colock::shared_mutex>("/lock").async_lock(
                         outcome<colock::unique_lock>{}.handler());
                 },
                 {o::create2, o::get_children2, o::get_data},
                 all});
    w.push_back({"steps down",
                 {"/lock"},
                 [](row& r) {
                     r.make<colock::shared_mutex>("/lock").async_lock(
                         r.first<colock::unique_lock>().handler());
                 },
                 [](row& r) {
                     r.make<colock::shared_mutex>("/lock").async_downgrade(
                         std::move(r.holds<colock::unique_lock>()),
                         outcome<colock::shared_lock>{}.handler());
                 },
                 {o::multi},
                 all});
    w.push_back({"waits for one node",
                 {"/one"},
                 {},
                 [](row& r) {
                     r.make<colock::single_node_mutex>("/one").async_lock(
                         outcome<colock::unique_lock>{}.handler());
                 },
                 {o::create2, o::get_data},
                 all});
    w.push_back({"holds one node",
                 {},
                 {},
                 [](row& r) {
                     r.make<colock::single_node_mutex>("/one").async_lock(
                         r.first<colock::unique_lock>().handler());
                 },
                 {o::get_data},
                 all});
    const auto acquire = [](row& r) {
        r.make<colock::semaphore>("/s", 1).async_acquire(1, r.first<colock::permit>().handler());
    };
    w.push_back({"waits for permits",
                 {"/s", "/s/leases", std::string{"/s/leases/"} + other + "lease-"},
                 {},
                 [](row& r) {
                     r.make<colock::semaphore>("/s", 1).async_acquire(
                         1, outcome<colock::permit>{}.handler());
                 },
                 {o::create2, o::get_children2, o::get_data},
                 {deleted, changed, children_changed}});
    w.push_back({"waits for permits of a counter",
                 {"/n", "/s", "/s/leases", std::string{"/s/leases/"} + other + "lease-"},
                 {},
                 [](row& r) {
                     r.make<colock::semaphore>("/s", colock::counter_node{r.at("/n")})
                         .async_acquire(1, outcome<colock::permit>{}.handler());
                 },
                 {o::get_data},
                 all});
    w.push_back({"takes permits",
                 {"/s", "/s/leases"},
                 {},
                 [](row& r) {
                     r.make<colock::semaphore>("/s", 1).async_acquire(
                         1, outcome<colock::permit>{}.handler());
                 },
                 {o::multi, o::create2},
                 {}});
    w.push_back({"holds permits", {}, {}, acquire, {o::get_data}, all});
    w.push_back({"releases permits",
                 {},
                 acquire,
                 [](row& r) { r.holds<colock::permit>().async_release(outcome<>{}.handler()); },
                 {o::remove},
                 {}});
    w.push_back({"takes several",
                 {"/a", "/b", std::string{"/b/"} + other + "lock-"},
                 {},
                 [](row& r) {
                     auto& a = r.make<colock::mutex>("/a");
                     auto& b = r.make<colock::mutex>("/b");
                     const auto m = std::make_shared<colock::multi_lock>(a, b);
                     r.keep(m);
                     m->async_lock(outcome<colock::multi_guard>{}.handler());
                 },
                 {o::create2, o::get_children2, o::get_data},
                 all});
    w.push_back({"waits for its position",
                 {"/lock", std::string{"/lock/"} + other + "lock-0000000000"},
                 {},
                 [](row& r) {
                     colock::async_wait_position(r.zk, r.at("/lock/") + other + "lock-0000000000",
                                                 colock::curator_layout(), 0,
                                                 outcome<std::size_t>{}.handler());
                 },
                 {o::get_children2},
                 {deleted, changed, children_changed}});
    for (const bool led : {false, true}) {
        w.push_back(
            {led ? "waits for another leader" : "waits for a leader",
             led ? std::vector<std::string>{"/e", std::string{"/e/"} + other + "latch-"}
                 : std::vector<std::string>{"/e"},
             {},
             [led](row& r) {
                 r.make<colock::election>("/e", "me")
                     .async_wait_change(led ? std::optional<std::string>{"data"} : std::nullopt,
                                        outcome<std::optional<std::string>>{}.handler());
             },
             led ? std::vector{o::get_children2, o::get_data} : std::vector{o::get_children2},
             {deleted, changed, children_changed}});
    }
    w.push_back({"waits for the place of a leader",
                 {},
                 {},
                 [](row& r) {
                     r.make<colock::election>("/e", "me")
                         .async_wait_change(std::nullopt,
                                            outcome<std::optional<std::string>>{}.handler());
                 },
                 {o::get_children2, o::exists},
                 {created, deleted, changed, children_changed}});
    w.push_back({"proclaims",
                 {},
                 [](row& r) {
                     r.make<colock::election>("/e", "me")
                         .async_campaign(r.first<colock::leadership>().handler());
                 },
                 [](row& r) {
                     r.holds<colock::leadership>().async_proclaim("other", outcome<>{}.handler());
                 },
                 {o::get_data, o::set_data},
                 {}});
    w.push_back(
        {"looks at a leader",
         {"/e", std::string{"/e/"} + other + "latch-", std::string{"/e/"} + other + "latch-"},
         {},
         [](row& r) {
             r.make<colock::election>("/e", "me")
                 .async_leader(outcome<std::optional<std::string>>{}.handler());
         },
         {o::get_children2, o::get_data},
         {}});
    w.push_back({"looks at a queue",
                 {"/lock", std::string{"/lock/"} + other + "lock-"},
                 {},
                 [](row& r) {
                     colock::async_view_queue(r.make<colock::mutex>("/lock"),
                                              outcome<colock::queue_view>{}.handler());
                     colock::async_revoke_holders(r.make<colock::mutex>("/lock"),
                                                  outcome<std::size_t>{}.handler());
                 },
                 {o::get_children2, o::get_data, o::set_data},
                 {}});
    const auto ensure = [](row& r) {
        colock::async_ensure_lock_root(r.zk, r.at("/x/root"), colock::creator_acl(),
                                       outcome<>{}.handler());
    };
    w.push_back({"makes a lock root", {}, {}, ensure, {o::multi, o::create2}, {}});
    w.push_back({"examines a lock root",
                 {"/x", "/x/root"},
                 {},
                 ensure,
                 {o::create2, o::get_acl, o::remove},
                 {}});
    w.push_back(
        {"reads and writes",
         {"/a"},
         {},
         [](row& r) {
             const auto a = r.at("/a");
             const auto done = [](const colock::error_code&, auto&&...) {};
             r.zk.async_get(a, done);
             r.zk.async_exists(a, done);
             r.zk.async_children(a, done);
             r.zk.async_set(a, "new", colock::any_version, done);
             r.zk.async_create(a + "/b", "", colock::create_mode::ephemeral, done);
             r.zk.async_multi({colock::check_op(a)}, done);
             r.zk.async_sync(a, done);
         },
         {o::get_data, o::exists, o::get_children2, o::set_data, o::create2, o::multi, o::sync},
         {}});
    w.push_back({"keeps its session alive",
                 {},
                 [](row& r) {
                     r.make<colock::mutex>("/lock").async_lock(
                         r.first<colock::unique_lock>().handler());
                 },
                 {},
                 {o::multi},
                 {}});
    return w;
}

struct scene {
    host& another_host()
    {
        auto& h = hosts.emplace_back(io);
        const outcome<> connected;
        h.operating.async_connect(connected.handler());
        BOOST_REQUIRE(becomes_true(io, [&] { return connected.done(); }));
        return h;
    }

    line& another_line(host& of)
    {
        lines.emplace_back(io, of, lines.size());
        create(of, lines.back().chroot, colock::create_mode::persistent);
        return lines.back();
    }

    row& add(line& l, const work& w)
    {
        rows.emplace_back(l, rows.size(), w);
        auto& r = rows.back();
        create(l.of, l.chroot + r.root, colock::create_mode::persistent);
        for (const auto& each : w.nodes) {
            const bool sequential = each.ends_with('-') || each.ends_with('_');
            create(l.of, l.chroot + r.at(each),
                   sequential ? colock::create_mode::persistent_sequential
                              : colock::create_mode::persistent);
        }
        return r;
    }

    void create(host& of, std::string path, colock::create_mode mode)
    {
        ++pending;
        of.operating.async_create(std::move(path), "data", mode,
                                  [this](colock::error_code ec, const auto&) {
                                      BOOST_TEST(!ec, ec.message());
                                      --pending;
                                  });
    }

    // Of a path on the wire.
    [[nodiscard]] row* row_of(const std::string& path)
    {
        const auto parsed = [](const std::string& from, std::size_t at) {
            std::size_t number = 0;
            std::from_chars(from.data() + at, from.data() + from.size(), number);
            return number;
        };
        if (const auto at = path.find("/r"); at != std::string::npos) {
            return &rows.at(parsed(path, at + 2));
        }
        return path.starts_with("/c") ? lines.at(parsed(path, 2)).only : nullptr;
    }

    answer play(const asked& a, std::string honest)
    {
        auto* const r = row_of(a.path);
        if (r == nullptr || !r->hostile) {
            return honest;
        }
        ++r->requests;
        if (r->event != 0 && a.watches) {
            ++r->lies;
            const auto event = jute_writer{}
                                   .integer(-1)
                                   .longer(-1)
                                   .integer(0)
                                   .integer(r->event)
                                   .integer(3)
                                   .text(a.path)
                                   .bytes();
            return honest + framed(event);
        }
        if (r->event == 0 && a.kind == r->kind) {
            ++r->lies;
            return framed(honest.substr(4, 12) + number(r->error));
        }
        return honest;
    }

    // All rows together, for a second.
    void run(std::uint64_t most)
    {
        BOOST_REQUIRE(becomes_true(io, [&] { return pending == 0; }));
        for (auto& l : lines) { // the server takes a few at a time
            l.zk.async_connect(l.connected.handler());
            BOOST_REQUIRE(becomes_true(io, [&] { return l.connected.done(); }));
            BOOST_REQUIRE_MESSAGE(!l.connected.error(), l.connected.error().message());
        }
        for (auto& r : rows) {
            if (r.does.prepare) {
                r.does.prepare(r);
            }
        }
        const auto all = [&](auto condition) {
            return becomes_true(
                io, [&] { return std::ranges::all_of(rows, condition); }, 60s);
        };
        BOOST_REQUIRE(all([](const row& r) { return r.ready(); }));
        for (auto& h : hosts) {
            h.server.play(
                [this](const asked& a, std::string honest) { return play(a, std::move(honest)); });
        }
        for (auto& r : rows) {
            r.hostile = true;
            if (r.does.begin) {
                r.does.begin(r);
            }
        }
        // Not becomes_true(), which would not end while the server keeps the client busy.
        const auto deadline = std::chrono::steady_clock::now() + 60s;
        while (!never_asked_for().empty() && std::chrono::steady_clock::now() < deadline) {
            io.restart();
            io.run_for(50ms);
        }
        for (const auto& each : never_asked_for()) {
            BOOST_ERROR(each << " was never asked for");
        }
        for (auto& r : rows) {
            r.requests = 0;
        }
        io.restart();
        io.run_for(1s);
        for (auto& r : rows) {
            BOOST_TEST(r.requests <= most, r.name() << ": " << r.requests << " requests");
            r.hostile = false;
        }
        for (auto& h : hosts) {
            h.server.play({});
        }
    }

    // Kinds of rows in which the server has not misbehaved yet.
    [[nodiscard]] std::set<std::string> never_asked_for() const
    {
        std::set<std::string> kinds;
        std::set<std::string> asked_for;
        for (const auto& r : rows) {
            (r.lies != 0 ? asked_for : kinds).insert(r.kind_of_row());
        }
        std::erase_if(kinds, [&](const auto& each) { return asked_for.contains(each); });
        return kinds;
    }

    boost::asio::io_context io;
    std::size_t pending = 0;
    std::vector<work> works = all_work();
    std::deque<host> hosts;
    std::deque<line> lines;
    std::deque<row> rows;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(hostile_rates, scene)

// What breaks the connection, and heartbeats, have a client for each row.
BOOST_AUTO_TEST_CASE(every_request_is_refused_with_every_error)
{
    for (const auto error : error_codes) {
        const bool breaks = error == -112 || error == -118;
        auto& h = another_host();
        auto& shared = another_line(h);
        for (const auto& w : works) {
            const bool beats = w.name == std::string_view{"keeps its session alive"};
            for (const auto kind : w.kinds) {
                auto& of = breaks || beats ? another_line(h) : shared;
                auto& r = add(of, w);
                r.kind = kind;
                r.error = error;
                of.only = beats ? &r : nullptr;
            }
        }
    }
    run(120);
}

BOOST_AUTO_TEST_CASE(every_watch_fires_at_once)
{
    auto& shared = another_line(another_host());
    for (const auto& w : works) {
        for (const auto event : w.events) {
            add(shared, w).event = event;
        }
    }
    run(120);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::hostile_rates_test
