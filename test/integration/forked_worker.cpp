// A process that holds one of everything, and forks: what does the child do to it? See forked.cpp.
//
//   forked_worker HOSTS PATH WAY      prints "shared N ..." for each descriptor of the parent, "child PID" for each child,
//                                     and "kept", when all children have ended well and nothing has happened to the parent
#include <colock/colock.hpp>
#include <support/link.hpp>
#include <support/run.hpp>
#include <support/sanitizers.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using colock::test::no_throw;
using colock::test::run;

namespace {

// What a program has for as long as it lives: a child that calls exit() destroys its copies.
std::unique_ptr<asio::io_context> io;
std::unique_ptr<colock::client> zk;

struct possessions {
    explicit possessions(const std::string& below)
        : plain{*zk, below + "/mutex"}, lingering{*zk, below + "/lingering", {.linger = 1min}},
          shared{*zk, below + "/shared"}, recursive{*zk, below + "/recursive"},
          single{*zk, below + "/single"}, permits{*zk, below + "/permits", 2},
          first{*zk, below + "/first"}, second{*zk, below + "/second"}, leader{*zk,
                                                                               below + "/election",
                                                                               "me"}
    {
    }

    asio::awaitable<void> take()
    {
        locked = co_await plain.async_lock();
        static_cast<void>(co_await lingering.async_lock());
        read = co_await shared.async_lock_shared();
        outer = co_await recursive.async_lock(owner);
        inner = co_await recursive.async_lock(owner);
        alone = co_await single.async_lock();
        permit = co_await permits.async_acquire();
        both = co_await colock::multi_lock{first, second}.async_lock();
        term = co_await leader.async_campaign();
        auto seen = co_await zk->async_watch_exists(plain.path() + "-never");
        changes = std::move(seen.changes);
        colock::member_options me;
        me.name = "me";
        here = co_await colock::group{*zk, plain.path() + "-group"}.async_join(me);
        changes.async_wait([](colock::error_code, const colock::watch_event&) {});
        locked.async_wait_lost([](colock::error_code, colock::error_code) {});
        plain.async_try_lock_for(1h, [](colock::error_code, const colock::unique_lock&) {});
        const std::initializer_list<const colock::held_lock*> held{
            &locked, &read, &outer, &alone, &term, &both[0], &both[1]};
        for (const auto* each : held) {
            nodes.push_back(each->node());
        }
        for (const auto& step : permit.guarded({})) {
            nodes.push_back(step.path);
        }
    }

    [[nodiscard]] std::map<std::string, bool> guards() const
    {
        return {
            {"mutex", bool(locked)},           {"shared", bool(read)},   {"recursive", bool(outer)},
            {"recursive, inner", bool(inner)}, {"single", bool(alone)},  {"permit", bool(permit)},
            {"multi_lock", bool(both)},        {"election", bool(term)}, {"group", bool(here)}};
    }

    colock::mutex plain;
    colock::mutex lingering;
    colock::shared_mutex shared;
    colock::recursive_mutex recursive;
    colock::single_node_mutex single;
    colock::semaphore permits;
    colock::mutex first, second;
    colock::election leader;
    colock::lock_owner owner;

    colock::unique_lock locked;
    colock::shared_lock read;
    colock::recursive_lock outer, inner;
    colock::unique_lock alone;
    colock::permit permit;
    colock::multi_guard both;
    colock::leadership term;
    colock::membership here;
    colock::watch changes;
    std::vector<std::string> nodes;
};
std::optional<possessions> all;

void expect(bool holds, const std::string& what)
{
    if (!holds) {
        std::cerr << "pid " << ::getpid() << ": not so: " << what << std::endl;
        std::_Exit(1);
    }
}

// Set in a child of several threads: a mutex that another thread had at the fork stays locked there.
bool locks_no_mutex = false;

} // namespace

#if !defined(COLOCK_TEST_THREAD_SANITIZER) // it has to see each mutex itself
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept
{
    static const auto real =
        reinterpret_cast<int (*)(pthread_mutex_t*)>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    if (locks_no_mutex) {
        locks_no_mutex = false;
        expect(false, "the child locks no mutex");
    }
    return real(mutex);
}
#endif

