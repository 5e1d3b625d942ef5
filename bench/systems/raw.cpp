// ZooKeeper's C client in a poll loop, doing the least that takes and releases a lock in the usual way.
//
// Create and list are sent back to back, as colock does where it expects others, and the lock is held when the listing
// has come; nothing checks it, nothing else is looked after. It has no queue to wait in.
//
// raw-tuned does what colock does to be quick: it gathers its writes, which the C client does not, and joins by a
// transaction that tells whether the node is the only one, instead of create and list. That is the limit.
#include <colock/queue_view.hpp>

#include "own_system.hpp"

#include <zookeeper/zookeeper.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <deque>

namespace bench {

namespace {

// As colock does it: what is sent meanwhile leaves in one segment, where the C client would make two of each request.
// Does nothing without a descriptor. Not nested: the inner end would be that of the outer one.
class gathered {
public:
    explicit gathered(int descriptor) noexcept : descriptor_{descriptor} { hold_back(1); }
    gathered(const gathered&) = delete;
    gathered& operator=(const gathered&) = delete;
    ~gathered() { hold_back(0); }

private:
    void hold_back(int on) noexcept
    {
        if (descriptor_ != -1) {
            ::setsockopt(descriptor_, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
        }
    }

    const int descriptor_;
};

class raw_system final : public own_system {
public:
    raw_system(const std::string& hosts, std::chrono::milliseconds timeout, bool tuned)
        : tuned_{tuned}
    {
        zoo_set_debug_level(static_cast<ZooLogLevel>(0));
        handle_ = zookeeper_init2(hosts.c_str(), &ignore, static_cast<int>(timeout.count()),
                                  nullptr, nullptr, ZOO_NO_LOG_CLIENTENV, nullptr);
        if (handle_ == nullptr) {
            throw std::runtime_error{"raw: zookeeper_init failed"};
        }
        // Otherwise it would look up its servers at every step.
        zoo_set_servers_resolution_delay(handle_, -1);
        const auto end = clock::now() + std::chrono::seconds{30};
        while (zoo_state(handle_) != ZOO_CONNECTED_STATE) {
            if (clock::now() > end) {
                zookeeper_close(handle_);
                throw std::runtime_error{"raw: no server at " + hosts};
            }
            step(std::chrono::seconds{1});
        }
    }
    ~raw_system() override { zookeeper_close(handle_); }

    void attend() override { step(std::chrono::milliseconds{0}); }

    std::vector<cycle_time> cycles(const std::string& path, int count) override
    {
        make_directory(path);
        std::vector<cycle_time> times;
        times.reserve(static_cast<std::size_t>(count));
        turn t{this, path, prefix_in(path)};
        for (int i = 0; i != count; ++i) {
            const auto begin = clock::now();
            {
                const gathered writes{corked_};
                start_lock(t);
            }
            wait_until([&] { return t.listed; });
            const auto locked = clock::now();
            {
                const gathered writes{corked_};
                start_unlock(t);
            }
            wait_until([&] { return t.done; });
            times.push_back({locked - begin, clock::now() - begin});
        }
        return times;
    }

    std::vector<clock::duration> reads(int count) override
    {
        std::vector<clock::duration> times;
        turn t{this};
        for (int i = 0; i != count; ++i) {
            const auto begin = clock::now();
            t.done = false;
            check(zoo_aexists(handle_, "/", 0, &on_stat, &t));
            wait_until([&] { return t.done; });
            times.push_back(clock::now() - begin);
        }
        return times;
    }

    // Each of those in flight goes on as soon as its answer has come.
    long many(const std::string& prefix, int locks, int in_flight,
              std::chrono::milliseconds time) override
    {
        std::vector<std::string> paths;
        for (int i = 0; i != locks; ++i) {
            paths.push_back(prefix + '/' + std::to_string(i));
        }
        if (prefix != made_) {
            make_directories(paths);
            made_ = prefix;
        }
        std::deque<turn> turns;
        std::size_t last = 0;
        const auto begin_next = [&](turn& t) {
            t.directory = paths[last++ % paths.size()];
            t.prefix = prefix_in(t.directory);
            start_lock(t);
        };
        const auto end = clock::now() + time;
        {
            const gathered writes{corked_};
            for (int i = 0; i != in_flight; ++i) {
                begin_next(turns.emplace_back(turn{this}));
            }
        }
        long granted = 0;
        for (int left = in_flight; left != 0;) {
            step(std::chrono::seconds{1});
            check(failed_);
            const gathered writes{corked_};
            for (auto& t : turns) {
                if (t.listed) {
                    t.listed = false;
                    granted += clock::now() < end ? 1 : 0;
                    start_unlock(t);
                } else if (t.done) {
                    t.done = false;
                    if (clock::now() < end) {
                        begin_next(t);
                    } else {
                        --left;
                    }
                }
            }
        }
        return granted;
    }

private:
    struct turn {
        raw_system* self;
        std::string directory = {};
        std::string prefix = {};
        std::string node = {};
        bool listed = false; // or counted
        bool done = false;
        // Of a transaction.
        std::array<char, 256> created = {};
        Stat stat = {};
        std::array<zoo_op_result_t, 2> results = {};
    };

