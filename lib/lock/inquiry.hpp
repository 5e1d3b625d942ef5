// Several requests that together answer one operation of a user: those that only look, and those that may as
// well be sent twice.
#pragma once

#include <colock/detail/operation.hpp>
#include <colock/queue_view.hpp>

#include "client/core.hpp"
#include "protocol/naming.hpp"
#include "protocol/path.hpp"

#include <algorithm>
#include <limits>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

// On the strand, from start() on. What is under way keeps it alive.
template <class... Results>
class inquiry final : public std::enable_shared_from_this<inquiry<Results...>> {
public:
    inquiry(std::shared_ptr<client_core> core, operation_ptr<error_code, Results...> op)
        : core_{std::move(core)}, op_{std::move(op)}
    {
    }

    // Any thread.
    template <class First>
    void start(First first)
    {
        core_->dispatch([self = this->shared_from_this(), first = std::move(first)]() mutable {
            if (const auto& link = self->op_.cancellation()) {
                if (link->requested() != asio::cancellation_type::none) {
                    self->fail(asio::error::operation_aborted);
                    return;
                }
                link->bind([raw = self.get()](asio::cancellation_type) { raw->cancel(); });
            }
            const client_core::batch together{*self->core_};
            first();
        });
    }

    // While there is no connection it waits for one; it is sent again when its connection breaks.
    template <class Done>
    void ask(zk::call&& call, Done done)
    {
        const auto at = open_.insert(open_.end(), nullptr);
        auto request = make_request(
            std::move(call), on_loss::repeat,
            [self = this->shared_from_this(), at, done = std::move(done)](zk::reply&& r) mutable {
                self->open_.erase(at);
                if (self->op_) { // else it is over
                    done(std::move(r));
                }
            });
        *at = request.get();
        core_->submit(std::move(request));
    }

    [[nodiscard]] bool is_over() const noexcept { return !op_; }
    [[nodiscard]] const std::shared_ptr<client_core>& core() const noexcept { return core_; }

    void finish(const error_code& ec, Results... results)
    {
        std::exchange(op_, {}).complete(ec, std::move(results)...);
    }
    void fail(const error_code& ec) { finish(ec, Results{}...); }

    void refuse(errc ec, std::string detail)
    {
        core_->note_error(std::move(detail));
        fail(ec);
    }

private:
    // Only here are requests taken back: elsewhere one of them is being answered, by a client that may be about
    // to answer the others.
    void cancel()
    {
        const auto self = this->shared_from_this();
        fail(asio::error::operation_aborted);
        while (!open_.empty()) {
            core_->abandon(*open_.front(), asio::error::operation_aborted);
        }
    }

    const std::shared_ptr<client_core> core_;
    operation_ptr<error_code, Results...> op_;
    std::list<request*> open_;
};

template <class... Results>
[[nodiscard]] auto make_inquiry(const std::shared_ptr<client_core>& core,
                                operation_ptr<error_code, Results...> op)
{
    return std::make_shared<inquiry<Results...>>(core, std::move(op));
}

inline constexpr auto everybody = std::numeric_limits<std::size_t>::max();

// Marks those that hold the lock according to their order.
void mark_holders(std::vector<queue_entry>& entries) noexcept;
[[nodiscard]] queue_entry entry_of(const std::string& path, const protocol::entry& found);
void take_answer(queue_entry& entry, zk::reply&& r);

// Lists a queue, and passes on what stands in it, names only; a directory that does not exist is empty.
template <class... Results, class Then>
void list_queue(const std::shared_ptr<inquiry<Results...>>& of, const std::string& path,
                const layout& l, Then then)
{
    if (const auto fault = protocol::layout_fault(l); !fault.empty()) {
        of->refuse(errc::invalid_option, "the queue of " + path + ": the layout " + fault);
        return;
    }
    of->ask({.op = zk::opcode::children, .path = path},
            [raw = of.get(), path, l, then = std::move(then)](zk::reply&& r) mutable {
                if (r.error && r.error != zookeeper_errc::no_node) {
                    raw->fail(r.error);
                    return;
                }
                queue_view found;
                for (const auto& each : protocol::contenders(l, r.names)) {
                    found.entries.push_back(entry_of(path, each));
                }
                mark_holders(found.entries);
                then(std::move(found));
            });
}

// The same with what the first ones say about themselves, without those who have gone meanwhile.
template <class... Results, class Then>
void read_queue(const std::shared_ptr<inquiry<Results...>>& of, const std::string& path,
                const layout& l, std::size_t limit, Then then)
{
    struct reading {
        queue_view view;
        std::vector<bool> gone;
        std::size_t open = 0;
        bool shortened = false;
        Then then;
    };
    list_queue(of, path, l, [raw = of.get(), path, l, limit, then](queue_view&& found) {
        const auto all = std::make_shared<reading>(reading{std::move(found), {}, 0, false, then});
        auto& entries = all->view.entries;
        all->shortened = entries.size() > limit;
        entries.resize(std::min(entries.size(), limit));
        all->gone.resize(entries.size());
        all->open = entries.size() + 1;
        const auto one_done = [raw, all, path, l, limit] {
            if (--all->open != 0) {
                return;
            }
            std::size_t i = 0;
            std::erase_if(all->view.entries, [&](const auto&) { return all->gone[i++]; });
            if (all->view.entries.empty() && all->shortened) {
                // Somebody else is the first one now.
                read_queue(raw->shared_from_this(), path, l, limit, all->then);
                return;
            }
            mark_holders(all->view.entries);
            all->then(std::move(all->view));
        };
        const client_core::batch together{*raw->core()};
        for (std::size_t i = 0; i != entries.size() && !raw->is_over(); ++i) {
            raw->ask({.op = zk::opcode::get, .path = entries[i].path},
                     [raw, all, i, one_done](zk::reply&& r) {
                         if (r.error == zookeeper_errc::no_node) {
                             all->gone[i] = true;
                         } else if (r.error && r.error != zookeeper_errc::no_auth) {
                             raw->fail(r.error);
                             return;
                         } else {
                             take_answer(all->view.entries[i], std::move(r));
                         }
                         one_done();
                     });
        }
        if (!raw->is_over()) {
            one_done();
        }
    });
}

} // namespace colock::detail