namespace {

// ---- what children do

void look_at_copies()
{
    for (const auto& [kind, holds] : all->guards()) {
        expect(!holds, "the copy of the guard holds nothing: " + kind);
    }
    expect(all->locked.state() == colock::lock_state::lost, "state()");
    expect(all->locked.loss_reason() == colock::errc::forked, "loss_reason()");
    expect(all->locked.remaining() == 0s && all->permit.remaining() == 0s, "remaining()");
    expect(all->outer.depth() == 0, "depth()");
    expect(zk->state() == colock::connection_state::closed, "the client's state()");
    expect(zk->session_id() == 0 && zk->connection_id() == 0, "the client has no session here");
    expect(!zk->last_error_detail().empty(), "last_error_detail()");
}

// Each operation completes, on an executor of the child's own.
asio::awaitable<void> start_operations()
{
    const auto forked = [](const std::string& what, const colock::error_code& ec) {
        expect(ec == colock::errc::forked, what + " gives \"forked\", and not " + ec.message());
    };
    forked("async_connect", std::get<0>(co_await zk->async_connect(no_throw)));
    forked("async_get", std::get<0>(co_await zk->async_get("/", no_throw)));
    forked("async_create", std::get<0>(co_await zk->async_create("/never", "", no_throw)));
    forked("async_wait", std::get<0>(co_await all->changes.async_wait(no_throw)));
    forked("async_lock", std::get<0>(co_await all->plain.async_lock(no_throw)));
    forked("async_try_lock", std::get<0>(co_await all->lingering.async_try_lock(no_throw)));
    forked("async_lock_shared", std::get<0>(co_await all->shared.async_lock_shared(no_throw)));
    forked("async_lock of an owner",
           std::get<0>(co_await all->recursive.async_lock(all->owner, no_throw)));
    forked("async_acquire", std::get<0>(co_await all->permits.async_try_acquire(no_throw)));
    forked("async_campaign", std::get<0>(co_await all->leader.async_campaign(no_throw)));
    forked("async_leader", std::get<0>(co_await all->leader.async_leader(no_throw)));
    colock::mutex made_here{*zk, all->plain.path() + "-too"};
    forked("a new lock", std::get<0>(co_await made_here.async_lock(no_throw)));
    colock::multi_lock several{made_here, all->plain};
    forked("multi_lock", std::get<0>(co_await several.async_lock(no_throw)));
    bool ran = false;
    colock::diagnostics why;
    const auto body = [&](const colock::unique_lock&) -> asio::awaitable<void> {
        ran = true;
        co_return;
    };
    try {
        co_await all->plain.async_with_lock(body,
                                            colock::bind_diagnostics(why, asio::use_awaitable));
        expect(false, "async_with_lock throws");
    } catch (const boost::system::system_error& e) {
        forked("async_with_lock", e.code());
    }
    expect(!ran && why.message().find("child") != std::string::npos, "the diagnostics say why");
    forked("async_wait_lost", std::get<0>(co_await all->locked.async_wait_lost(no_throw)));
    forked("async_unlock", std::get<0>(co_await all->locked.async_unlock(no_throw)));
    forked("async_unlock of an owner", std::get<0>(co_await all->inner.async_unlock(no_throw)));
    forked("async_unlock of several", std::get<0>(co_await all->both.async_unlock(no_throw)));
    forked("async_release", std::get<0>(co_await all->permit.async_release(no_throw)));
    forked("async_proclaim", std::get<0>(co_await all->term.async_proclaim("other", no_throw)));
    forked("async_leave", std::get<0>(co_await all->here.async_leave(no_throw)));
    forked("async_close", std::get<0>(co_await zk->async_close(no_throw)));
}

pid_t fork_here()
{
    std::cout << std::flush;
    const auto pid = ::fork();
    expect(pid != -1, "fork()");
    if (pid == 0) {
        ::alarm(60); // a child that waits for a mutex that nobody opens
    }
    return pid;
}

// Runs the parent's context meanwhile: a client that does not run for as long as a child of a busy machine takes has lost
// its session.
void await_end(pid_t child, asio::io_context& running)
{
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(child, &status, WNOHANG)) == 0) {
        running.run_for(10ms);
    }
    expect(ended == child && status == 0,
           "child " + std::to_string(child) + " ends well: " + std::to_string(status));
}

colock::client_options options(const char* hosts)
{
    return colock::test::link_client({.hosts = hosts, .session_timeout = 10s, .tick = 500ms});
}

// The child has a client of its own, and forks, too. Its own child is of another process than both clients.
void live_with_own_client(const char* hosts)
{
    asio::io_context own;
    colock::client mine{own, options(hosts)};
    colock::mutex elsewhere{mine, all->second.path() + "-of-child"};
    colock::mutex of_parent{mine, all->plain.path()};
    colock::unique_lock held;
    run(own, [&]() -> asio::awaitable<void> {
        co_await mine.async_connect();
        held = co_await elsewhere.async_lock();
        expect(!co_await of_parent.async_try_lock(), "the parent has its lock");
    }());
    const auto grandchild = fork_here();
    if (grandchild == 0) {
        expect(!held && !all->locked, "the grandchild holds nothing");
        held = {};
        std::exit(0);
    }
    std::cout << "child " << grandchild << std::endl;
    await_end(grandchild, own);
    run(own, [&]() -> asio::awaitable<void> {
        expect(bool(held), "the child has its lock");
        expect((co_await mine.async_exists(held.node())).has_value(), "the child has its node");
        co_await held.async_unlock();
        co_await mine.async_close();
    }());
}

