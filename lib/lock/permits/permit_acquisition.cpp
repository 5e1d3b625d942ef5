// Runs one protocol::permits::acquisition on a client: carries out its commands, tells it the answers.
#include <colock/queue_view.hpp>

#include "client/function_operation.hpp"
#include "client/on_cancel.hpp"
#include "client/watch_state.hpp"
#include "lock/driver/random_guid.hpp"
#include "lock/local/holder_query.hpp"
#include "lock/local/waiting_words.hpp"
#include "lock/multi/lock_target.hpp"
#include "lock/permits/permit_lease.hpp"
#include "lock/permits/semaphore_state.hpp"
#include "protocol/names/path.hpp"
#include "protocol/permits/acquisition.hpp"
#include "protocol/permits/numbers.hpp"
#include "protocol/session/backoff.hpp"
#include "protocol/waiting_report.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <type_traits>
#include <utility>
#include <vector>

namespace colock::detail {

// On the strand. The client keeps it alive until it is gone. The caller may have its outcome before that.
class permit_acquisition final : public session_listener,
                                 public reminded,
                                 public std::enable_shared_from_this<permit_acquisition> {
public:
    permit_acquisition(std::shared_ptr<semaphore_state> state, operation_ptr<error_code, permit> op,
                       std::int64_t count, deadline until)
        : state_{std::move(state)}, of_{state_->of}, core_{of_.core}, op_{std::move(op)},
          until_{until <= std::chrono::steady_clock::now() ? at_once : until}, count_{count},
          protocol_{{.wanted = count,
                     .permits = of_.permits,
                     .try_only = until_ == at_once,
                     .rejoin_on_expiry = of_.options.rejoin_on_expiry},
                    random_guid()}
    {
        commands_.reserve(4); // a lock, and three reads
    }

    void start()
    {
        if (until_ == at_once) {
            auto refused = core_->unavailable();
            if (!refused && !core_->is_connected()) {
                refused = errc::disconnected;
            }
            if (refused) {
                note(refused.message());
                complete(refused, access::make<permit>(core_));
                return;
            }
        } else if (until_ != never) {
            deadline_timer_.emplace(core_->strand(), until_);
            deadline_timer_->async_wait([weak = weak_from_this()](const error_code& ec) {
                if (const auto self = weak.lock(); self && !ec) {
                    self->tell(&machine::deadline_reached, self->core_->is_connected());
                }
            });
        }
        core_->add(shared_from_this());
        tell(&machine::begin);
        // The client keeps this object alive. The link must not: this object has the operation, which owns the link.
        const auto cancel = [weak = weak_from_this()](bool now) {
            if (const auto self = weak.lock()) {
                self->tell(&machine::cancel, now);
            }
        };
        if (op_) {
            on_cancel(
                op_, [cancel] { cancel(true); }, [cancel] { cancel(false); });
        }
    }

private:
    using machine = protocol::permits::acquisition;
    using commands = protocol::permits::commands;
    using kind = protocol::permits::command::kind;

    // ---- the session

    void connected(std::int64_t) override {}
    void suspended() override
    {
        const auto self = shared_from_this();
        tell(&machine::suspended);
        end_pause(); // what comes behind it waits for the next connection
    }
    void expired() override {}
    void closed(const error_code&) override { end_pause(); }
    void discarded() noexcept override
    {
        deadline_timer_.reset();
        pause_.reset();
        const auto dropped = std::move(op_);
    }

    // ---- from an input to the commands that come of it

    template <class... Parameters, class... Arguments>
    void tell(void (machine::*input)(Parameters...), const Arguments&... arguments)
    {
        const auto self = shared_from_this();
        protocol_.assume({.session = core_->session(),
                          .unavailable = core_->unavailable(),
                          .queue_lost = has_queue() ? queue_.loss_reason() : error_code{},
                          .compared = state_->compared});
        (protocol_.*input)(arguments..., commands_);
        if (std::exchange(performing_, true)) {
            return; // an answer that came at once: its commands come behind those at hand
        }
        const client_core::batch together{*core_};
        for (std::size_t i = 0; i < commands_.size(); ++i) { // it grows on the way
            const auto next = std::move(commands_[i]);
            perform(next);
        }
        commands_.clear();
        performing_ = false;
    }

    void perform(const protocol::permits::command& c)
    {
        switch (c.type) {
        case kind::lock_queue: lock_queue(); break;
        case kind::unlock_queue: unlock_queue(); break;
        case kind::list: read(state_->leases, &machine::listed); break;
        case kind::list_and_watch: read(state_->leases, &machine::listed, &list_watch_); break;
        case kind::read_maximum: read(state_->leases, &machine::maximum_read); break;
        case kind::list_siblings: read(of_.path, &machine::siblings_listed); break;
        case kind::read_limit: read(of_.counter, &machine::limit_read, &limit_watch_); break;
        case kind::create: create(c); break;
        case kind::make_directory: make_directory(); break;
        case kind::wait_for_change: wait_for_change(); break;
        case kind::pause: begin_pause(); break;
        case kind::cut_short: cut_short(); break;
        case kind::release_queue: static_cast<void>(take_queue()); break;
        case kind::unwatch_list: list_watch_.reset(); break;
        case kind::unwatch_limit: limit_watch_.reset(); break;
        case kind::agreed: state_->compared = true; break;
        case kind::give_back: permit_for(c.leases, false) = {}; break;
        case kind::granted:
            if (logs()) {
                log("granted " + what() + " after " + time_words(boot_clock::now() - began_));
            }
            grant(c.leases);
            break;
        case kind::busy: refuse(); break;
        case kind::cancelled:
            log_end("cancelled");
            complete(asio::error::operation_aborted, {});
            break;
        case kind::failed: fail(c); break;
        case kind::gone: core_->remove(*this); break;
        }
    }

    // ---- the queue's lock

    // The protocol is told in the call in which the client learns it: so a listing that is answered behind the grant is
    // told behind it.
    void lock_queue()
    {
        locking_ = cancel_link_ptr{new cancel_link{core_}};
        const auto done = [self = shared_from_this()](const error_code& ec, guard_part lock,
                                                      std::string why) {
            self->core_->dispatch([self, ec, lock = std::move(lock), why]() mutable {
                self->why_ = std::move(why);
                self->locking_.reset();
                self->queue_ = std::get<held_lock>(std::move(lock));
                self->tell(&machine::queue_locked, ec, self->has_queue());
            });
        };
        const bool explains = op_ && op_->told() != nullptr;
        state_->queue_lock().lock(
            acquiring<unique_lock>::make({.link = locking_, .explains = explains, .done = done}),
            until_);
    }

    void unlock_queue()
    {
        release_part(
            function_operation<error_code>::make(core_, nullptr,
                                                 [self = shared_from_this()](const error_code&) {
                                                     self->tell(&machine::queue_unlocked);
                                                 }),
            take_queue());
    }

    // Nothing is watched without it.
    [[nodiscard]] held_lock take_queue()
    {
        list_watch_.reset();
        limit_watch_.reset();
        return std::move(queue_);
    }

    [[nodiscard]] bool has_queue() const noexcept { return queue_.state() != lock_state::not_held; }

    // ---- requests

    // `answer` may refer to *this.
    template <class Answer>
    void submit(zk::call&& call, on_loss policy, Answer answer,
                zk::watch_registry::subscriber* subscriber = nullptr)
    {
        const auto place = std::ranges::find(open_, nullptr);
        auto r = make_request(
            std::move(call), policy,
            [self = shared_from_this(), place, answer = std::move(answer)](zk::reply&& reply) {
                *place = nullptr;
                if (reply.error == zookeeper_errc::no_auth) {
                    self->refusal_ = reply.detail;
                }
                answer(std::move(reply));
            });
        r->subscriber = subscriber;
        *place = r.get();
        core_->submit(std::move(r));
    }

    // Lists the children of a node, or reads its data, as the input wants it.
    template <class Input>
    void read(const std::string& path, Input input, std::shared_ptr<watch_state>* watch = nullptr)
    {
        constexpr bool lists = std::is_same_v<Input, decltype(&machine::listed)>;
        constexpr bool limits = std::is_same_v<Input, decltype(&machine::limit_read)>;
        constexpr auto op = lists ? zk::opcode::children : zk::opcode::get;
        const auto state =
            watch != nullptr ? std::make_shared<watch_state>(core_, op, path) : nullptr;
        submit(
            {.op = op,
             .path = path,
             .watch = watch != nullptr,
             .kind = lists ? zk::watch_kind::children : zk::watch_kind::data},
            on_loss::repeat,
            [this, input, watch, state](zk::reply&& r) {
                if (state && !r.error) {
                    state->begin(r.stat);
                    *watch = {state->make_handle(), state.get()};
                }
                if constexpr (lists) {
                    tell(input, r.error, r.names);
                } else if constexpr (limits) {
                    tell(input, r.error, r.text, r.stat.version);
                } else {
                    tell(input, r.error, r.text);
                }
            },
            state.get());
    }

    void create(const protocol::permits::command& c)
    {
        const auto& o = of_.options;
        std::vector<transaction_op> ops(
            static_cast<std::size_t>(count_),
            create_op(lease(c.name), o.owner_data ? *o.owner_data : default_owner_data(),
                      {.mode = create_mode::ephemeral_sequential, .acl = o.acl}));
        if (!of_.permits) {
            ops.insert(ops.begin(), check_op(of_.counter, static_cast<std::int32_t>(c.number)));
        }
        submit({.op = zk::opcode::multi,
                .acl = core_->options().acl,
                .ops = zk::moved_to<zk::recycled_vector<transaction_op>>(
                    queue_.guarded(std::move(ops)))},
               on_loss::report, [this](zk::reply&& r) {
                   std::vector<std::string> names;
                   for (const auto& each : r.results) {
                       if (!r.error && !each.path.empty()) { // a check has none
                           names.emplace_back(protocol::last_name(each.path));
                       }
                   }
                   const bool in_queue = !r.results.empty() && !r.results.front().error;
                   tell(&machine::created, r.error, names, in_queue);
               });
    }

    // Nobody waits for the answers of the ancestors: the last one tells whether they are there.
    void make_directory()
    {
        const auto& acl = of_.options.acl ? *of_.options.acl : core_->options().acl;
        for (const auto& each : protocol::path_and_ancestors(state_->leases)) {
            zk::call call{
                .op = zk::opcode::create, .path = each, .mode = create_mode::container, .acl = acl};
            if (each != state_->leases) {
                core_->submit(make_request(std::move(call), on_loss::report, [](zk::reply&&) {}));
                continue;
            }
            if (of_.permits) {
                call.data = protocol::permits::maximum_text(*of_.permits);
            }
            submit(std::move(call), on_loss::report,
                   [this](zk::reply&& r) { tell(&machine::directory_made, r.error); });
        }
    }

    // ---- waiting

    // The waits keep this object alive: a client that is closed ends them last of all.
    void wait_for_change()
    {
        waited_ = true;
        if (logs() && !std::exchange(wait_logged_, true)) {
            log(waiting_words(what(), reasons(boot_clock::now())));
            core_->remind(weak_from_this(),
                          protocol::next_waiting_report(began_, boot_clock::now()));
        }
        waiting_ = cancel_link_ptr{new cancel_link{core_}};
        const auto over = [self = shared_from_this(), wait = waiting_](auto&&...) {
            if (self->waiting_ == wait) {
                self->end_wait();
            }
        };
        for (const auto* each : {&list_watch_, &limit_watch_}) {
            if (*each) {
                (*each)->wait(
                    function_operation<error_code, watch_event>::make(core_, nullptr, over));
            }
        }
        access::start_wait_lost<held_lock>(
            core_, function_operation<error_code, error_code>::make(core_, waiting_, over),
            access::held(queue_).driver, access::held(queue_).turn);
    }

    // Behind it the protocol forgets the watches, or reads anew what they watch: none is waited for twice.
    void end_wait()
    {
        if (const auto link = std::exchange(waiting_, nullptr)) {
            link->request(asio::cancellation_type::terminal);
            tell(&machine::changed);
        }
    }

    void begin_pause()
    {
        using namespace std::chrono_literals;
        if (!pace_) {
            pace_.emplace(1ms, 1s, zk::random_seed());
        }
        const auto length = pace_->repeat(std::chrono::steady_clock::now().time_since_epoch());
        pause_.emplace(core_->strand(), length);
        if (length <= length.zero()) {
            end_pause();
            return;
        }
        pause_->async_wait([weak = weak_from_this()](const error_code& ec) {
            if (const auto self = weak.lock(); self && !ec) {
                self->end_pause();
            }
        });
    }

    void end_pause()
    {
        if (pause_) {
            pause_.reset();
            tell(&machine::paused);
        }
    }

    void cut_short()
    {
        for (auto* const each : open_) {
            if (each != nullptr && (each->policy == on_loss::repeat || core_->is_waiting(*each))) {
                core_->abandon(*each, asio::error::operation_aborted);
            }
        }
        if (const auto link = locking_) {
            link->request(asio::cancellation_type::total);
        }
        end_wait();
        end_pause();
    }

    // ---- the log

    // The waiters behind this one wait for the lock of the queue.
    std::optional<std::chrono::nanoseconds> remind(std::chrono::nanoseconds now) override
    {
        if (!op_ || core_->unavailable()) {
            return std::nullopt;
        }
        if (waiting_ && core_->is_connected()) {
            ask_first_in_queue(core_, state_->leases, protocol::permits::lease_layout(), {},
                               [weak = weak_from_this()](std::optional<asked_holder> found) {
                                   if (const auto self = weak.lock(); self && self->op_) {
                                       self->asked_ = std::move(found);
                                       self->log_still_waiting();
                                   }
                               });
        } else {
            log_still_waiting();
        }
        return protocol::next_waiting_report(began_, now);
    }

    void log_still_waiting()
    {
        const auto now = boot_clock::now();
        log(still_waiting_words(what(), now - began_, reasons(now), 0));
    }

    // Empty when nothing is known.
    [[nodiscard]] std::string reasons(std::chrono::nanoseconds now) const
    {
        if (!core_->is_connected()) {
            return "without a connection to the servers";
        }
        const auto taken = has_queue() ? protocol_.taken() : std::nullopt;
        return taken ? permits_words(std::to_string(*taken), protocol_.limit(), asked_, now) : "";
    }

    [[nodiscard]] std::string what() const
    {
        return counted_words(static_cast<std::size_t>(count_), "permit") + " of semaphore " +
               of_.path;
    }

    [[nodiscard]] bool logs() const { return op_ && core_->logs(log_level::debug); }
    void log(std::string text)
    {
        core_->add_line(log_level::debug, std::move(text));
        core_->send_lines();
    }
    void log_end(const std::string& why)
    {
        if (logs()) {
            log("gave up waiting for " + what() + " after " +
                time_words(boot_clock::now() - began_) + ": " + why);
        }
    }

    // ---- the outcome

    // There are too few permits; or not in time.
    void refuse()
    {
        if (op_ && until_ == at_once) {
            if (op_->told() != nullptr) {
                op_->tell(about("too few permits are free"));
            }
        } else if (op_ && (logs() || op_->told() != nullptr)) {
            auto why = reasons(boot_clock::now());
            why = why.empty() ? "" : "; " + why;
            log_end("its time is over" + why);
            op_->tell(why_.empty() ? about("not granted in time" + why) : why_);
        }
        complete({}, access::make<permit>(core_));
    }

    [[nodiscard]] permit permit_for(const std::vector<std::string>& names, bool wanted)
    {
        std::vector<std::string> nodes;
        for (const auto& each : names) {
            nodes.push_back(lease(each));
        }
        const auto kept = std::make_shared<permit_lease>(
            core_, state_, "semaphore " + of_.path, of_.path, nodes, of_.options.safety_margin);
        kept->begin();
        core_->count.granted_by_servers.fetch_add(1, std::memory_order_relaxed);
        (wanted ? core_->count.locks_granted : core_->count.granted_inside)
            .fetch_add(1, std::memory_order_relaxed);
        return access::make<permit>(core_, kept, std::move(nodes));
    }

    void grant(const std::vector<std::string>& names)
    {
        auto p = permit_for(names, static_cast<bool>(op_));
        if (op_ && op_->observed.of != nullptr) {
            auto& o = op_->observed;
            o.granted = boot_clock::now().count();
            o.source = waited_ ? grant_source::handed_over : grant_source::free;
            access::held(p)->observe(of_.observed, {o.id, o.part_of, o.granted});
        }
        complete({}, std::move(p));
    }

    void fail(const protocol::permits::command& c)
    {
        const auto found = std::to_string(c.number);
        if (c.error == errc::conflicting_kind) {
            note(c.error.message());
        } else if (c.error == errc::conflicting_maximum) {
            note("here it has " + (of_.permits ? std::to_string(*of_.permits) : "a counter of") +
                 " permits, and " + found + " elsewhere");
        } else if (c.error == errc::invalid_counter) {
            note("the counter " + of_.counter + " holds " + found + " bytes, or a negative number");
        }
        const bool refused = c.error == zookeeper_errc::no_auth && !refusal_.empty();
        const auto words = refused ? refusal_ : c.error.message();
        if (why_.empty()) {
            why_ = about(words);
        }
        log_end(words);
        complete(c.error, {});
    }

    [[nodiscard]] std::string about(const std::string& what) const
    {
        return "semaphore " + of_.path + ": " + what;
    }
    void note(const std::string& what)
    {
        why_ = about(what);
        core_->note_error(why_);
    }

    void complete(const error_code& ec, permit p)
    {
        if (op_) {
            op_->explain(ec, why_);
            std::exchange(op_, {}).complete(ec, std::move(p));
        }
    }

    [[nodiscard]] std::string lease(const std::string& name) const
    {
        return protocol::join_path(state_->leases, name);
    }

    const std::shared_ptr<semaphore_state> state_;
    const semaphore_path& of_;
    const std::shared_ptr<client_core> core_;
    operation_ptr<error_code, permit> op_; // until the caller has its outcome
    std::string why_;                      // what the last error is about
    std::string refusal_;                  // of the servers, the last one: in words
    const deadline until_;
    const std::int64_t count_;
    const std::chrono::nanoseconds began_ = boot_clock::now();
    std::optional<asked_holder> asked_; // who has a permit
    bool waited_ = false;               // for permits
    bool wait_logged_ = false;
    machine protocol_;
    commands commands_; // to be performed
    bool performing_ = false;

    std::optional<zk::timer> deadline_timer_;
    std::optional<zk::timer> pause_;
    std::optional<protocol::backoff> pace_; // since the first repetition

    cancel_link_ptr locking_;                               // while the queue's lock is waited for
    held_lock queue_;                                       // the queue's lock
    std::shared_ptr<watch_state> list_watch_, limit_watch_; // a watch is forgotten with its pointer
    cancel_link_ptr waiting_;                               // while a change is waited for
    std::array<request*, 4> open_{};                        // requests that may be cut short
};

void semaphore_state::acquire(operation_ptr<error_code, permit> op, std::int64_t count,
                              deadline until)
{
    std::make_shared<permit_acquisition>(shared_from_this(), std::move(op), count, until)->start();
}

} // namespace colock::detail
