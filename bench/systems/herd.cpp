// Two classic ways to write a lock that wake all who wait at each release: each watches the list of
// contenders, or each watches the one who holds. For comparison; never use them.
#include <colock/client.hpp>

#include "coroutines.hpp"

#include <algorithm>

namespace bench {

namespace {

enum class watched_node { children, holder };

class herd_guard {
public:
    herd_guard() = default;
    herd_guard(colock::client& client, std::string node) : client_{&client}, node_{std::move(node)}
    {
    }

    asio::awaitable<void> async_unlock()
    {
        co_await client_->async_remove(node_, colock::any_version);
    }

private:
    colock::client* client_ = nullptr;
    std::string node_;
};

class herd_mutex {
public:
    herd_mutex(colock::client& client, std::string path, watched_node watched)
        : client_{&client}, path_{std::move(path)}, watched_{watched}
    {
    }

    asio::awaitable<herd_guard> async_lock()
    {
        const auto node = co_await join();
        const auto name = node.substr(path_.size() + 1);
        auto names = (co_await client_->async_children(path_)).names;
        while (lowest(names) != name) {
            if (watched_ == watched_node::children) {
                auto listed = co_await client_->async_watch_children(path_);
                names = std::move(listed.value.names);
                if (lowest(names) != name) {
                    co_await listed.changes.async_wait();
                }
            } else {
                auto holder = co_await client_->async_watch_exists(path_ + '/' + lowest(names));
                if (holder.value) {
                    co_await holder.changes.async_wait();
                }
                names = (co_await client_->async_children(path_)).names;
            }
        }
        co_return herd_guard{*client_, node};
    }

private:
    asio::awaitable<std::string> join()
    {
        if (!exists_) {
            co_await make_directories();
            exists_ = true;
        }
        const auto made = co_await client_->async_create(path_ + "/lock-", "",
                                                         colock::create_mode::ephemeral_sequential);
        co_return made.path;
    }

    asio::awaitable<void> make_directories()
    {
        for (auto slash = path_.find('/', 1);; slash = path_.find('/', slash + 1)) {
            try {
                co_await client_->async_create(path_.substr(0, slash), "",
                                               colock::create_mode::persistent);
            } catch (const boost::system::system_error& e) {
                if (e.code() != colock::zookeeper_errc::node_exists) {
                    throw;
                }
            }
            if (slash == std::string::npos) {
                co_return;
            }
        }
    }

    // All names have the same length, and end in their numbers.
    static const std::string& lowest(const std::vector<std::string>& names)
    {
        return *std::ranges::min_element(names);
    }

    colock::client* client_;
    std::string path_;
    watched_node watched_;
    bool exists_ = false;
};

struct children_mutex : herd_mutex {
    children_mutex(colock::client& client, std::string path)
        : herd_mutex{client, std::move(path), watched_node::children}
    {
    }
};

struct holder_mutex : herd_mutex {
    holder_mutex(colock::client& client, std::string path)
        : herd_mutex{client, std::move(path), watched_node::holder}
    {
    }
};

} // namespace

std::unique_ptr<own_system> make_herd_children(const std::string& hosts,
                                               std::chrono::milliseconds timeout)
{
    return std::make_unique<coroutine_system<children_mutex, herd_guard>>(
        colock::client_options{.hosts = hosts, .session_timeout = timeout});
}

std::unique_ptr<own_system> make_herd_holder(const std::string& hosts,
                                             std::chrono::milliseconds timeout)
{
    return std::make_unique<coroutine_system<holder_mutex, herd_guard>>(
        colock::client_options{.hosts = hosts, .session_timeout = timeout});
}

} // namespace bench
