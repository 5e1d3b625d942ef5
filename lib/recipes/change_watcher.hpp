// Waiting until something on the servers differs from what a user has seen of it.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/operation.hpp>
#include <colock/diagnostics.hpp>

#include "recipes/borrowed_client.hpp"
#include "recipes/pauses.hpp"
#include "session/core.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

// Looks, and looks again whenever a watch fires that the last look has set, until it finishes. On the strand, from
// start() on. What is under way keeps it alive.
template <class Result>
class change_watcher : public std::enable_shared_from_this<change_watcher<Result>> {
public:
    change_watcher(std::shared_ptr<client_core> core, operation_ptr<error_code, Result> op)
        : core_{std::move(core)}, op_{std::move(op)}
    {
    }
    virtual ~change_watcher() = default;

    void start()
    {
        if (const auto link = op_.cancellation()) {
            link->bind([this](asio::cancellation_type) {
                const auto self = this->shared_from_this();
                fail(asio::error::operation_aborted);
                inner_.emit(asio::cancellation_type::terminal);
            });
        }
        if (op_) { // else it was cancelled before
            begin();
        }
    }

protected:
    virtual void begin() { look(); } // where input can be refused
    virtual void look() = 0;

    // A handler for what this object asks for: on the strand, and not when it is over.
    template <class Answer, class Then>
    auto guarded(Then then)
    {
        auto words = std::make_shared<diagnostics>();
        auto& to = *words;
        return bind_diagnostics(
            to, asio::bind_executor(
                    core_->strand(),
                    asio::bind_cancellation_slot(
                        inner_.slot(), [self = this->shared_from_this(), words = std::move(words),
                                        then](error_code ec, Answer answer) {
                            if (self->op_) { // else it is over
                                self->why_ = words->message();
                                then(ec, std::move(answer));
                            }
                        })));
    }

    void look_again_after(watch changes)
    {
        std::vector<watch> all;
        all.push_back(std::move(changes));
        look_again_after_any(std::move(all));
    }
    void look_again_after_any(std::vector<watch> changes)
    {
        changes_ = std::move(changes);
        for (auto& each : changes_) {
            each.async_wait(guarded<watch_event>([this](const error_code& ec, watch_event&&) {
                if (changes_.empty()) {
                    return; // another one was first, and has dropped this one
                }
                changes_.clear();
                if (ec) {
                    fail(ec);
                } else {
                    look_again();
                }
            }));
        }
    }

    // Of a node that is not there: at once, if it is by now.
    void look_again_when_created(std::string path)
    {
        zk().async_watch_exists(
            std::move(path),
            guarded<watched<std::optional<node_stat>>>(
                [this](const error_code& ec, watched<std::optional<node_stat>>&& found) {
                    if (ec) {
                        fail(ec);
                    } else if (found.value) {
                        look_again();
                    } else {
                        look_again_after(std::move(found.changes));
                    }
                }));
    }

    void look_again()
    {
        pace_.after_event(*core_, [self = this->shared_from_this()] {
            if (self->op_) { // else it is over
                self->look();
            }
        });
    }

    void finish(Result now) { complete({}, std::move(now)); }
    void fail(const error_code& ec, const std::string& about = {})
    {
        op_->explain(ec, [&] { return why_.empty() ? words_about(about, ec) : why_; });
        complete(ec, {});
    }
    void refuse(const error_code& ec, std::string detail)
    {
        op_->explain(ec, detail);
        core_->note_error(detail);
        fail(ec);
    }

    [[nodiscard]] client& zk() noexcept { return *client_; }

private:
    void complete(const error_code& ec, Result now)
    {
        changes_.clear();
        std::exchange(op_, {}).complete(ec, std::move(now));
    }

    const std::shared_ptr<client_core> core_;
    borrowed_client client_{core_};
    operation_ptr<error_code, Result> op_;
    asio::cancellation_signal inner_;
    std::vector<watch> changes_; // one of them is enough
    std::string why_;            // what was asked for last has failed, with path and permission
    pauses pace_;
};

// Begins one, from any thread.
template <class Observation, class... Args>
void watch_changes(const std::shared_ptr<client_core>& core, Args... args)
{
    core->dispatch([it = std::make_shared<Observation>(core, std::move(args)...)] { it->start(); });
}

} // namespace colock::detail
