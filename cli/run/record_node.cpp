#include "run/record_node.hpp"

#include <colock/diagnostics.hpp>

#include "connect/awaiting.hpp"
#include "program/failure.hpp"

#include <algorithm>
#include <utility>

namespace colock::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto between_attempts = 100ms;

servers_time at(std::int64_t since_1970)
{
    return servers_time{std::chrono::milliseconds{since_1970}};
}

// Another attempt may succeed, or the lock is lost soon.
bool passes(const error_code& ec)
{
    return ec == condition::unavailable || ec == condition::outcome_unknown ||
           ec == condition::lock_lost;
}

} // namespace

// Nothing when it is gone.
asio::awaitable<std::optional<node_stat>> record_node::own_node(const holding& held)
{
    while (!held.loss_reason()) {
        diagnostics why;
        const auto [ec, stat] =
            co_await zk_.async_exists(held.node(), bind_diagnostics(why, no_throw));
        if (!ec) {
            co_return stat;
        }
        if (!passes(ec)) {
            throw failure_of(ec, why.message());
        }
        co_await pause(between_attempts);
    }
    co_return std::nullopt;
}

asio::awaitable<record_node::found> record_node::read()
{
    for (;;) {
        diagnostics why;
        const auto [ec, got] = co_await zk_.async_get(path_, bind_diagnostics(why, no_throw));
        if (!ec) {
            found f{record_in(got.data), got.stat.version, got.data, at(got.stat.mtime)};
            if (!f.record) {
                throw failure{refused, path_ + " is no record of `colock run`; give the job "
                                               "another lock, or delete that node"};
            }
            co_return f;
        }
        if (ec == zookeeper_errc::no_node || ec == condition::lock_lost) {
            co_return found{};
        }
        if (!passes(ec)) {
            throw failure_of(ec, why.message());
        }
        co_await pause(between_attempts);
    }
}

// Nothing when what was found is not there any more, or the answer was lost, or the lock is.
asio::awaitable<std::optional<node_stat>> record_node::write(const holding& held, const found& over,
                                                             std::string text)
{
    diagnostics why;
    create_options how;
    how.acl = list_;
    auto step = over.version ? set_op(path_, std::move(text), *over.version)
                             : create_op(path_, std::move(text), how);
    const auto [ec, results] =
        co_await zk_.async_multi(held.guarded(std::move(step)), bind_diagnostics(why, no_throw));
    if (!ec) {
        co_return results.back().stat;
    }
    if (!passes(ec) && ec != zookeeper_errc::no_node && ec != zookeeper_errc::node_exists &&
        ec != zookeeper_errc::bad_version) {
        throw failure_of(ec, why.message());
    }
    co_await pause(between_attempts);
    co_return std::nullopt;
}

asio::awaitable<record_node::verdict> record_node::begin(const holding& held,
                                                         const job_terms& terms)
{
    const auto own = co_await own_node(held);
    if (own) {
        const auto before = std::chrono::duration_cast<std::chrono::milliseconds>(waited_before_);
        joined_ = joined_.value_or(at(own->ctime) - before);
    }
    const auto token = held.token();
    std::optional<servers_time> now; // in a reply to a write
    bool was_set_back = false;       // the servers' clock: what is to come in the record never ends
    while (own && !held.loss_reason()) {
        const auto last = co_await read();
        const bool is_own = last.record && not_started_.contains(last.record->by);
        auto decided =
            decide(terms, last.record, *joined_, at(own->ctime), is_own ? last.record->by : token);
        if (auto* const done = std::get_if<has_run>(&decided)) {
            co_return *done;
        }
        const bool may_hold_back =
            last.record && !is_own && last.record->not_before > at(own->ctime);
        if (!now && (may_hold_back || terms.hold_at_least)) {
            const auto same = last.version ? last.text : text_of(run_record{});
            const auto stat = co_await write(held, last, same);
            if (stat && last.version) { // that of a new node has no time
                now = at(stat->mtime);
                was_set_back = was_set_back || *now < last.changed;
            }
            continue;
        }
        if (may_hold_back && !was_set_back && last.record->not_before > *now) {
            constexpr std::chrono::milliseconds longest = 24h * 10'000; // of a record that is wrong
            co_return held_back{std::min(longest, last.record->not_before - *now)};
        }
        auto& s = std::get<starts>(decided);
        s.record.by = token;
        if (terms.hold_at_least) {
            s.record.not_before = *now + *terms.hold_at_least;
        }
        not_started_.insert(token); // before the answer, which may never come
        if (co_await write(held, last, text_of(s.record))) {
            written_ = s.record;
            has_end_ = terms.once_per.has_value();
            co_return started{std::move(s.warning)};
        }
        now.reset();
    }
    co_return lost{};
}

asio::awaitable<bool> record_node::end(const holding& held, bool success)
{
    written_.ended = success ? run_record::result::success : run_record::result::failure;
    written_.failed += success ? 0 : 1;
    while (has_end_) {
        if (held.loss_reason()) {
            co_return false;
        }
        const auto last = co_await read();
        if (!last.record || last.record->by != written_.by) {
            co_return false;
        }
        if (last.record->ended == written_.ended || co_await write(held, last, text_of(written_))) {
            break;
        }
    }
    co_return true;
}

} // namespace colock::cli
