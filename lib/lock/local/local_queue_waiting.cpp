// The words for the log, and for callers whose deadline has passed: which users wait in a local_queue, and why.
#include "lock/local/holder_query.hpp"
#include "lock/local/local_queue_outcome.hpp"
#include "protocol/waiting_report.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock::detail {

using std::chrono::nanoseconds;

// ---- under the mutex: what happens

void local_queue::note_wait(waiter& op, nanoseconds now)
{
    if (!notes_wait_times_) {
        return;
    }
    op.tag = static_cast<std::uint64_t>(now.count());
    if (!std::exchange(reminded_, true)) {
        needs_reminder_.store(true, std::memory_order_relaxed);
    }
    const bool held_here = holder_ && cohort_.users() != 0;
    if (logs_ && (held_here || (contender_ && notes_ && notes_->logged))) { // else blocked() tells
        core_->add_line(log_level::debug,
                        waiting_words(name(), reason_words(reasons(cohort_.waiting() - 1), now)));
    }
}

// It is not granted: it is cancelled, or its time is over.
void local_queue::note_end_of_wait(waiter& op, const error_code& answer)
{
    const bool cancelled = answer == asio::error::operation_aborted;
    if (!logs_ && (cancelled || op.told() == nullptr)) {
        return;
    }
    const auto now = boot_clock::now();
    const auto why = answer ? answer.message() : reason_words(reasons(waiters_before(op)), now);
    if (!cancelled && op.told() != nullptr) {
        op.tell((kind() == lock_kind::semaphore_queue ? "" : "lock ") + name() +
                ": not granted in time" + (why.empty() ? "" : "; " + why));
    }
    if (logs_) {
        core_->add_line(log_level::debug,
                        "gave up waiting for " + name() + " after " +
                            time_words(now - nanoseconds{op.tag}) +
                            (cancelled ? ": cancelled"
                                       : ": its time is over" + (why.empty() ? "" : "; " + why)));
    }
}

void local_queue::note_failure(const error_code& ec)
{
    if (logs_ && !waiting_.empty()) {
        core_->add_line(log_level::debug, "gave up waiting for " + name() + ": " + ec.message());
    }
}

void local_queue::note_grant(std::uint64_t waited_since, outcome& out)
{
    if (!notes_wait_times_) {
        return;
    }
    const auto now = out.time();
    if (users_here_ && !shared_) { // readers that come and go hide how long each of them stays
        users_here_->enter(now);
    }
    if (logs_grants()) {
        core_->add_line(log_level::debug,
                        "granted " + name() +
                            (waited_since != 0
                                 ? " after " + time_words(now - nanoseconds{waited_since})
                                 : std::string{}));
    }
}

// `leaves`: the client deletes the node.
void local_queue::note_release(bool leaves, bool handed_off)
{
    if (logs_grants()) {
        core_->add_line(log_level::debug,
                        handed_off ? "handed " + name() + " off to the next waiter of this client"
                        : leaves
                            ? "released " + name()
                            : "released " + name() + "; this client keeps its node for a while");
    }
}

void local_queue::note_still_waiting(nanoseconds now)
{
    const auto& first = waiting_.front();
    const auto others = cohort_.waiting() - 1;
    core_->add_line(log_level::debug, still_waiting_words(name(), now - nanoseconds{first.tag},
                                                          reason_words(reasons(0), now), others));
}

void local_queue::suspect(nanoseconds began, nanoseconds now)
{
    if (const auto since = users_here_ ? users_here_->suspect(began) : std::nullopt) {
        core_->add_line(log_level::info, suspicion_words(path(), kind(), now - *since));
    }
}

// ---- under the mutex: what it is about

std::string local_queue::name() const
{
    return name_words(path(), kind()) + (shared_ ? " for reading" : "");
}

// An acquisition of permits sees the permits that are granted, and not its place in the semaphore's queue.
bool local_queue::logs_grants() const noexcept
{
    return logs_ && kind() != lock_kind::semaphore_queue;
}

// Only where it is asked for: the list may be long.
std::size_t local_queue::waiters_before(const waiter& op) const
{
    return static_cast<std::size_t>(std::distance(waiting_.begin(), waiters::s_iterator_to(op)));
}

wait_reasons local_queue::reasons(std::size_t before) const
{
    wait_reasons why{.connected = core_->connection_id() != 0,
                     .held_here = holder_ && cohort_.users() != 0,
                     .local = before};
    if (why.held_here) {
        why.held_since = users_here_ && !shared_ ? users_here_->since() : std::nullopt;
    } else if (contender_ && notes_) {
        why.ahead = notes_->ahead;
        why.asked = notes_->asked;
    }
    return why;
}

