// A protocol::contender, or protocol::single_node, at work: takes inputs, and has its commands carried out in order.
#pragma once

#include "queue/command_pause.hpp"
#include "queue/contender.hpp"
#include "queue/lease.hpp"
#include "queue/lock_config.hpp"
#include "queue/repetition.hpp"
#include "queue/single_node.hpp"
#include "session/core.hpp"
#include "session/machine_runner.hpp"

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace colock::detail {

// The nodes of a single_node_mutex that contenders of this client know to be theirs, by czxid: their name does not tell whose they
// are. On the strand.
class claimed_nodes {
public:
    // `by`: whose claim it is, which is only compared. `czxid`: 0 when it has none.
    void claim(const void* by, std::int64_t czxid)
    {
        std::erase_if(nodes_, [&](const auto& each) { return each.first == by; });
        if (czxid != 0) {
            nodes_.emplace_back(by, czxid);
        }
    }
    [[nodiscard]] bool has_another(const void* than, std::int64_t czxid) const noexcept
    {
        return std::ranges::any_of(
            nodes_, [&](const auto& each) { return each.first != than && each.second == czxid; });
    }
    [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }

private:
    std::vector<std::pair<const void*, std::int64_t>> nodes_;
};

// What the contenders of a client for one path have to know of each other, and of those whom they serve.
struct path_facts {
    std::atomic<bool> listens{false}; // whether users want to hear who blocks them
    claimed_nodes claimed;
};

// Commands go out in the order in which they were decided, those of one input together. One that repeats what was in vain has a
// pause before, and those after it wait, too; reports do not. An input only decides: whoever gives it calls run() then. On the
// strand.
class running_contender {
public:
    // `held`: until when its lock is safe.
    running_contender(const lease& held, path_facts& facts, const lock_config_ptr& config,
                      bool shared, bool lingers);

    // ---- inputs: functions of the contender and of the commands that follow. One that is not for this kind of contender does
    // nothing; nor does any when it is over.

    template <class Input>
    void feed(Input&& input);
    // What the next input is: an answer; that to a watched read, with the czxid of a node of another client; or the event of a
    // watch. forget_answer() follows when run() is done.
    void answered(const error_code& ec) { repetition_.answered(ec); }
    void watched(const error_code& ec, std::int64_t czxid)
    {
        if (repetition_.watched(ec, czxid)) {
            pause_.progressed();
        }
    }
    void fired(bool deleted) { repetition_.fired(deleted); }
    void forget_answer() noexcept { repetition_.forget_answer(); }

    // The connection is lost, and the requests are answered. Nothing follows.
    void suspended()
    {
        std::visit([](auto& c) { c.suspended(); }, contender_);
    }
    // Nothing is carried out any more.
    void stop() noexcept;

    // ---- commands

    // `perform` carries out a command. `resume` calls run() again: after a pause. Returns false, and does nothing, within another
    // run. Does nothing during a pause.
    template <class Perform, class Resume>
    bool run(const Perform& perform, const Resume& resume);
    // Ends the pause, if there is one: it is of no use any more. run() goes on then.
    bool end_pause() noexcept
    {
        const bool ended = pause_.end();
        was_paused_ |= ended;
        return ended;
    }
    // What comes after the create is not carried out before go_on(); or nothing is.
    void hold_back(bool all) noexcept { waits_ = all ? held_back::all : held_back::after_create; }
    void go_on() noexcept { waits_ = held_back::none; }

    // ---- what it knows

    template <class Question>
    [[nodiscard]] auto ask(Question&& question) const
    {
        return std::visit(question, contender_);
    }
    [[nodiscard]] bool is_over() const noexcept { return over_; }
    [[nodiscard]] bool holds() const noexcept
    {
        return ask([](const auto& c) { return c.holds(); });
    }
    [[nodiscard]] bool is_late() const noexcept
    {
        const auto* const c = std::get_if<protocol::contender>(&contender_);
        return c != nullptr && c->is_late();
    }
    [[nodiscard]] auto contention() const noexcept
    {
        return ask([](const auto& c) { return c.contention(); });
    }
    [[nodiscard]] std::string_view own_name() const noexcept
    {
        return ask([](const auto& c) -> std::string_view { return c.name(); });
    }
    [[nodiscard]] const path_facts& facts() const noexcept { return *facts_; }
    void use(path_facts& facts) noexcept { facts_ = &facts; }

private:
    enum class held_back : std::uint8_t { none, after_create, all };

    // Whether the command has to wait.
    template <class Resume>
    [[nodiscard]] bool waits(const protocol::command& c, const Resume& resume);

    const lease& held_;
    path_facts* facts_;
    std::variant<protocol::contender, protocol::single_node> contender_;
    machine_runner<protocol::command> runner_;
    protocol::repetition repetition_;
    command_pause pause_;     // of the first command
    bool was_paused_ = false; // the first command
    held_back waits_ = held_back::none;
    bool over_ = false;
};

template <class Input>
void running_contender::feed(Input&& input)
{
    if (over_) {
        return;
    }
    auto& out = runner_.decided();
    std::visit(
        [&]<class Contender>(Contender& c) {
            // Where the bound is very near, a proof comes first: else the lock would be lost as soon as it is held. A
            // proof moves the bound by more than that.
            c.assume_safe(held_.remaining(boot_clock::now()) > held_.core().options().tick / 8);
            if constexpr (std::invocable<Input&, Contender&, protocol::commands&>) {
                input(c, out);
            }
            if constexpr (std::same_as<Contender, protocol::single_node>) {
                facts_->claimed.claim(this, c.identity().czxid);
            }
            repetition_.blocked_by(c.blockers().count.value_or(0));
        },
        contender_);
    if (pause_.runs() && std::ranges::any_of(out, &protocol::command::is_report)) {
        end_pause();
    }
}

template <class Perform, class Resume>
bool running_contender::run(const Perform& perform, const Resume& resume)
{
    // The end of a batch may bring answers.
    return pause_.runs() || runner_.run(
                                [&](const protocol::command& c) {
                                    const bool now = !waits(c, resume);
                                    if (now) {
                                        perform(c);
                                    }
                                    return now;
                                },
                                [this] { return client_core::batch{held_.core()}; });
}

template <class Resume>
bool running_contender::waits(const protocol::command& c, const Resume& resume)
{
    using cause = protocol::repetition::cause;
    if (waits_ == held_back::all) {
        return true;
    }
    const auto why = c.is_request() && !std::exchange(was_paused_, false)
                         ? repetition_.is_repetition(c.type)
                         : cause::none;
    if (why != cause::none && pause_.begin(held_.core().strand(), why, resume)) {
        return true;
    }
    if (waits_ == held_back::after_create && c.type == protocol::command::kind::create) {
        waits_ = held_back::all; // from the next one on
    }
    return false;
}

} // namespace colock::detail
