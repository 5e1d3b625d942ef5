// The limit: ZooKeeper's C client in a poll loop, doing the least that takes and releases a lock.
//
// Create and list are sent back to back, as colock does, and the lock is held when the listing has
// come; nothing checks it, nothing else is looked after. What colock adds is measured against this.
#include <colock/queue_view.hpp>

#include "system.hpp"

#include <zookeeper/zookeeper.h>

#include <poll.h>

#include <stdexcept>

namespace bench {

namespace {

class raw_client final : public lock_client {
public:
    raw_client(const std::string& hosts, const std::string& path) : directory_{path}
    {
        zoo_set_debug_level(static_cast<ZooLogLevel>(0));
        handle_ = zookeeper_init2(hosts.c_str(), &ignore, 10'000, nullptr, nullptr,
                                  ZOO_NO_LOG_CLIENTENV, nullptr);
        if (handle_ == nullptr) {
            throw std::runtime_error{"raw: zookeeper_init failed"};
        }
        // Otherwise it would look up its servers at every step.
        zoo_set_servers_resolution_delay(handle_, -1);
        while (zoo_state(handle_) != ZOO_CONNECTED_STATE) {
            step();
        }
        // Each missing level of the path, in order; those that exist stay.
        for (auto slash = directory_.find('/', 1); slash != std::string::npos;
             slash = directory_.find('/', slash + 1)) {
            make(directory_.substr(0, slash));
        }
        make(directory_);
    }
    raw_client(const raw_client&) = delete;
    raw_client& operator=(const raw_client&) = delete;
    ~raw_client() override { zookeeper_close(handle_); }

    std::vector<cycle_time> cycles(int count) override
    {
        std::vector<cycle_time> times;
        times.reserve(static_cast<std::size_t>(count));
        // A name of the same length as colock's, and the same data.
        const std::string prefix = directory_ + "/_c_00000000-0000-0000-0000-000000000000-lock-";
        const auto& data = colock::default_owner_data();
        for (int i = 0; i != count; ++i) {
            const auto begin = clock::now();
            listed_ = false;
            check(zoo_acreate2(handle_, prefix.c_str(), data.data(), static_cast<int>(data.size()),
                               &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, &on_create, this));
            check(zoo_aget_children2(handle_, directory_.c_str(), 0, &on_list, this));
            wait_for(listed_);
            const auto locked = clock::now();
            done_ = false;
            check(zoo_adelete(handle_, node_.c_str(), -1, &on_done, this));
            wait_for(done_);
            times.push_back({locked - begin, clock::now() - begin});
        }
        return times;
    }

    std::vector<clock::duration> round_trips(int count) override
    {
        std::vector<clock::duration> times;
        for (int i = 0; i != count; ++i) {
            const auto begin = clock::now();
            done_ = false;
            check(zoo_aexists(handle_, "/", 0, &on_stat, this));
            wait_for(done_);
            times.push_back(clock::now() - begin);
        }
        return times;
    }

private:
    void make(const std::string& path)
    {
        done_ = false;
        check(zoo_acreate2(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_CONTAINER,
                           &on_made, this));
        wait_for(done_);
    }

    void step()
    {
        int descriptor = -1;
        int interest = 0;
        timeval timeout{};
        check(zookeeper_interest(handle_, &descriptor, &interest, &timeout));
        pollfd waited{descriptor,
                      static_cast<short>(((interest & ZOOKEEPER_READ) != 0 ? POLLIN : 0) |
                                         ((interest & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0)),
                      0};
        ::poll(&waited, 1, static_cast<int>(timeout.tv_sec * 1000 + timeout.tv_usec / 1000));
        const int events = ((waited.revents & (POLLIN | POLLHUP)) != 0 ? ZOOKEEPER_READ : 0) |
                           ((waited.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0);
        const int rc = zookeeper_process(handle_, events);
        if (rc != ZNOTHING) {
            check(rc);
        }
    }

    void wait_for(const bool& condition)
    {
        while (!condition) {
            step();
        }
        check(failed_);
    }

    static void check(int rc)
    {
        if (rc != ZOK) {
            throw std::runtime_error{std::string{"raw: "} + zerror(rc)};
        }
    }

    static raw_client& self(const void* data)
    {
        return *static_cast<raw_client*>(const_cast<void*>(data));
    }

    static void ignore(zhandle_t*, int, int, const char*, void*) {}
    static void on_create(int rc, const char* path, const Stat*, const void* data)
    {
        if (rc == ZOK) {
            self(data).node_ = path;
        } else {
            self(data).failed_ = rc;
        }
    }
    static void on_list(int rc, const String_vector*, const Stat*, const void* data)
    {
        self(data).failed_ = rc != ZOK ? rc : self(data).failed_;
        self(data).listed_ = true;
    }
    static void on_done(int rc, const void* data)
    {
        self(data).failed_ = rc;
        self(data).done_ = true;
    }
    static void on_stat(int rc, const Stat*, const void* data) { on_done(rc, data); }
    static void on_made(int rc, const char*, const Stat*, const void* data)
    {
        on_done(rc == ZNODEEXISTS ? ZOK : rc, data);
    }

    zhandle_t* handle_ = nullptr;
    std::string directory_;
    std::string node_;
    bool listed_ = false;
    bool done_ = false;
    int failed_ = ZOK;
};

} // namespace

std::unique_ptr<lock_client> make_raw_client(const std::string& hosts, const std::string& path)
{
    return std::make_unique<raw_client>(hosts, path);
}

} // namespace bench
