// Runs one protocol::permits::acquisition on a client: carries out its commands, tells it the answers.
#include "lock/holder_query.hpp"
#include "lock/waiting_words.hpp"
#include "names/path.hpp"
#include "queue/making_directory.hpp"
#include "queue/random_guid.hpp"
#include "recipes/function_operation.hpp"
#include "recipes/multi_lock/lock_target.hpp"
#include "recipes/pauses.hpp"
#include "recipes/semaphore/acquisition.hpp"
#include "recipes/semaphore/numbers.hpp"
#include "recipes/semaphore/permit_lease.hpp"
#include "recipes/semaphore/semaphore_state.hpp"
#include "recipes/semaphore/wait_report.hpp"
#include "session/end_of_wait.hpp"
#include "session/machine_runner.hpp"
#include "session/watch_state.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <type_traits>
#include <utility>
#include <vector>

namespace colock::detail {

namespace {

using protocol::permits::command;
using machine = protocol::permits::acquisition;

// On the strand. The client keeps it alive until it is gone. The caller may have its outcome before that.
class permit_acquisition final : public session_listener,
                                 public reminded,
                                 public std::enable_shared_from_this<permit_acquisition> {
    using kind = command::kind;

public:
    permit_acquisition(std::shared_ptr<semaphore_state> state, operation_ptr<error_code, permit> op,
                       std::int64_t count, deadline until)
        : state_{std::move(state)}, op_{std::move(op)},
          until_{until <= std::chrono::steady_clock::now() ? at_once : until},
          report_{core(),
                  [&] {
                      return counted_words(static_cast<std::size_t>(count), "permit") +
                             " of semaphore " + of().path;
                  }},
          protocol_{{.wanted = count,
                     .permits = of().permits,
                     .try_only = until_ == at_once,
                     .rejoin_on_expiry = of().options.rejoin_on_expiry},
                    random_guid()}
    {
    }

    void start()
    {
        core().add(shared_from_this());
        reserve();
        if (until_ == at_once && !core().is_connected()) {
            suspended();
        } else if (until_ != at_once && until_ != never) {
            const auto question = until_ - protocol::question_before_end;
            deadline_timer_.emplace(core().strand());
            wait_until(std::chrono::steady_clock::now() < question ? question : until_);
        }
        // The client keeps this object alive. The link must not: this object has the operation, which owns the link.
        if (const auto link = op_ ? op_.cancellation() : nullptr) {
            link->bind([weak = weak_from_this()](asio::cancellation_type type) {
                if (const auto self = weak.lock()) {
                    self->tell(&machine::cancel, ends_at_once(type));
                }
            });
        }
    }

private:
    // ---- the session

    void suspended() override { tell(&machine::suspended); }
    void discarded() noexcept override
    {
        deadline_timer_.reset();
        const auto dropped = std::move(op_);
    }

    void wait_until(deadline when)
    {
        deadline_timer_->expires_at(when);
        deadline_timer_->async_wait([weak = weak_from_this(), when](const error_code& ec) {
            const auto self = weak.lock();
            if (self && !ec && when < self->until_) {
                self->core().ask_for_end_of_wait();
                self->wait_until(self->until_);
            } else if (self && !ec) {
                self->tell(&machine::deadline_reached, self->core().end_of_wait());
            }
        });
    }

    // ---- from an input to the commands that come of it

    template <class... Parameters, class... Arguments>
    void tell(void (machine::*input)(Parameters...), const Arguments&... arguments)
    {
        const auto self = shared_from_this();
        protocol_.assume({.session = core().session(),
                          .unavailable = core().unavailable(),
                          .queue_lost = has_queue() ? queue_.loss_reason() : error_code{},
                          .compared = state_->compared != 0});
        (protocol_.*input)(arguments..., runner_.decided());
        runner_.run([this](const command& c) { perform(c); },
                    [this] { return client_core::batch{core()}; });
    }

    void perform(const command& c)
    {
        switch (c.type) {
        case kind::lock_queue: lock_queue(); break;
        case kind::unlock_queue: unlock_queue(); break;
        case kind::list: read(state_->leases, &machine::listed); break;
        case kind::list_and_watch: read(state_->leases, &machine::listed, &list_watch_); break;
        case kind::ask_others:
            read(state_->leases, &machine::maximum_read);
            read(of().path, &machine::siblings_listed);
            break;
        case kind::read_limit: read(of().counter, &machine::limit_read, &limit_watch_); break;
        case kind::create: create(c); break;
        case kind::make_directory: make_directory(); break;
        case kind::wait_for_change: wait_for_change(); break;
        case kind::pause: pace_.after_refusal(core(), resume()); break;
        case kind::pause_after_event: pace_.after_event(core(), resume()); break;
        case kind::cut_short: cut_short(); break;
        case kind::release_queue: static_cast<void>(take_queue()); break;
        case kind::remove_directory: remove_directory(); break;
        case kind::agreed: state_->compared = read_czxid_; break;
        case kind::give_back: permit_for(c.leases) = {}; break;
        case kind::granted: grant(c.leases); break;
        case kind::busy: refuse(); break;
        case kind::cancelled: give_up(asio::error::operation_aborted, "cancelled"); break;
        case kind::failed: fail(c); break;
        case kind::gone:
            core().give_back_room(std::exchange(reserved_, 0));
            tell_what_may_remain();
            core().remove(*this);
            break;
        }
    }

    // ---- the queue's lock

    // The protocol learns of the grant in the same call as the client: so a listing that is answered after the grant is
    // told after it.
    void lock_queue()
    {
        auto& lock = state_->queue_lock;
        if (!lock) {
            lock.emplace(of().core, protocol::join_path(of().path, "locks"), of().options,
                         kinds::semaphore_queue);
        }
        locking_ = cancel_link_ptr{new cancel_link{of().core}};
        const auto done = [self = shared_from_this()](const error_code& ec, guard_part held,
                                                      std::string why) {
            self->core().dispatch([self, ec, held = std::move(held), why]() mutable {
                self->why_ = std::move(why);
                self->queue_ = std::get<held_lock>(std::move(held));
                self->tell(&machine::queue_locked, ec, self->has_queue());
            });
        };
        const bool explains = op_ && op_->told() != nullptr;
        lock->lock(
            acquiring<unique_lock>::make({.link = locking_, .explains = explains, .done = done}),
            until_);
    }

    void unlock_queue()
    {
        const auto done = [self = shared_from_this()](const error_code&) {
            self->tell(&machine::queue_unlocked);
        };
        release_part(function_operation<error_code>::make(of().core, nullptr, done), take_queue());
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

    // `answer` may refer to *this. The bytes are of the session's room (request.hpp).
    template <class Answer>
    void submit(zk::call&& call, on_loss policy, Answer answer, std::size_t room_kept = 0,
                std::size_t room_had = 0, watch_state* watch = nullptr)
    {
        const auto place = open_.insert(open_.end(), nullptr);
        auto r = make_request(
            std::move(call), policy,
            [self = shared_from_this(), place, answer = std::move(answer)](zk::reply&& reply) {
                self->open_.erase(place);
                if (may_be_refused(reply.error)) {
                    self->refusal_ = reply.detail;
                }
                answer(std::move(reply));
            });
        r->subscriber = watch;
        r->room_kept = room_kept;
        r->room_had = room_had;
        r->of_lock = true;
        *place = r.get();
        core().submit(std::move(r));
    }
    [[nodiscard]] static bool may_be_refused(const error_code& ec)
    {
        return ec == zookeeper_errc::no_auth || ec == errc::session_full;
    }

    // Lists the children of a node, or reads its data, as the input wants it.
    template <class Input>
    void read(const std::string& path, Input input, std::shared_ptr<watch_state>* watch = nullptr)
    {
        constexpr bool lists = std::is_same_v<Input, decltype(&machine::listed)>;
        constexpr auto op = lists ? zk::opcode::children : zk::opcode::get;
        const auto state =
            watch != nullptr ? std::make_shared<watch_state>(of().core, op, path) : nullptr;
        submit(
            {.op = op,
             .path = path,
             .watch = watch != nullptr,
             .kind = lists ? zk::watch_kind::children : zk::watch_kind::data},
            on_loss::repeat,
            [this, input, watch, state, of_leases = path == state_->leases](zk::reply&& r) {
                if (lists && of_leases && r.stat.czxid != state_->compared) {
                    state_->compared = 0; // it is gone, or another one
                }
                if (lists && of_leases && (!r.error || r.error == zookeeper_errc::no_node)) {
                    unsure_in_ = 0;
                }
                if (state && !r.error) {
                    state->begin(r.stat);
                    *watch = {state->make_handle(), state.get()};
                }
                if constexpr (lists) {
                    tell(input, r.error, r.names);
                } else {
                    read_czxid_ = of_leases ? r.stat.czxid : read_czxid_;
                    tell(input, r.error, r.text, r.stat.version);
                }
            },
            0, 0, state.get());
    }

    void reserve()
    {
        using namespace protocol;
        const auto each = lease(std::string{name_prefix(permits::lease_layout(), {})});
        const auto bytes = protocol_.wanted() * core().room_for_node(each, true);
        submit(
            {.op = zk::opcode::multi, .path = state_->leases}, on_loss::report,
            [this, bytes](zk::reply&& r) {
                reserved_ = r.error ? 0 : bytes;
                tell(&machine::begin, r.error);
            },
            bytes);
    }

    // A transaction that comes to nothing when the queue's lock is lost.
    [[nodiscard]] zk::call guarded(std::vector<transaction_op> ops) const
    {
        using steps = zk::recycled_vector<transaction_op>;
        return {.op = zk::opcode::multi,
                .acl = core().options().acl,
                .ops = zk::moved_to<steps>(queue_.guarded(std::move(ops)))};
    }

    void create(const command& c)
    {
        refusal_.clear(); // a later refusal says why nodes may remain
        std::vector<transaction_op> ops(
            protocol_.wanted(),
            create_op(lease(c.name), of().owner_data(),
                      {.mode = create_mode::ephemeral_sequential, .acl = of().options.acl}));
        if (!of().permits) {
            ops.insert(ops.begin(), check_op(of().counter, static_cast<std::int32_t>(c.number)));
        }
        submit(
            guarded(std::move(ops)), on_loss::report,
            [this, session = core().session()](zk::reply&& r) {
                unsure_in_ = outcome_unknown(r.error) ? session : 0;
                const bool in_queue = !r.results.empty() && !r.results.front().error;
                protocol::permits::names made;
                for (const auto& each : r.results) {
                    if (!r.error && !each.path.empty()) { // a check has none
                        made.emplace_back(protocol::last_name(each.path));
                    }
                }
                tell(&machine::created, r.error, made, in_queue);
            },
            0, reserved_);
    }

    void remove_directory()
    {
        core().submit(make_request(has_queue()
                                       ? guarded({remove_op(state_->leases)})
                                       : zk::call{.op = zk::opcode::remove, .path = state_->leases},
                                   on_loss::fail, [](zk::reply&&) {}));
    }

    // The answers of the ancestors come before the last one.
    void make_directory()
    {
        const auto made = std::make_shared<std::vector<error_code>>();
        for (const auto& each : protocol::path_and_ancestors(state_->leases)) {
            const bool last = each == state_->leases;
            submit(
                {.op = zk::opcode::create,
                 .path = each,
                 .data = last && of().permits ? protocol::permits::maximum_text(*of().permits) : "",
                 .mode = create_mode::container,
                 .acl = of().options.acl ? *of().options.acl : core().options().acl},
                on_loss::report, [this, made, last](zk::reply&& r) {
                    made->push_back(r.error);
                    if (last) {
                        tell(&machine::directory_made, protocol::outcome_of_making(*made));
                    }
                });
        }
    }

    // ---- waiting

    // The waits keep this object alive: a client that is closed ends them last of all.
    void wait_for_change()
    {
        report_.waits(reasons(boot_clock::now()), weak_from_this());
        waiting_ = cancel_link_ptr{new cancel_link{of().core}};
        const auto over = [self = shared_from_this(), wait = waiting_](auto&&...) {
            if (self->waiting_ == wait) {
                self->end_wait();
            }
        };
        for (const auto* each : {&list_watch_, &limit_watch_}) {
            if (*each) {
                (*each)->wait(
                    function_operation<error_code, watch_event>::make(of().core, nullptr, over));
            }
        }
        access::start_wait_lost<held_lock>(
            of().core, function_operation<error_code, error_code>::make(of().core, waiting_, over),
            access::held(queue_).driver, access::held(queue_).turn);
    }

    // After it the protocol forgets the watches, or reads anew what they watch: none is waited for twice.
    void end_wait()
    {
        if (const auto link = std::exchange(waiting_, nullptr)) {
            link->request(asio::cancellation_type::terminal);
            tell(&machine::changed);
        }
    }

    [[nodiscard]] std::function<void()> resume()
    {
        return [weak = weak_from_this()] {
            if (const auto self = weak.lock()) {
                self->tell(&machine::paused);
            }
        };
    }

    void cut_short()
    {
        for (auto at = open_.begin(); at != open_.end();) {
            auto& each = **at++; // which goes with its answer
            if (each.policy == on_loss::repeat || core().is_waiting(each)) {
                core().abandon(each, asio::error::operation_aborted);
            }
        }
        if (const auto link = locking_) {
            link->request(asio::cancellation_type::total);
        }
        end_wait();
        tell(&machine::paused);
    }

    // ---- the log

    // The waiters after this one wait for the lock of the queue.
    std::optional<std::chrono::nanoseconds> remind(std::chrono::nanoseconds now) override
    {
        if (!op_ || core().unavailable()) {
            return std::nullopt;
        }
        if (waiting_ && core().is_connected()) {
            ask_first_in_queue(of().core, state_->leases, protocol::permits::lease_layout(), {},
                               [weak = weak_from_this()](std::optional<asked_holder> found) {
                                   if (const auto self = weak.lock(); self && self->op_) {
                                       self->asked_ = std::move(found);
                                       self->report_.still_waits(self->reasons(boot_clock::now()));
                                   }
                               });
        } else {
            report_.still_waits(reasons(now));
        }
        return report_.next(now);
    }

    // Empty when nothing is known.
    [[nodiscard]] std::string reasons(std::chrono::nanoseconds now) const
    {
        if (!core().is_connected()) {
            return "without a connection to the servers";
        }
        const auto taken = has_queue() ? protocol_.taken() : std::nullopt;
        return taken ? permits_words(std::to_string(*taken), protocol_.limit(), asked_, now) : "";
    }

    // ---- the outcome

    // There are too few permits; or not in time.
    void refuse()
    {
        const bool tries = until_ == at_once;
        const auto now = tries ? std::string{} : reasons(boot_clock::now());
        const auto why = now.empty() ? now : "; " + now;
        if (!tries) {
            report_.gave_up("its time is over" + why);
        }
        if (op_ && op_->told() != nullptr) {
            op_->tell(tries          ? of().about("too few permits are free")
                      : why_.empty() ? of().about("not granted in time" + why)
                                     : why_);
        }
        complete({}, access::make<permit>(of().core));
    }

    [[nodiscard]] permit permit_for(std::vector<std::string> nodes)
    {
        std::ranges::transform(nodes, nodes.begin(), [this](auto& name) { return lease(name); });
        const auto kept = std::make_shared<permit_lease>(state_, nodes);
        kept->begin();
        core().count.granted_by_servers.fetch_add(1, std::memory_order_relaxed);
        (op_ ? core().count.locks_granted : core().count.granted_inside)
            .fetch_add(1, std::memory_order_relaxed);
        return access::make<permit>(of().core, kept, std::move(nodes));
    }

    void grant(const std::vector<std::string>& names)
    {
        report_.granted();
        auto p = permit_for(names);
        if (op_ && op_->observed.of != nullptr) {
            auto& o = op_->observed;
            o.granted = boot_clock::now().count();
            o.source = report_.has_waited() ? grant_source::handed_over : grant_source::free;
            access::held(p)->observe({o.id, o.part_of, o.granted});
        }
        complete({}, std::move(p));
    }

    void fail(const command& c)
    {
        const bool refused = may_be_refused(c.error) && !refusal_.empty();
        auto words = refused ? refusal_ : c.error.message();
        if (c.error == errc::conflicting_maximum) {
            words = "here it has " +
                    (of().permits ? std::to_string(*of().permits) : "a counter of") +
                    " permits, and " + std::to_string(c.number) + " elsewhere";
        } else if (c.error == errc::invalid_counter) {
            words = "the counter " + of().counter + " holds " + std::to_string(c.number) +
                    " bytes, or a negative number";
        }
        if (why_.empty() || c.error == errc::conflicting_kind) {
            why_ = of().about(words);
        }
        if (c.error.category() == colock_category() && !refused) {
            core().note_error(why_);
        }
        give_up(c.error, words);
    }

    // Nobody else tells: the caller may have its outcome.
    void tell_what_may_remain()
    {
        if (unsure_in_ != 0 && unsure_in_ == core().session() && !core().unavailable()) {
            core().log(log_level::error,
                       of().about("nodes of permits may remain until the session ends" +
                                  (refusal_.empty() ? std::string{} : ": " + refusal_)));
        }
    }

    void give_up(const error_code& ec, const std::string& why)
    {
        report_.gave_up(why);
        complete(ec, {});
    }

    [[nodiscard]] const semaphore_config& of() const noexcept { return state_->of; }
    [[nodiscard]] client_core& core() const noexcept { return *state_->of.core; }

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
    operation_ptr<error_code, permit> op_; // until the caller has its outcome
    std::string why_;                      // what the last error is about
    std::string refusal_;                  // of the servers, the last one: in words
    const deadline until_;
    std::size_t reserved_ = 0;    // of the session's room
    std::int64_t read_czxid_ = 0; // of the directory, when its data were read
    std::int64_t unsure_in_ = 0;  // in this session a create may have been carried out; 0: in none
    wait_report report_;
    std::optional<asked_holder> asked_; // who has a permit
    machine protocol_;
    machine_runner<command> runner_;

    std::optional<zk::timer> deadline_timer_;
    pauses pace_;

    cancel_link_ptr locking_;                               // of the last wait for the queue's lock
    held_lock queue_;                                       // the queue's lock
    std::shared_ptr<watch_state> list_watch_, limit_watch_; // a watch is forgotten with its pointer
    cancel_link_ptr waiting_;                               // while a change is waited for
    std::list<request*> open_;                              // requests that may be cut short
};

} // namespace

void begin_to_acquire(std::shared_ptr<semaphore_state> of, operation_ptr<error_code, permit> op,
                      std::int64_t count, deadline until)
{
    std::make_shared<permit_acquisition>(std::move(of), std::move(op), count, until)->start();
}

} // namespace colock::detail