    // A name of the same length as colock's.
    static std::string prefix_in(const std::string& directory)
    {
        return directory + "/_c_00000000-0000-0000-0000-000000000000-lock-";
    }

    void start_lock(turn& t)
    {
        const auto& data = colock::default_owner_data();
        t.listed = false;
        if (tuned_) {
            std::array<zoo_op_t, 2> ops;
            zoo_create_op_init(&ops[0], t.prefix.c_str(), data.data(),
                               static_cast<int>(data.size()), &ZOO_OPEN_ACL_UNSAFE,
                               ZOO_EPHEMERAL_SEQUENTIAL, t.created.data(),
                               static_cast<int>(t.created.size()));
            zoo_set_op_init(&ops[1], t.directory.c_str(), "", 0, -1, &t.stat);
            check(zoo_amulti(handle_, 2, ops.data(), t.results.data(), &on_multi, &t));
            return;
        }
        check(zoo_acreate2(handle_, t.prefix.c_str(), data.data(), static_cast<int>(data.size()),
                           &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, &on_create, &t));
        check(zoo_aget_children2(handle_, t.directory.c_str(), 0, &on_list, &t));
    }

    void start_unlock(turn& t)
    {
        t.done = false;
        check(zoo_adelete(handle_, t.node.c_str(), -1, &on_done, &t));
    }

    void make_directory(const std::string& path)
    {
        if (path != made_) {
            make_directories({path});
            made_ = path;
        }
    }

    // Each missing level of each path, in order; those that exist stay.
    void make_directories(const std::vector<std::string>& paths)
    {
        turn t{this};
        for (const auto& path : paths) {
            for (auto slash = path.find('/', 1); slash != std::string::npos;
                 slash = path.find('/', slash + 1)) {
                make(t, path.substr(0, slash));
            }
            make(t, path);
        }
        t.done = false;
        check(zoo_async(handle_, "/", &on_string, &t)); // behind them
        wait_until([&] { return t.done; });
    }

    // Not a container: the server would remove it while nothing is measured.
    void make(turn& t, const std::string& path)
    {
        check(zoo_acreate2(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT,
                           &on_made, &t));
    }

    // Waits so long at most.
    void step(std::chrono::milliseconds limit)
    {
        int descriptor = -1;
        int interest = 0;
        timeval timeout{};
        check(zookeeper_interest(handle_, &descriptor, &interest, &timeout));
        corked_ = tuned_ ? descriptor : -1;
        pollfd waited{descriptor,
                      static_cast<short>(((interest & ZOOKEEPER_READ) != 0 ? POLLIN : 0) |
                                         ((interest & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0)),
                      0};
        const auto own = timeout.tv_sec * 1000 + timeout.tv_usec / 1000;
        ::poll(&waited, 1, static_cast<int>(std::min<long>(own, limit.count())));
        const int events = ((waited.revents & (POLLIN | POLLHUP)) != 0 ? ZOOKEEPER_READ : 0) |
                           ((waited.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0);
        const int rc = zookeeper_process(handle_, events);
        if (rc != ZNOTHING) {
            check(rc);
        }
    }

    template <class Condition>
    void wait_until(Condition condition)
    {
        while (!condition()) {
            step(std::chrono::seconds{1});
        }
        check(failed_);
    }

    static void check(int rc)
    {
        if (rc != ZOK) {
            throw std::runtime_error{std::string{"raw: "} + zerror(rc)};
        }
    }

    static turn& of(const void* data) { return *static_cast<turn*>(const_cast<void*>(data)); }
    static void note(int rc, const void* data)
    {
        if (rc != ZOK) {
            of(data).self->failed_ = rc;
        }
    }

    static void ignore(zhandle_t*, int, int, const char*, void*) {}
    static void on_create(int rc, const char* path, const Stat*, const void* data)
    {
        note(rc, data);
        if (rc == ZOK) {
            of(data).node = path;
        }
    }
    static void on_multi(int rc, const void* data)
    {
        auto& t = of(data);
        note(rc == ZOK && t.stat.numChildren != 1 ? ZSYSTEMERROR : rc,
             data); // somebody else is there
        t.node = t.created.data();
        t.listed = true;
    }
    static void on_list(int rc, const String_vector*, const Stat*, const void* data)
    {
        note(rc, data);
        of(data).listed = true;
    }
    static void on_done(int rc, const void* data)
    {
        note(rc, data);
        of(data).done = true;
    }
    static void on_stat(int rc, const Stat*, const void* data) { on_done(rc, data); }
    static void on_string(int rc, const char*, const void* data) { on_done(rc, data); }
    static void on_made(int rc, const char*, const Stat*, const void* data)
    {
        note(rc == ZNODEEXISTS ? ZOK : rc, data);
    }

    const bool tuned_;
    zhandle_t* handle_ = nullptr;
    int corked_ = -1; // the descriptor, if its writes are gathered
    std::string made_;
    int failed_ = ZOK;
};

} // namespace

std::unique_ptr<own_system> make_raw(const std::string& hosts, std::chrono::milliseconds timeout)
{
    return std::make_unique<raw_system>(hosts, timeout, false);
}

std::unique_ptr<own_system> make_raw_tuned(const std::string& hosts,
                                           std::chrono::milliseconds timeout)
{
    return std::make_unique<raw_system>(hosts, timeout, true);
}

} // namespace bench
