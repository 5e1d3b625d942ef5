// A mutex as Apache Curator takes it.
#pragma once

#include <colock/client.hpp>

#include "ensemble/random.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::simulated {

// Apache Curator's InterProcessMutex in small: a protected create, then "list, watch the one before".
//
// Caller points to who takes it: its client `zk`, which may be gone; `tuple()`, which makes tokens from the name of an
// operation, and perhaps a cancellation slot; `pause()` between two durations. Limit is made from it, and cancels what it has
// given its slot.
template <class Caller, class Limit>
class curator_mutex {
public:
    curator_mutex(Caller by, std::string directory, random& chance)
        : me_{std::move(by)}, directory_{std::move(directory)}, random_{chance}
    {
    }

    // The own node, once it is the first one; empty when it did not come to that.
    boost::asio::awaitable<std::string> acquire()
    {
        auto name = co_await join();
        while (!name.empty()) {
            if (!me_->zk) {
                co_return std::string{};
            }
            auto [ec, children] =
                co_await me_->zk->async_children(directory_, me_->tuple("peer: list"));
            if (ec) {
                co_await remove(name);
                co_return std::string{};
            }
            const auto before = predecessor(children.names, name);
            // The node goes with its session. A server that lags may still list it.
            if (!before || !is_in_its_session()) {
                name.clear();
            } else if (before->empty()) {
                break;
            } else if (!co_await wait_for(directory_ + "/" + *before)) {
                co_await remove(name);
                name.clear();
            }
        }
        co_return name;
    }

    boost::asio::awaitable<void> remove(std::string name)
    {
        while (me_->zk) {
            auto [ec] = co_await me_->zk->async_remove(directory_ + "/" + name, colock::any_version,
                                                       me_->tuple("peer: remove"));
            if (ec == colock::zookeeper_errc::throttled_op) {
                co_await me_->pause(std::chrono::milliseconds{1}, std::chrono::milliseconds{20});
            } else if (!colock::outcome_unknown(ec) || ec == colock::errc::session_expired) {
                break;
            }
        }
    }

private:
    [[nodiscard]] bool is_in_its_session() const
    {
        return me_->zk && me_->zk->session_id() == session_;
    }

    boost::asio::awaitable<std::string> join()
    {
        const auto prefix = "_c_" + guid() + "-lock-";
        while (me_->zk) {
            auto [ec, made] = co_await me_->zk->async_create(
                directory_ + "/" + prefix, "peer", colock::create_mode::ephemeral_sequential,
                me_->tuple("peer: create"));
            if (!ec) {
                session_ =
                    made.stat
                        .ephemeral_owner; // the client's next one, if the create waited for long
                co_return made.path.substr(directory_.size() + 1);
            }
            if (ec == colock::zookeeper_errc::throttled_op) {
                co_await me_->pause(std::chrono::milliseconds{1}, std::chrono::milliseconds{20});
                continue;
            }
            if (ec == colock::zookeeper_errc::no_node) {
                if (!me_->zk) {
                    break;
                }
                auto [failed, directory] = co_await me_->zk->async_create(
                    directory_, {}, colock::create_mode::container, me_->tuple("peer: mkdir"));
                if (failed && failed != colock::zookeeper_errc::node_exists &&
                    failed != colock::zookeeper_errc::throttled_op) {
                    break;
                }
                continue;
            }
            if (!colock::outcome_unknown(ec) || !me_->zk) {
                break;
            }
            // It may be there: the guid tells.
            auto [lost, children] =
                co_await me_->zk->async_children(directory_, me_->tuple("peer: find"));
            if (lost) {
                break;
            }
            const auto found = std::ranges::find_if(
                children.names, [&](const std::string& n) { return n.starts_with(prefix); });
            if (found == children.names.end() || !me_->zk) {
                continue;
            }
            auto [unseen, stat] = co_await me_->zk->async_exists(directory_ + "/" + *found,
                                                                 me_->tuple("peer: whose"));
            if (unseen) {
                break;
            }
            if (stat) {
                session_ = stat->ephemeral_owner;
                co_return *found;
            }
        }
        co_return std::string{};
    }

    // The one right before; empty when there is none, nothing when the own one is not there.
    static std::optional<std::string> predecessor(const std::vector<std::string>& names,
                                                  const std::string& own)
    {
        const auto number = [](const std::string& n) { return n.substr(n.size() - 10); };
        bool there = false;
        std::string nearest;
        for (const auto& n : names) {
            there = there || n == own;
            if (n.size() > 15 && n.find("lock-") == n.size() - 15 && number(n) < number(own) &&
                (nearest.empty() || number(n) > number(nearest))) {
                nearest = n;
            }
        }
        if (!there) {
            return std::nullopt;
        }
        return nearest;
    }

    boost::asio::awaitable<bool> wait_for(std::string node)
    {
        auto [ec, seen] = co_await me_->zk->async_watch(node, me_->tuple("peer: watch"));
        if (ec) {
            co_return ec == colock::zookeeper_errc::no_node;
        }
        // Curator's watches end with the session. Ours are set again in the next one, where this node matters no more.
        while (is_in_its_session()) {
            Limit stop{*me_, random_};
            stop.after(std::chrono::seconds{1}, boost::asio::cancellation_type::terminal);
            auto [over, event] =
                co_await seen.changes.async_wait(me_->tuple("peer: wait", stop.slot()));
            if (over != boost::asio::error::operation_aborted) {
                co_return !over;
            }
        }
        co_return true;
    }

    std::string guid()
    {
        const auto high = random_();
        const auto low = random_();
        char text[40];
        std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx",
                      static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                      static_cast<unsigned>(high & 0xffff), static_cast<unsigned>(low >> 48),
                      static_cast<unsigned long long>(low & 0xffffffffffff));
        return text;
    }

    Caller me_;
    std::string directory_;
    random& random_;
    std::int64_t session_ = 0; // in which the node was created
};

} // namespace colock::simulated