std::shared_ptr<local_queue> local_queue::kept_for_log()
{
    const bool reports = notes_wait_times_ &&
                         (needs_reminder_.load(std::memory_order_relaxed) || core_->has_lines());
    return reports ? shared_from_this() : nullptr;
}

// Where the watches of the contender do not tell.
bool local_queue::can_ask_who_holds() const
{
    return contender_ && notes_ && !(holder_ && cohort_.users() != 0) && !notes_->ahead.holder &&
           notes_->ahead.count.value_or(0) != 0 && core_->connection_id() != 0;
}

// ---- on the strand

void local_queue::blocked(const contender_driver& driver, contenders_ahead now)
{
    {
        const std::lock_guard lock{mutex_};
        if (contender_.get() != &driver || now == (notes_ ? notes_->ahead : contenders_ahead{})) {
            return;
        }
        if (!notes_) {
            notes_ = std::make_unique<wait_notes>();
        }
        if (notes_->ahead.count != now.count) {
            notes_->asked.reset(); // others are before it now
        }
        notes_->ahead = std::move(now);
        const auto& known = notes_->ahead;
        const bool waits = known.drains || known.holder || known.count.value_or(0) != 0;
        if (observed_ != nullptr) {
            notes_->blocked |= waits || !known.holder_node.empty();
            if (!known.holder_node.empty()) {
                notes_->seen = {known.holder_node, known.holder.value_or("")};
            }
        }
        if (!logs_ || notes_->logged || !waits || known.asking || waiting_.empty()) {
            return;
        }
        notes_->logged = true;
        auto why = reasons(0);
        why.ahead.all_watched = true; // as good: the contender has listed the queue just now
        auto text = waiting_words(name(), reason_words(why, boot_clock::now()));
        if (const auto others = cohort_.waiting() - 1; others != 0) {
            text += others_words(others);
        }
        core_->add_line(log_level::debug, std::move(text));
    }
    core_->send_lines();
}

void local_queue::begin_reminders()
{
    nanoseconds first{0};
    {
        const std::lock_guard lock{mutex_};
        reminded_ = !waiting_.empty() && !core_->unavailable();
        if (!reminded_) {
            return;
        }
        first = nanoseconds{waiting_.front().tag} + protocol::first_waiting_report;
    }
    core_->remind(weak_from_this(), first);
}

std::optional<nanoseconds> local_queue::remind(nanoseconds now)
{
    nanoseconds next{0};
    bool asks = false;
    {
        const std::lock_guard lock{mutex_};
        reminded_ = !waiting_.empty() && !core_->unavailable();
        if (!reminded_) {
            return std::nullopt;
        }
        const nanoseconds began{waiting_.front().tag};
        next = protocol::next_waiting_report(began, now);
        if (now - began >= protocol::first_waiting_report) {
            // Each waiter of a queue that moves may have waited for so long.
            next = std::max(next, now + protocol::first_waiting_report);
            suspect(began, now);
            if (logs_ && can_ask_who_holds()) {
                asks = !std::exchange(asking_, true);
            } else if (logs_) {
                note_still_waiting(now);
            }
        }
    }
    if (asks) {
        ask_who_holds();
    }
    core_->send_lines();
    return next;
}

void local_queue::ask_who_holds()
{
    std::weak_ptr<contender_driver> contender;
    std::string own_name;
    std::optional<std::size_t> count;
    {
        const std::lock_guard lock{mutex_};
        contender = contender_;
        own_name = contender_ ? contender_->own_name() : std::string_view{};
        count = notes_ ? notes_->ahead.count : std::nullopt;
    }
    ask_first_in_queue(
        core_, path(), *options().layout, std::move(own_name),
        [weak = weak_from_this(), contender, count](std::optional<asked_holder> found) {
            const auto self = weak.lock();
            if (!self) {
                return;
            }
            {
                const std::lock_guard lock{self->mutex_};
                self->asking_ = false;
                if (self->waiting_.empty()) {
                    return;
                }
                // Else the first one may be the waiters' own node by now.
                if (self->notes_ && self->notes_->ahead.count == count &&
                    self->contender_ == contender.lock()) {
                    self->notes_->asked = std::move(found);
                }
                self->note_still_waiting(boot_clock::now());
            }
            self->core_->send_lines();
        });
}

// ---- any thread, without the mutex

void local_queue::report()
{
    core_->send_lines();
    if (needs_reminder_.load(std::memory_order_relaxed) && needs_reminder_.exchange(false)) {
        core_->post([weak = weak_from_this()] {
            if (const auto self = weak.lock()) {
                self->begin_reminders();
            }
        });
    }
}

} // namespace colock::detail
