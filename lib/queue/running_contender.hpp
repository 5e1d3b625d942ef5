// A protocol::contender, or protocol::single_node, that runs on a client: takes inputs, and has what it orders carried out.
#pragma once

#include "queue/contender.hpp"
#include "queue/lease.hpp"
#include "queue/lock_config.hpp"
#include "queue/repetition.hpp"
#include "queue/single_node.hpp"
#include "session/machine_runner.hpp"
#include "session/pacer.hpp"
#include "zk/entropy.hpp"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace colock::detail {

class running_contender;

// The nodes of a single_node_mutex that contenders of this client know to be theirs, by czxid: their name does not tell whose they
// are. On the strand.
class claimed_nodes {
public:
    // `czxid`: 0 when it has none.
    void claim(const running_contender& by, std::int64_t czxid)
    {
        std::erase_if(nodes_, [&](const auto& each) { return each.first == &by; });
        if (czxid != 0) {
            nodes_.emplace_back(&by, czxid);
        }
    }
    [[nodiscard]] bool has_another(const running_contender& than, std::int64_t czxid) const noexcept
    {
        return std::ranges::any_of(
            nodes_, [&](const auto& each) { return each.first != &than && each.second == czxid; });
    }
    [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }

private:
    // By whom, which is only compared.
    std::vector<std::pair<const running_contender*, std::int64_t>> nodes_;
};

// The pause of a command that repeats what was in vain. repetition.hpp says which do. On the strand.
class command_pause {
public:
    // Returns whether there is one: the first repetition needs none. `over` is called when its time is over, unless it ends
    // before.
    template <class Over>
    [[nodiscard]] bool begin(const zk::strand_type& strand, protocol::repetition::cause why,
                             Over over)
    {
        if (!pacer_) {
            pacer_ = std::make_unique<protocol::pacer>(zk::random_seed());
        }
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        const auto pause =
            why == protocol::repetition::cause::event ? pacer_->fired(now) : pacer_->refused(now);
        if (pause <= pause.zero()) {
            return false;
        }
        timer_ = std::make_shared<zk::timer>(strand, pause);
        timer_->async_wait([mine = std::weak_ptr{timer_}, over](const error_code&) {
            if (const auto timer = mine.lock()) {
                over();
            }
        });
        return true;
    }
    // Its time is over, or it is of no use any more. Returns whether there was one.
    bool end() noexcept { return std::exchange(timer_, nullptr) != nullptr; }
    [[nodiscard]] bool runs() const noexcept { return timer_ != nullptr; }

    // The next pause is the first again.
    void progressed() noexcept
    {
        if (pacer_) {
            pacer_->progressed();
        }
    }

private:
    std::unique_ptr<protocol::pacer> pacer_; // since the first repetition
    std::shared_ptr<zk::timer> timer_;       // while it runs; nobody else keeps it
};

// Whose contender it is: what it decides, and what was learnt of its node and of others'. On the strand.
class contender_owner : public std::enable_shared_from_this<contender_owner> {
public:
    virtual void carry_out(const protocol::command& c) = 0;
    virtual void carried_out() = 0; // all that was decided until now
    virtual void met(protocol::remote_contention c) = 0;
    virtual void asked_for_node() = 0; // by somebody, for the first time
    [[nodiscard]] virtual const lock_config& config() const noexcept = 0;
    [[nodiscard]] virtual const lease& loss() const noexcept = 0;
    // Whether it wants to know who has the lock.
    [[nodiscard]] virtual bool listens() const noexcept = 0;
    // Without a queue.
    [[nodiscard]] virtual claimed_nodes& claimed() const noexcept = 0;

protected:
    ~contender_owner() = default;
};

// Commands go out in the order in which they were decided, those of one input together. One that repeats what was in vain has a
// pause before, and those after it wait, too; reports do not. On the strand.
class running_contender {
public:
    running_contender(contender_owner& owner, const lock_config_ptr& config, bool shared,
                      bool lingers);

    // ---- inputs: functions of the contender and of the commands that follow. One that is not for this kind of contender does
    // nothing; nor does any when it is over. What an input gives back is what it learnt of contenders of other clients.

    template <class Input>
    void feed(Input&& input);
    // The same of an answer; of the answer to a watched read, with the czxid of a node of another client; of a watch.
    template <class Input>
    void answered(const error_code& ec, Input&& input)
    {
        repetition_.answered(ec);
        follow(input);
    }
    template <class Input>
    void watched(const error_code& ec, std::int64_t czxid, Input&& input)
    {
        if (repetition_.watched(ec, czxid)) {
            pause_.progressed();
        }
        follow(input);
    }
    template <class Input>
    void fired(bool deleted, Input&& input)
    {
        repetition_.fired(deleted);
        follow(input);
    }

    // The connection is lost, and the requests are answered. Nothing follows.
    void suspended()
    {
        std::visit([](auto& c) { c.suspended(); }, contender_);
    }
    void end_pause();
    // Nothing is carried out any more.
    void stop() noexcept;

    // ---- what it knows

    template <class Question>
    [[nodiscard]] auto ask(Question&& question) const
    {
        return std::visit(question, contender_);
    }
    [[nodiscard]] bool is_over() const noexcept { return over_; }
    [[nodiscard]] bool holds() const noexcept
    {
        return ask([](auto& c) { return c.holds(); });
    }
    [[nodiscard]] bool is_late() const noexcept
    {
        const auto* const c = std::get_if<protocol::contender>(&contender_);
        return c != nullptr && c->is_late();
    }
    [[nodiscard]] auto contention() const noexcept
    {
        return ask([](auto& c) { return c.contention(); });
    }
    [[nodiscard]] std::string_view own_name() const noexcept
    {
        return ask([](const auto& c) -> std::string_view { return c.name(); });
    }

    [[nodiscard]] contender_owner& owner() const noexcept { return owner_; }
    [[nodiscard]] client_core& core() const noexcept { return owner_.loss().core(); }

private:
    template <class Input>
    void follow(Input& input)
    {
        feed(input);
        repetition_.forget_answer();
    }
    void claim();
    void carry_out();
    // Returns false when it has to wait.
    [[nodiscard]] bool carry_out(const protocol::command& c);

    contender_owner& owner_;
    std::variant<protocol::contender, protocol::single_node> contender_;
    machine_runner<protocol::command> runner_;
    protocol::repetition repetition_;
    command_pause pause_;     // of the first command
    bool was_paused_ = false; // the first command
    bool over_ = false;
};

template <class Input>
void running_contender::feed(Input&& input)
{
    if (over_) {
        return;
    }
    const auto self = owner_.shared_from_this();
    auto& out = runner_.decided();
    std::optional<protocol::remote_contention> known;
    std::visit(
        [&]<class Contender>(Contender& c) {
            // Where the bound is very near, a proof comes first: else the lock would be lost as soon as it is held. A
            // proof moves the bound by more than that.
            c.assume_safe(owner_.loss().remaining(boot_clock::now()) > core().options().tick / 8);
            if constexpr (std::invocable<Input&, Contender&, protocol::commands&>) {
                if constexpr (std::is_void_v<decltype(input(c, out))>) {
                    input(c, out);
                } else {
                    known = input(c, out);
                }
            }
            repetition_.blocked_by(c.blockers().count.value_or(0));
        },
        contender_);
    claim();
    if (pause_.runs() && std::ranges::any_of(out, &protocol::command::is_report)) {
        end_pause();
    } else {
        carry_out();
    }
    if (known) {
        owner_.met(*known);
    }
}

} // namespace colock::detail