[[noreturn]] void be_child(const std::string& way, const char* hosts)
{
    if (way == "_exit") {
        ::_exit(0);
    } else if (way == "guards") {
        all.reset();
        zk.reset();
    } else if (way == "client") {
        zk.reset();
        all.reset();
    } else if (way == "context") {
        io.reset();
        zk.reset();
        all.reset();
    } else if (way == "assignments") {
        colock::client moved{std::move(*zk)};
        all->locked = {};
        all->permit = {};
        all->both = {};
        all->changes = {};
        *zk = std::move(moved);
    } else if (way == "notify") {
        io->notify_fork(asio::io_context::fork_child);
        look_at_copies();
        all->alone = {};
        io->run_for(500ms); // the parent's sockets bring what is not for the child
        run(*io, start_operations());
        all.reset();
        zk.reset();
        io->run_for(10ms);
    } else if (way == "operations") {
        asio::io_context own;
        look_at_copies();
        run(own, start_operations());
    } else if (way == "own_client") {
        live_with_own_client(hosts);
    }
    std::exit(0); // and the destructors of what is left
}

// ---- the parent

void print_descriptors()
{
    for (const auto& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        std::error_code gone;
        const auto what = std::filesystem::read_symlink(each.path(), gone).string();
        const int number = std::stoi(each.path().filename());
        if (number > 2 && what.find("/proc/") == what.npos) {
            std::cout << "shared " << number << ' ' << what << '\n';
        }
    }
}

std::atomic<bool> over{false};

// So that there is always something that the child could take.
asio::awaitable<void> read_all_the_time()
{
    while (!over) {
        co_await zk->async_sync("/", no_throw);
    }
}

void fork_one(const std::string& way, const char* hosts)
{
    const bool notifies = way == "notify";
    if (notifies) {
        io->notify_fork(asio::io_context::fork_prepare);
    }
    const auto child = fork_here();
    if (child == 0) {
        be_child(way, hosts);
    }
    if (notifies) {
        io->notify_fork(asio::io_context::fork_parent);
    }
    std::cout << "child " << child << std::endl;
    asio::co_spawn(*io, read_all_the_time(), asio::detached);
    await_end(child, *io);
    over = true;
}

asio::awaitable<void> take_turns()
{
    colock::mutex own{*zk, all->first.path() + "-turns"};
    while (!over) {
        const auto [ec, held] = co_await own.async_lock(no_throw);
        const auto detail = zk->last_error_detail();
        expect(!ec, "turns go on, and not " + ec.message() + "; " + detail);
    }
}

// The heap of this sanitizer may be locked at a fork as well, by the other threads, and then it stays locked in the child.
constexpr int threads_at_fork = colock::test::address_sanitizer ? 0 : 3;

// While other threads use locks.
void fork_many()
{
    const auto work = asio::make_work_guard(*io);
    std::vector<std::thread> threads;
    for (int i = 0; i != threads_at_fork; ++i) {
        threads.emplace_back([] { io->run(); });
    }
    for (int i = 0; i != 4; ++i) {
        asio::co_spawn(*io, take_turns(), asio::detached);
    }
    for (int i = 0; i != 20; ++i) {
        const auto child = fork_here();
        if (child == 0) {
            locks_no_mutex = true;
            static const auto* const kept =
                io.release(); // its threads are not here: Asio would wait for them
            static_cast<void>(kept);
            colock::mutex made_here{*zk, all->first.path() + "-too"};
            all.reset();
            zk.reset();
            ::_exit(
                0); // exit() of OpenSSL and of a sanitizer may wait for a mutex of another thread
        }
        await_end(child, *io);
    }
    over = true;
    io->stop();
    for (auto& each : threads) {
        each.join();
    }
    io->restart();
}

asio::awaitable<void> look_at_parent(std::int64_t session)
{
    co_await zk->async_sync("/");
    // The client's timer goes on: what a child removes from the epoll is gone from the parent's, too.
    asio::steady_timer pause{*io};
    const auto so_far = zk->stats().heartbeats;
    while (zk->stats().heartbeats < so_far + 1) {
        pause.expires_after(50ms);
        co_await pause.async_wait(asio::use_awaitable);
    }
    for (const auto& [kind, holds] : all->guards()) {
        expect(holds, "the parent holds the " + kind);
    }
    for (const auto& each : all->nodes) {
        expect((co_await zk->async_exists(each)).has_value(), each + " is there");
    }
    expect(zk->session_id() == session, "the session is the same");
    expect(zk->stats().connections == 1, "there was one connection");
    co_await all->inner.async_unlock();
    co_await all->outer.async_unlock();
    co_await all->locked.async_unlock();
    co_await all->read.async_unlock();
    co_await all->alone.async_unlock();
    co_await all->permit.async_release();
    co_await all->both.async_unlock();
    co_await all->term.async_unlock();
    co_await zk->async_close();
}

} // namespace

int main(int count, char** arguments)
{
    if (count != 4) {
        return 2;
    }
    const std::string way = arguments[3];
    io = std::make_unique<asio::io_context>();
    zk = std::make_unique<colock::client>(*io, options(arguments[1]));
    all.emplace(arguments[2]);
    run(*io, [&]() -> asio::awaitable<void> {
        co_await zk->async_connect();
        co_await all->take();
    }());
    const auto session = zk->session_id();
    print_descriptors();
    if (way == "threads") {
        fork_many();
    } else {
        fork_one(way, arguments[1]);
    }
    run(*io, look_at_parent(session));
    std::cout << "kept" << std::endl;
}
