#include "recipes/shards/work.hpp"

#include <colock/detail/body_reports.hpp>

#include "names/contender_name.hpp"
#include "report/boot_clock.hpp"
#include "session/growing_pause.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace colock::detail {

namespace {

constexpr std::chrono::milliseconds first_pause{200};
constexpr std::chrono::seconds longest_pause{30};

// Of what a turn has thrown; none when it is no system_error.
error_code code_of(const std::exception_ptr& e)
{
    try {
        std::rethrow_exception(e);
    } catch (const boost::system::system_error& known) {
        return known.code();
    } catch (...) {
        return {};
    }
}

std::string text_of(const std::exception_ptr& e)
{
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

} // namespace

shard_work::part::part(const asio::any_io_executor& client, const asio::any_io_executor& bodies)
    : strand{asio::make_strand(bodies)}, timer{client}
{
}

shard_work::shard_work(std::shared_ptr<client_core> core,
                       std::shared_ptr<const shards_config> config,
                       std::shared_ptr<shard_bodies> bodies, std::vector<shard_index> refused,
                       std::weak_ptr<const void> owner, std::function<void(event)> tell)
    : strand_object{std::move(core)}, config_{std::move(config)}, bodies_{std::move(bodies)},
      owner_{std::move(owner)}, tell_{std::move(tell)},
      machine_{config_->name, config_->shards.size(), static_cast<bool>(config_->options.prepare)},
      refused_{std::move(refused)}
{
}

shard_work::part& shard_work::at(shard_index shard)
{
    auto& found = parts_[shard];
    if (!found) {
        found = std::make_shared<part>(core_->strand(), bodies_->executor());
    }
    return *found;
}

template <class Input>
void shard_work::feed(Input&& input)
{
    const auto self = shared_from_this();
    input(machine_, runner_.decided());
    if (!runner_.run([this](const command& c) { perform(c); })) {
        return;
    }
    const bool is_idle = machine_.is_idle();
    if (std::exchange(is_idle_, is_idle) != is_idle && is_idle) {
        tell_({event::kind::idle});
    }
}

void shard_work::assigned(protocol::shard_owners owners, bool confirmed)
{
    for (const auto shard : refused_) {
        if (owners[shard] == config_->name) {
            owners[shard].clear(); // the leader has still to hear of it
        }
    }
    feed([&](auto& m, auto& out) { m.assigned(owners, confirmed, out); });
}

void shard_work::stop()
{
    stopped_ = true;
    is_idle_ = false;
    feed([](auto& m, auto& out) { m.stop(out); });
}

void shard_work::perform(const command& c)
{
    using kind = command::kind;
    switch (c.type) {
    case kind::look: look(c.shard); break;
    case kind::prepare: prepare(c.shard); break;
    case kind::stop_preparing: stop_preparing(c.shard); break;
    case kind::lock: take(c.shard, false); break;
    case kind::lock_first: take(c.shard, true); break;
    case kind::end: end(c.shard); break;
    case kind::watch: watch_queue(c.shard); break;
    case kind::unwatch: {
        auto& p = at(c.shard);
        p.watches = false;
        p.queue = {};
        break;
    }
    case kind::confirm: tell_({event::kind::confirm}); break;
    }
}

// ---- taking a shard

void shard_work::look(shard_index shard)
{
    client_->async_children(lock_path_of(config_->paths, config_->shards[shard]),
                            on_strand<children_result>([this, shard, asked = boot_clock::now()](
                                                           const error_code&, children_result&& r) {
                                // What cannot be read is found out when it is locked.
                                const bool is_free =
                                    protocol::contenders(curator_layout(), r.names).empty();
                                at(shard).free = is_free ? asked : asked.zero();
                                feed([&](auto& m, auto& out) { m.looked(shard, is_free, out); });
                            }));
}

void shard_work::prepare(shard_index shard)
{
    auto& p = at(shard);
    p.preparing = std::make_shared<preparation>(config_, shard, bodies_->executor());
    p.preparing->start(
        [weak = weak_from_this(), shard](const std::exception_ptr& e) {
            if (const auto self = weak.lock()) {
                self->core_->post(
                    [self, owner = self->owner_.lock(), shard, e] { self->prepared(shard, e); });
            }
        },
        owner_.lock());
}

void shard_work::prepared(shard_index shard, const std::exception_ptr& e)
{
    if (e && !stopped_) {
        const auto pause = body_over(shard, e);
        ended_after(shard, machine_.wants(shard) ? pause : pause.zero());
    } else {
        feed([&](auto& m, auto& out) { m.prepared(shard, out); });
    }
}

void shard_work::stop_preparing(shard_index shard)
{
    auto& p = at(shard);
    if (p.is_pausing) { // since it has thrown
        end_pause(shard);
    } else {
        p.preparing->stop();
    }
}

void shard_work::take(shard_index shard, bool prepares)
{
    auto& p = at(shard);
    const auto& o = config_->options;
    const auto turn = ++p.turn;
    p.runs = true;
    p.since.reset();
    p.stopped.reset();
    const auto self = shared_from_this();
    const auto each = std::make_shared<shard_bodies::turn>();
    each->shard = config_->shards[shard];
    if (prepares) {
        each->prepare = [self, shard] {
            return preparation::within(
                std::make_shared<preparation>(self->config_, shard, self->bodies_->executor()));
        };
    }
    each->began = [self, shard, turn, free = p.free] {
        const auto now = boot_clock::now();
        self->core_->count.shards.taken.fetch_add(1, std::memory_order_relaxed);
        if (auto* const to = self->core_->telemetry()) {
            to->began(
                {.what = self->info_of(shard), .gap = free == free.zero() ? free : now - free});
        }
        self->core_->post([self, shard, turn, now] {
            auto& of = self->at(shard);
            if (of.turn == turn && of.runs) {
                of.since = now;
                self->feed([&](auto& m, auto&) { m.began(shard); });
            }
        });
    };
    each->ended = [self, owner = owner_.lock(), shard, raw = each.get()](std::exception_ptr e) {
        self->core_->post([self, owner, shard, e = std::move(e), threw = raw->body_threw] {
            self->turn_over(shard, e, threw);
        });
    };
    mutex lock{*client_, lock_path_of(config_->paths, config_->shards[shard]),
               lock_options{.acl = o.acl,
                            .owner_data = config_->name,
                            .safety_margin = o.safety_margin,
                            .body_grace = o.body_grace}};
    asio::dispatch(p.strand, [self, of = parts_[shard], each, lock = std::move(lock)]() mutable {
        self->bodies_->start(std::move(lock), each, of->strand, of->stop.slot());
    });
}

// ---- the end of a turn

void shard_work::end(shard_index shard)
{
    auto& p = at(shard);
    if (!p.runs) { // it pauses before it is taken again
        end_pause(shard);
        return;
    }
    p.stopped = boot_clock::now();
    asio::dispatch(p.strand,
                   [of = parts_[shard]] { of->stop.emit(asio::cancellation_type::terminal); });
}

void shard_work::end_pause(shard_index shard)
{
    auto& p = at(shard);
    p.is_pausing = false;
    p.timer.cancel();
    feed([&](auto& m, auto& out) { m.ended(shard, out); });
}

shard_info shard_work::info_of(shard_index shard) const
{
    return {.path = config_->path, .index = shard, .name = config_->shards[shard].name};
}

void shard_work::report_end(shard_index shard, bool lost)
{
    auto& p = at(shard);
    if (!p.since) {
        return;
    }
    const auto now = boot_clock::now();
    auto& ends = lost ? core_->count.shards.lost : core_->count.shards.given_up;
    ends.fetch_add(1, std::memory_order_relaxed);
    if (auto* const to = core_->telemetry()) {
        to->ended({.what = info_of(shard),
                   .owned = now - *p.since,
                   .lost = lost,
                   .gap = p.stopped && !lost ? now - *p.stopped : std::chrono::nanoseconds{0}});
    }
    if (now - *p.since > longest_pause) {
        p.restarts = 0;
    }
}

void shard_work::turn_over(shard_index shard, std::exception_ptr e, bool body_threw)
{
    auto& p = at(shard);
    p.runs = false;
    const auto ec = e ? code_of(e) : error_code{};
    const bool lost = ec == condition::lock_lost && !body_threw;
    report_end(shard, lost);
    if (p.stopped || stopped_) {
        if (body_threw && !comes_of_cancellation(e) && !stopped_) {
            body_over(shard, e); // it was told to end, and has thrown something of its own
        }
        feed([&](auto& m, auto& out) { m.ended(shard, out); });
    } else if (lost) {
        p.is_pausing = true;
        p.pace.after_event(*core_, [self = shared_from_this(), shard, turn = p.turn] {
            auto& of = self->at(shard);
            if (of.turn == turn && std::exchange(of.is_pausing, false)) {
                self->feed([&](auto& m, auto& out) { m.ended(shard, out); });
            }
        });
    } else if (!p.since) {
        feed([&](auto& m, auto& out) { m.ended(shard, out); });
        tell_({event::kind::failed, e});
    } else {
        ended_after(shard, body_over(shard, e));
    }
}

// Returns the pause before the shard is taken again.
std::chrono::nanoseconds shard_work::body_over(shard_index shard, std::exception_ptr e)
{
    if (e) {
        core_->log(log_level::warning, "the shards " + config_->path + ": shard " +
                                           std::to_string(shard) + " has failed: " + text_of(e));
    }
    switch (config_->options.when_body_ends) {
    case body_end::fail: tell_({event::kind::failed, std::move(e)}); break;
    case body_end::restart:
        return protocol::growing_pause(at(shard).restarts++, first_pause, longest_pause, random_);
    case body_end::release: {
        machine_.refuse(shard);
        const auto place = std::ranges::lower_bound(refused_, shard);
        if (place == refused_.end() || *place != shard) {
            refused_.insert(place, shard);
            tell_({event::kind::refused});
        }
        break;
    }
    }
    return std::chrono::nanoseconds{0};
}

// The machine holds the shard until it is told.
void shard_work::ended_after(shard_index shard, std::chrono::nanoseconds pause)
{
    if (pause == pause.zero() || stopped_) {
        feed([&](auto& m, auto& out) { m.ended(shard, out); });
        return;
    }
    auto& p = at(shard);
    p.is_pausing = true;
    p.timer.expires_after(pause);
    p.timer.async_wait(on_strand<>([this, shard, turn = p.turn](const error_code& ec) {
        auto& of = at(shard);
        if (!ec && of.turn == turn && std::exchange(of.is_pausing, false)) {
            feed([&](auto& m, auto& out) { m.ended(shard, out); });
        }
    }));
}

// ---- somebody waits for the lock of a shard that shall be another member's

void shard_work::watch_queue(shard_index shard)
{
    at(shard).watches = true;
    look_at_queue(shard);
}

void shard_work::look_at_queue(shard_index shard)
{
    client_->async_watch_children(
        lock_path_of(config_->paths, config_->shards[shard]),
        on_strand<watched<children_result>>(
            [this, shard](const error_code& ec, watched<children_result>&& r) {
                auto& p = at(shard);
                if (!p.watches) {
                    return;
                }
                if (ec || protocol::contenders(curator_layout(), r.value.names).size() > 1) {
                    p.watches = false;
                    feed([&](auto& m, auto& out) { m.contended(shard, out); });
                    return;
                }
                p.queue = std::move(r.changes);
                p.queue.async_wait(
                    on_strand<watch_event>([this, shard](const error_code& over, watch_event&&) {
                        if (!over) {
                            at(shard).pace.after_event(*core_, [self = shared_from_this(), shard] {
                                if (self->at(shard).watches) {
                                    self->look_at_queue(shard);
                                }
                            });
                        } else if (over != asio::error::operation_aborted && at(shard).watches) {
                            at(shard).watches = false; // it could not be set again
                            feed([&](auto& m, auto& out) { m.contended(shard, out); });
                        }
                    }));
            }));
}

} // namespace colock::detail
