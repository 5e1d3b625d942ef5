#include "workloads.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

// What a session asks for is carried out in the order in which it was asked, also when the connection breaks in between.
class burst : public std::enable_shared_from_this<burst> {
public:
    burst(customer::ptr me, std::string path, int tried)
        : me_{std::move(me)}, path_{std::move(path)}, tried_{tried}
    {
    }

    void write()
    {
        const auto at = begin(++tried_);
        me_->zk->async_set(path_, std::to_string(tried_), colock::any_version,
                           me_->counted("async_set", [self = shared_from_this(),
                                                      at](colock::error_code ec, const auto& stat) {
                               self->all_[at].seen = ec ? 0 : stat.version;
                               self->ended("async_set", ec);
                           }));
    }
    void read()
    {
        const auto at = begin(0);
        me_->zk->async_get(path_,
                           me_->counted("async_get", [self = shared_from_this(),
                                                      at](colock::error_code ec, const auto& got) {
                               self->all_[at].seen = ec ? none : std::stoi(got.data);
                               self->ended("async_get", ec);
                           }));
    }

    [[nodiscard]] bool is_over() const noexcept { return ended_ == all_.size(); }
    [[nodiscard]] int tried() const noexcept { return tried_; }

    // A write whose outcome is unknown may have been carried out before a read that is repeated.
    void look() const
    {
        int least = 0; // that is there
        int version = 0;
        for (auto each = all_.begin(); each != all_.end(); ++each) {
            if (each->written == 0 && each->seen != none) {
                const auto later = std::find_if(each, all_.end(), [](const request& r) {
                    return r.written != 0 && r.seen != 0;
                });
                if (each->seen < least || (later != all_.end() && each->seen >= later->written)) {
                    report(
                        "reads " + std::to_string(each->seen) + " behind " + std::to_string(least) +
                        (later == all_.end() ? "" : ", before " + std::to_string(later->written)));
                }
            } else if (each->written != 0 && each->seen != 0) {
                if (each->seen < version) {
                    report("has its writes carried out in another order");
                }
                version = each->seen;
                least = each->written;
            }
        }
    }

private:
    static constexpr int none = -1;
    struct request {
        int written; // zero: it reads
        int seen;    // the version, zero: unknown; or the value that is read
    };

    std::size_t begin(int written)
    {
        all_.push_back({written, written == 0 ? none : 0});
        return all_.size() - 1;
    }
    void ended(const char* what, colock::error_code ec)
    {
        ++ended_;
        if (ec) {
            me_->ended(what, ec);
        }
    }
    void report(const std::string& seen) const
    {
        me_->all.found.add("own order", me_->all.journal.name_of(me_->who) + " " + seen);
    }

    customer::ptr me_;
    std::string path_;
    int tried_;
    std::vector<request> all_;
    std::size_t ended_ = 0;
};

} // namespace

// A counter that only this coroutine writes, in a node of its own: what it reads is never older than what it has
// written.
asio::awaitable<void> nodes(customer::ptr me, random chance)
{
    const auto name = "/own-" + me->all.journal.name_of(me->who) + "-" +
                      std::to_string(chance.below(1'000'000'000));
    const auto path = me->path(me->all.chroot + name);
    {
        if (!me->zk) {
            co_return;
        }
        auto [ec, made] = co_await me->zk->async_create(path, "0", colock::create_mode::persistent,
                                                        me->tuple("async_create"));
        if (ec && ec != colock::zookeeper_errc::node_exists && !colock::outcome_unknown(ec)) {
            me->ended("async_create", ec);
            co_return;
        }
    }
    int confirmed = 0; // at least that is there
    int tried = 0;     // and at most that
    // A session that was called expired may live, and what it wrote last may come late: after what the next one has written.
    int unanswered = 0;
    std::int64_t its_session = 0;
    while (!me->is_over()) {
        co_await me->pause(0ns, 500ms);
        if (me->is_over()) {
            break;
        }
        if (me->all.rare == rarity::writes) {
            const auto b = std::make_shared<burst>(me, path, tried);
            for (auto left = chance.between(2, 6); left > 0 && !me->is_over(); --left) {
                if (chance.per_mille(500)) {
                    b->write();
                } else {
                    b->read();
                }
                if (chance.per_mille(300)) {
                    co_await me->pause(0ns, 100ms);
                }
            }
            while (!b->is_over()) {
                co_await me->pause(1ms, 10ms);
            }
            b->look();
            tried = b->tried();
            continue;
        }
        if (chance.per_mille(500)) {
            ++tried;
            const auto session = me->zk->session_id();
            auto [ec, stat] = co_await me->zk->async_set(
                path, std::to_string(tried), colock::any_version, me->tuple("async_set"));
            if (!ec) {
                confirmed = tried;
            } else {
                if (colock::outcome_unknown(ec)) {
                    unanswered = tried;
                    its_session = session;
                }
                me->ended("async_set", ec);
            }
        } else {
            canceller stop{*me, chance};
            stop.perhaps(200);
            auto [ec, seen] =
                co_await me->zk->async_watch(path, me->tuple("async_watch", stop.slot()));
            if (ec) {
                me->ended("async_watch", ec);
                if (ec == colock::zookeeper_errc::connection_loss) {
                    me->all.found.add("own reads", me->all.journal.name_of(me->who) +
                                                       " hears of a lost connection, though a "
                                                       "read is repeated");
                }
                co_await me->pause(1ms, 20ms);
                continue;
            }
            const int value = std::stoi(seen.value.data);
            const bool is_late = value == unanswered && me->zk->session_id() != its_session;
            if ((value < confirmed && !is_late) || value > tried) {
                me->all.found.add("own reads", me->all.journal.name_of(me->who) + " reads " +
                                                   seen.value.data + " behind " +
                                                   std::to_string(confirmed));
            }
            if (seen.value.stat.version > tried) {
                me->all.found.add("own writes", me->all.journal.name_of(me->who) + " has written " +
                                                    std::to_string(tried) +
                                                    " times at most, and is at version " +
                                                    std::to_string(seen.value.stat.version));
            }
            if (chance.per_mille(300)) {
                canceller enough{*me, chance};
                enough.after(chance.between(0ms, 1s), asio::cancellation_type::terminal);
                auto [over, event] =
                    co_await seen.changes.async_wait(me->tuple("async_wait", enough.slot()));
                if (over) {
                    me->ended("async_wait", over);
                }
            }
        }
    }
}

} // namespace world::workload
