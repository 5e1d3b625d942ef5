#include "recipes/shards/run.hpp"

#include "names/shown.hpp"
#include "recipes/shards/definition_watch.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <optional>

namespace colock::detail {

using namespace std::chrono_literals;

namespace {

// The next read tells whether the write has to be repeated.
bool may_be_repeated(const error_code& ec)
{
    return is_retryable(ec) || outcome_unknown(ec);
}

// What a member that has all shards takes of its session.
std::size_t most_room(client_core& core, const shards_config& c)
{
    const auto room_below = [&](const std::string& directory, const char* marker) {
        return core.room_for_node(directory + "/_c_" + std::string(36, '0') + marker, true);
    };
    auto room = core.room_for_node(c.paths.members + '/' + c.name, false) +
                room_below(c.paths.use, "-__READ__") + room_below(c.paths.leader, "-latch-");
    for (const auto& each : c.shards) {
        room += room_below(lock_path_of(c.paths, each), "-lock-");
    }
    return room;
}

} // namespace

shards_run::shards_run(std::shared_ptr<client_core> core, std::shared_ptr<shards_in_client> place,
                       std::shared_ptr<const shards_config> config,
                       std::shared_ptr<shard_bodies> bodies, operation_ptr<std::exception_ptr> op)
    : strand_object{std::move(core)}, place_{std::move(place)}, config_{std::move(config)},
      bodies_{std::move(bodies)}, op_{std::move(op)}, entry_{config_->options.redefine},
      limit_{core_->strand()}
{
}

template <class... Results, class Then>
auto shards_run::step(Then then)
{
    return asio::bind_cancellation_slot(
        step_.slot(), on_strand<Results...>([this, then = std::move(then)](
                                                const error_code& ec, Results... results) mutable {
            if (stage_ == stage::over) {
                depart();
            } else {
                then(ec, std::move(results)...);
            }
        }));
}

template <class Then>
void shards_run::after_pause(Then then)
{
    pace_.after_event(*core_, [self = shared_from_this(), then = std::move(then)] {
        if (self->stage_ == stage::over) {
            self->depart();
        } else {
            then();
        }
    });
}

template <class... Results, class Then>
auto shards_run::while_at_work(Then then)
{
    return on_strand<Results...>([this, work = work_, then = std::move(then)](
                                     const error_code& ec, Results... results) mutable {
        if (work == work_) {
            then(ec, std::move(results)...);
        }
    });
}

auto shards_run::if_at_work(void (shards_run::*then)())
{
    return [self = shared_from_this(), work = work_, then] {
        if (work == self->work_) {
            ((*self).*then)();
        }
    };
}

void shards_run::start()
{
    if (const auto link = op_.cancellation()) {
        link->bind([raw = this](asio::cancellation_type) { raw->cancel(); });
    }
    const auto room = most_room(*core_, *config_);
    if (const auto most = core_->options().max_session_size; room > most) {
        refuse(
            errc::session_full,
            std::to_string(config_->shards.size()) + " shards take " + std::to_string(room) +
                " bytes of a session, which may have " + std::to_string(most) +
                " (client_options::max_session_size); one member must be able to have all of them");
    } else {
        go_on(entry_.begin());
    }
}

// ---- becoming a member

shared_mutex shards_run::use()
{
    return {*client_, config_->paths.use,
            lock_options{.acl = config_->options.acl, .owner_data = config_->name}};
}

void shards_run::go_on(entry::command c)
{
    using command = entry::command;
    switch (c) {
    case command::share:
        using_ = {};
        after_pause([this] { share(); });
        break;
    case command::alone:
        using_ = {};
        lock_alone();
        break;
    case command::read: read_definition(); break;
    case command::create: create_definition(); break;
    case command::replace: break; // lock_alone() has the guard
    case command::enter: join(); break;
    case command::leave:
        if (work_) { // else join() sees it
            stop_work();
        }
        break;
    case command::refuse: refuse_definition(); break;
    }
}

void shards_run::share()
{
    use().async_lock_shared(step<shared_lock>([this](const error_code& ec, shared_lock held) {
        if (ec && ec != condition::lock_lost) {
            fail(ec, "the shards " + config_->paths.use);
            return;
        }
        using_ = std::move(held);
        const bool is_held{using_};
        if (is_held) {
            using_.async_wait_lost(
                on_strand<error_code>([this](const error_code& stopped, const error_code&) {
                    if (const auto next = stopped ? std::nullopt : entry_.lost()) {
                        go_on(*next);
                    }
                }));
        }
        go_on(entry_.granted(is_held));
    }));
}

// A process that asks late stands after members of the new definition, which stay.
void shards_run::lock_alone()
{
    const auto late = std::make_shared<definition_watch>(
        core_, config_, [this] { step_.emit(asio::cancellation_type::terminal); });
    late->look();
    use().async_lock(step<unique_lock>([this, late](const error_code& ec, unique_lock held) {
        if (ec && ec != condition::lock_lost && !late->has_called()) {
            fail(ec, "the shards " + config_->paths.use);
        } else if (const auto next = entry_.granted(static_cast<bool>(held));
                   next == entry::command::replace) {
            replace(std::move(held));
        } else {
            go_on(next);
        }
    }));
}

void shards_run::replace(unique_lock held)
{
    auto steps = held.guarded(set_op(config_->paths.definition, definition_of(config_->options)));
    client_->async_multi(std::move(steps),
                         step<std::vector<transaction_result>>(
                             [this, held = std::move(held)](const error_code& ec,
                                                            std::vector<transaction_result>&&) {
                                 if (ec && !may_be_repeated(ec) && ec != zookeeper_errc::no_node) {
                                     fail(ec, config_->paths.definition);
                                 } else {
                                     go_on(entry_.written());
                                 }
                             }));
}

void shards_run::read_definition()
{
    client_->async_get(config_->paths.definition,
                       step<get_result>([this](const error_code& ec, get_result&& r) {
                           using definition = entry::definition;
                           if (ec && ec != zookeeper_errc::no_node) {
                               fail(ec, config_->paths.definition);
                               return;
                           }
                           written_ = std::move(r.data);
                           go_on(entry_.found(ec ? definition::none
                                              : written_ == definition_of(config_->options)
                                                  ? definition::own
                                                  : definition::another));
                       }));
}

void shards_run::create_definition()
{
    create_options how{.acl = config_->options.acl};
    client_->async_create(config_->paths.definition, definition_of(config_->options),
                          std::move(how),
                          step<create_result>([this](const error_code& ec, create_result&&) {
                              if (ec && ec != zookeeper_errc::node_exists && !may_be_repeated(ec)) {
                                  fail(ec, config_->paths.definition);
                              } else {
                                  after_pause([this] { go_on(entry_.written()); });
                              }
                          }));
}

void shards_run::refuse_definition()
{
    const auto mine = definition_of(config_->options);
    const auto first = [](std::string_view text) {
        return protocol::shown(text.substr(0, text.find('\n')), 100);
    };
    refuse(errc::conflicting_use,
           config_->paths.definition + ": other members have " + first(written_) +
               (first(written_) == first(mine) ? " with other names"
                                               : ", and this one " + first(mine)) +
               "; give all of them the same, or set shards_options::redefine");
}

void shards_run::join()
{
    member_options me{.name = config_->name,
                      .data = protocol::ranges_of(refused_),
                      .weight = config_->options.weight,
                      .acl = config_->options.acl};
    group{*client_, config_->paths.members}.async_join(
        std::move(me),
        asio::bind_cancellation_slot(
            step_.slot(), on_strand<membership>([this](const error_code& ec, membership&& here) {
                here_ = std::move(here);
                if (stage_ == stage::over) {
                    depart();
                    return;
                }
                // A try to join has a limit, and the run has none.
                if (ec == condition::lock_lost || ec == errc::disconnected ||
                    ec == errc::no_answer) {
                    after_pause([this] {
                        if (using_) {
                            join();
                        } else {
                            go_on(entry_.left());
                        }
                    });
                    return;
                }
                if (ec) {
                    fail(ec, "the member " + config_->name);
                    return;
                }
                work_ = std::make_shared<shard_work>(
                    core_, config_, bodies_, refused_, weak_from_this(),
                    [weak = weak_from_this()](shard_work::event&& e) {
                        if (const auto self = weak.lock()) {
                            self->work_says(std::move(e));
                        }
                    });
                if (!using_) {
                    work_->stop();
                    return;
                }
                watch_membership();
                stand();
                watch_table();
            })));
}

void shards_run::watch_membership()
{
    here_.async_wait_rejoin(
        here_.joins(), while_at_work<std::uint64_t>([this](const error_code& ec, std::uint64_t) {
            if (ec) {
                fail(ec, "the member " + config_->name);
            } else {
                watch_membership();
            }
        }));
}

void shards_run::stand()
{
    if (!here_) {
        return; // watch_membership() tells why
    }
    const election_options how{.acl = config_->options.acl};
    election{*client_, config_->paths.leader, config_->name, how}.async_campaign(
        asio::bind_cancellation_slot(
            standing_.slot(),
            while_at_work<leadership>([this](const error_code& ec, leadership&& term) {
                if (!here_) {
                    return;
                }
                if (ec && ec != condition::lock_lost) {
                    fail(ec, "the leader of " + config_->paths.leader);
                    return;
                }
                if (ec) {
                    pace_.after_refusal(*core_, if_at_work(&shards_run::stand));
                    return;
                }
                term.async_wait_lost(
                    while_at_work<error_code>([this](const error_code& stopped, const error_code&) {
                        if (!stopped && leading_) {
                            std::exchange(leading_, nullptr)->end();
                            pace_.after_event(*core_, if_at_work(&shards_run::stand));
                        }
                    }));
                leading_ = std::make_shared<shards_leading>(core_, config_, std::move(term));
                leading_->begin();
            })));
}

// ---- the assignment

void shards_run::watch_table()
{
    if (!here_) {
        return;
    }
    client_->async_watch_exists(
        config_->paths.assignment,
        while_at_work<watched<std::optional<node_stat>>>(
            [this](const error_code& ec, watched<std::optional<node_stat>>&& r) {
                if (!here_) {
                    return;
                }
                if (ec) {
                    fail(ec, config_->paths.assignment);
                    return;
                }
                table_changes_ = std::move(r.changes);
                table_changes_.async_wait(
                    while_at_work<watch_event>([this](const error_code& stopped, watch_event&&) {
                        if (!here_ || stopped == asio::error::operation_aborted) {
                            return;
                        }
                        if (stopped) {
                            fail(stopped, config_->paths.assignment);
                            return;
                        }
                        pace_.after_event(*core_, if_at_work(&shards_run::watch_table));
                    }));
                if (r.value) {
                    read_table();
                } else if (leading_) {
                    leading_->seen({});
                }
            }));
}

void shards_run::read_table()
{
    client_->async_get(config_->paths.assignment,
                       while_at_work<get_result>([this](const error_code& ec, get_result&& r) {
                           if (!here_ || ec == zookeeper_errc::no_node) {
                               return; // the watch fires
                           }
                           if (ec) {
                               fail(ec, config_->paths.assignment);
                               return;
                           }
                           if (leading_) {
                               leading_->seen(r.stat.version);
                           }
                           take_table(r.data, false);
                       }));
}

void shards_run::read_after_sync()
{
    // A read that is repeated on another connection is not behind this sync.
    const auto synced = std::make_shared<bool>(false);
    client_->async_sync(config_->paths.assignment,
                        on_strand<>([synced](const error_code& ec) { *synced = !ec; }));
    client_->async_get(
        config_->paths.assignment,
        while_at_work<get_result>([this, synced](const error_code& ec, get_result&& r) {
            if (ec == errc::client_closed || ec == asio::error::operation_aborted) {
                return; // the locks are lost, and nothing is left to confirm
            }
            if (ec || !*synced) { // or nobody has written one
                pace_.after_refusal(*core_, if_at_work(&shards_run::read_after_sync));
            } else {
                take_table(r.data, true);
            }
        }));
}

// What cannot be read changes nothing: the leader replaces it.
void shards_run::take_table(std::string_view text, bool confirmed)
{
    auto table = protocol::shard_table_in(text);
    if (!table || table->owners.size() != config_->shards.size()) {
        if (confirmed) {
            pace_.after_refusal(*core_, if_at_work(&shards_run::read_after_sync));
        }
        return;
    }
    work_->assigned(std::move(table->owners), confirmed);
    end_if_without();
}

// ---- the shards

void shards_run::work_says(shard_work::event&& e)
{
    using kind = shard_work::event::kind;
    switch (e.what) {
    case kind::confirm: read_after_sync(); break;
    case kind::refused: tell_weight(); break;
    case kind::failed: end(std::move(e.why)); break;
    case kind::idle:
        if (work_->is_stopped()) {
            depart();
        } else {
            end_if_without();
        }
        break;
    }
}

void shards_run::end_if_without()
{
    if (stage_ == stage::leaving && work_ && work_->is_without()) {
        end({});
    }
}

void shards_run::tell_weight()
{
    refused_ = work_->refused();
    here_.async_update(protocol::ranges_of(refused_),
                       stage_ == stage::member && !work_->is_stopped() ? config_->options.weight
                                                                       : 0,
                       on_strand<>([](const error_code&) {}));
}

// ---- the end

void shards_run::leave(operation_ptr<error_code> op, deadline limit)
{
    if (!op_) {
        op.complete(errc::not_held);
        return;
    }
    leaving_.add(std::move(op));
    if (stage_ == stage::over) {
        return;
    }
    const bool leaves_already = std::exchange(stage_, stage::leaving) == stage::leaving;
    if (!work_) {
        end({});
        return;
    }
    if (!leaves_already || limit < limit_.expiry()) {
        limit_.expires_at(limit);
        limit_.async_wait(on_strand<>([this](const error_code& ec) {
            if (!ec) {
                end({});
            }
        }));
    }
    if (leaves_already) {
        return;
    }
    client_->async_wait_state_change(
        connection_state::connected,
        asio::bind_cancellation_slot(
            step_.slot(),
            on_strand<connection_state>([this](const error_code& ec, connection_state) {
                if (!ec) {
                    end({});
                }
            })));
    tell_weight();
    end_if_without();
}

void shards_run::cancel()
{
    end(std::make_exception_ptr(
        boost::system::system_error{asio::error::operation_aborted, "async_run"}));
}

// No request has failed here, which would have noted why.
void shards_run::refuse(errc ec, const std::string& why)
{
    core_->note_error(why);
    fail(ec, why);
}

void shards_run::fail(const error_code& ec, const std::string& what)
{
    const bool departs = !work_; // else that has ended first
    if (stage_ != stage::over) {
        op_->explain(ec, what + ": " + ec.message());
        end(std::make_exception_ptr(boost::system::system_error{ec, what}));
    }
    if (departs) {
        depart();
    }
}

// What is under way comes back then, and finds that it is over.
void shards_run::end(std::exception_ptr why)
{
    if (stage_ == stage::over) {
        return;
    }
    const auto self = shared_from_this();
    stage_ = stage::over;
    why_ = std::move(why);
    if (work_) {
        stop_work();
    } else {
        step_.emit(asio::cancellation_type::terminal);
    }
}

// A member without weight gets no shards, and others take those that its slowest body does not need. Most bodies end before
// the weight is written.
void shards_run::stop_work()
{
    // Bodies that have ended are gone when the user hears of it.
    core_->after(100ms, [weak = weak_from_this(), work = std::weak_ptr{work_}] {
        if (const auto self = weak.lock(); self && self->work_ && work.lock() == self->work_) {
            self->tell_weight();
        }
    });
    work_->stop();
}

// Nothing is held any more, and nothing is under way.
void shards_run::depart()
{
    const auto self = shared_from_this();
    work_.reset();
    table_changes_ = {};
    limit_.cancel();
    step_.emit(asio::cancellation_type::terminal);
    standing_.emit(asio::cancellation_type::terminal);
    if (leading_) {
        std::exchange(leading_, nullptr)->end();
    }
    if (here_) {
        here_.async_leave(on_strand<>([this](const error_code&) { over(); }));
    } else {
        over();
    }
}

void shards_run::over()
{
    if (stage_ == stage::member) {
        go_on(entry_.left());
        return;
    }
    using_ = {};
    if (op_) {
        std::exchange(op_, {}).complete(std::move(why_));
    }
    leaving_.complete_all({});
}

} // namespace colock::detail
