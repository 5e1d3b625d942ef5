#include "lock/path_report.hpp"

#include <new>
#include <utility>

namespace colock::detail {

namespace {

std::shared_ptr<const observed_path> observed_path_of(const client_core& core,
                                                      const lock_config& config)
{
    auto* const to = core.telemetry();
    return to != nullptr && config.kind.queue_of.empty()
               ? std::make_shared<const observed_path>(
                     observed_path{*to, config.path, config.kind.observed_as})
               : nullptr;
}

std::shared_ptr<users_of_path> users_for_log(const client_core& core, const lock_kind& kind)
{
    return core.logs(log_level::info) && !kind.expects_long_waits
               ? std::make_shared<users_of_path>()
               : nullptr;
}

} // namespace

path_report::path_report(const std::shared_ptr<client_core>& core, lock_config_ptr config,
                         std::atomic<bool>& listens)
    : core_{*core}, config_{std::move(config)}, observed_{observed_path_of(*core, *config_)},
      users_here_{users_for_log(*core, config_->kind)}, shared_{false},
      logs_{core->logs(log_level::debug)}, listens_{listens}
{
    listens_ = logs_ || observed_;
}

path_report::path_report(const path_report& of_path, bool shared, std::atomic<bool>& listens)
    : core_{of_path.core_}, config_{of_path.config_}, observed_{of_path.observed_},
      users_here_{of_path.users_here_}, shared_{shared}, logs_{of_path.logs_}, listens_{listens}
{
    listens_ = logs_ || observed_;
}

// ---- any thread

void path_report::begins(observation& o, bool shared) const
{
    if (observed_ && o.of == nullptr) {
        observed_->to.begin(o, *observed_, shared);
    }
}

void path_report::tell(const of_input& input, time now) const
{
    for (const auto& each : input.ended) {
        observed_->to.end_hold(*observed_, shared_, each.of, now, each.loss, each.margin);
    }
}

// ---- users

void path_report::waits(waiter& op, bool has_deadline, time now, const situation& s)
{
    if (has_deadline && op.told() != nullptr) {
        listens_.store(true, std::memory_order_relaxed);
    }
    if (!notes_times()) {
        return;
    }
    op.tag = static_cast<std::uint64_t>(now.count());
    if (logs_ && (s.held_here || (notes_ && notes_->logged))) { // else blocked() tells
        line(waiting_words(name(), reason_words(reasons(s, s.waiting - 1), now)));
    }
}

void path_report::nobody_waits()
{
    handing_off_ = 0;
    if (!logs_ && !observed_) {
        listens_.store(false, std::memory_order_relaxed);
        notes_.reset(); // nobody tells what changes from here on
    }
}

void path_report::gives_up(waiter& op, const error_code& answer, const local_users& among)
{
    name_holder(op);
    const bool cancelled = answer == asio::error::operation_aborted;
    if (!logs_ && (cancelled || op.told() == nullptr)) {
        return;
    }
    const auto now = boot_clock::now();
    const auto why = answer ? answer.message()
                            : reason_words(reasons(among.known(), among.waiters_before(op)), now);
    const auto because = why.empty() ? std::string{} : "; " + why;
    if (!cancelled && op.told() != nullptr) {
        op.tell((config_->kind.queue_of.empty() ? "lock " : "") + name() + ": not granted in time" +
                because);
    }
    if (logs_) {
        line("gave up waiting for " + name() + " after " + time_words(now - time{op.tag}) +
             (cancelled ? ": cancelled" : ": its time is over" + because));
    }
}

void path_report::fails(const error_code& ec, const situation& s)
{
    if (logs_ && s.waiting != 0) {
        line("gave up waiting for " + name() + ": " + ec.message());
    }
}

void path_report::name_holder(waiter& op) const
{
    if (observed_ && notes_ && notes_->seen) {
        op.observed.holder = new seen_holder{*notes_->seen};
    }
}

void path_report::granted(waiter& op, std::uint64_t waited_since, node_users& by, of_input& input,
                          time now)
{
    if (users_here_ && !shared_) { // readers that come and go hide how long each of them stays
        users_here_->enter(now);
    }
    grant_line([&] {
        return "granted " + name() +
               (waited_since != 0 ? " after " + time_words(now - time{waited_since}) : "");
    });
    if (!observed_) {
        return;
    }
    auto& o = op.observed;
    o.granted = now.count();
    o.source = input.source;
    const auto late = std::exchange(handing_off_, 0);
    if (input.source == grant_source::handed_off) {
        o.previous = input.first_ended();
    } else if (input.source == grant_source::kept_node && late != 0) {
        o.source = grant_source::handed_off;
        o.previous = late;
    } else if (input.waited_for) {
        o.holder = new seen_holder{*input.waited_for};
    }
    if (!by.observed) {
        by.observed = std::make_unique<decltype(by.observed)::element_type>();
    }
    by.observed->emplace(op.tag, observed_hold{o.id, o.part_of, o.granted});
}

void path_report::released(bool leaves, bool handed_off)
{
    grant_line([&] {
        return handed_off ? "handed " + name() + " off to the next waiter of this client"
               : leaves   ? "released " + name()
                          : "released " + name() + "; this client keeps its node for a while";
    });
}

void path_report::hand_off_waits(const of_input& input) noexcept
{
    handing_off_ = input.first_ended();
}

void path_report::turn_ends(node_users& by, std::uint64_t turn, const error_code& loss, time margin,
                            of_input& input)
{
    if (loss) {
        node_lost(by, loss, margin, input);
    } else {
        core_.count.locks_released.fetch_add(1, std::memory_order_relaxed);
        if (!by.observed) {
            return;
        }
        if (const auto at = by.observed->find(turn); at != by.observed->end()) {
            input.ended.push_back({at->second, {}, margin});
            by.observed->erase(at);
        }
    }
}

void path_report::node_lost(node_users& of, const error_code& why, time margin, of_input& input)
{
    if (!std::exchange(of.loss_counted, true)) {
        core_.count_losses(why, of.users);
        if (const auto all = std::exchange(of.observed, nullptr)) {
            for (const auto& [turn, each] : *all) {
                input.ended.push_back({each, why, margin});
            }
        }
    }
}

void path_report::user_leaves() const
{
    if (users_here_ && !shared_) {
        users_here_->leave();
    }
}

// ---- the contender

void path_report::contender_granted(of_input& input)
{
    input.source = notes_ && notes_->blocked ? grant_source::handed_over : grant_source::free;
    if (notes_ && notes_->seen) {
        input.waited_for = std::make_unique<seen_holder>(*std::move(notes_->seen));
    }
    notes_.reset();
}

void path_report::blocked(contenders_ahead now, const situation& s)
{
    if (now == (notes_ ? notes_->ahead : contenders_ahead{})) {
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
    const bool waits = known.stands_by || known.holder || known.count.value_or(0) != 0;
    if (observed_) {
        notes_->blocked |= waits || !known.holder_node.empty();
        if (!known.holder_node.empty()) {
            notes_->seen = {known.holder_node, known.holder.value_or("")};
        }
    }
    if (!logs_ || notes_->logged || !waits || known.asking || s.waiting == 0) {
        return;
    }
    notes_->logged = true;
    auto why = reasons(s, 0);
    why.ahead.all_watched = true; // as good: the contender has listed the queue just now
    auto text = waiting_words(name(), reason_words(why, boot_clock::now()));
    if (s.waiting != 1) {
        text += others_words(s.waiting - 1);
    }
    line(std::move(text));
}

// ---- who waits for long

void path_report::suspect(time began, time now)
{
    if (const auto since = users_here_ ? users_here_->suspect(began) : std::nullopt) {
        core_.add_line(log_level::info,
                       suspicion_words(config_->path, config_->kind, now - *since));
    }
}

void path_report::still_waits(time began, time now, const situation& s)
{
    if (!logs_) {
        return;
    }
    line(still_waiting_words(name(), now - began, reason_words(reasons(s, 0), now), s.waiting - 1));
}

std::optional<std::size_t> path_report::asks_who_holds(const situation& s) const
{
    const bool asks = logs_ && notes_ && s.has_contender && !s.held_here && !notes_->ahead.holder &&
                      notes_->ahead.count.value_or(0) != 0 && core_.connection_id() != 0;
    return asks ? notes_->ahead.count : std::nullopt;
}

void path_report::found_holder(std::optional<std::size_t> before, std::optional<asked_holder> found)
{
    if (notes_ && notes_->ahead.count == before) {
        notes_->asked = std::move(found);
    }
}

wait_reasons path_report::reasons(const situation& s, std::size_t before) const
{
    wait_reasons why{
        .connected = core_.connection_id() != 0, .held_here = s.held_here, .local = before};
    if (why.held_here) {
        why.held_since = users_here_ && !shared_ ? users_here_->since() : std::nullopt;
    } else if (s.has_contender && notes_) {
        why.ahead = notes_->ahead;
        why.asked = notes_->asked;
    }
    return why;
}

std::string path_report::name() const
{
    return name_words(config_->path, config_->kind) + (shared_ ? " for reading" : "");
}

// A grant or a release goes on where there is no memory for its line. An acquisition of permits sees the permits that are granted,
// and not its place in the semaphore's queue.
template <class Words>
void path_report::grant_line(Words words) const
{
    if (!logs_ || !config_->kind.queue_of.empty()) {
        return;
    }
    try {
        line(words());
    } catch (const std::bad_alloc&) { // the log misses it
    }
}

} // namespace colock::detail
