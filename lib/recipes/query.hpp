// Several requests that together answer one operation of a user: those that only look, and those that may as
// well be sent twice.
#pragma once

#include <colock/detail/operation.hpp>
#include <colock/queue_view.hpp>

#include "names/contender_name.hpp"
#include "names/path.hpp"
#include "recipes/pauses.hpp"
#include "session/core.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::detail {

// On the strand, from start() on. What is under way keeps it alive.
template <class... Results>
class query final : public std::enable_shared_from_this<query<Results...>> {
public:
    query(std::shared_ptr<client_core> core, operation_ptr<error_code, Results...> op)
        : core_{std::move(core)}, op_{std::move(op)}
    {
    }

    // Any thread.
    template <class First>
    void start(First first)
    {
        core_->dispatch([self = this->shared_from_this(), first = std::move(first)]() mutable {
            if (const auto link = self->op_.cancellation()) {
                link->bind([raw = self.get()](asio::cancellation_type) { raw->cancel(); });
            }
            if (self->op_) { // else it was cancelled before
                const client_core::batch together{*self->core_};
                first();
            }
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
                    if (r.error) {
                        self->why_ = r.detail;
                    }
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
    void fail(const error_code& ec)
    {
        if (!why_.empty()) {
            op_->explain(ec, why_);
        }
        finish(ec, Results{}...);
    }

    void refuse(errc ec, std::string detail)
    {
        why_ = std::move(detail);
        core_->note_error(why_);
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
    std::string why_; // what the last error is about
};

template <class... Results>
[[nodiscard]] auto make_query(const std::shared_ptr<client_core>& core,
                              operation_ptr<error_code, Results...> op)
{
    return std::make_shared<query<Results...>>(core, std::move(op));
}

inline constexpr auto everybody = std::numeric_limits<std::size_t>::max();
// Of reads: the server and the client keep no more than that in memory.
inline constexpr std::size_t most_under_way = 64;

// Marks those that hold the lock according to their order.
void mark_holders(std::vector<queue_entry>& entries) noexcept;
void take_answer(queue_entry& entry, zk::reply&& r);
// Of a server's clock, in milliseconds since 1970.
[[nodiscard]] inline std::chrono::system_clock::time_point time_of(std::int64_t milliseconds)
{
    return std::chrono::system_clock::time_point{std::chrono::milliseconds{milliseconds}};
}

// Puts the names in a lock's directory into the order of its queue, a slice at a time: there may be hundreds of
// thousands of them.
class listing {
public:
    listing(std::string path, layout l, std::vector<std::string> names)
        : path_{std::move(path)}, layout_{std::move(l)}, names_{std::move(names)}
    {
    }

    // Does one slice. True when it was the last one.
    [[nodiscard]] bool work();
    // The names in the queue.
    [[nodiscard]] queue_view take() { return std::move(found_); }

private:
    const std::string path_;
    const layout layout_;
    std::vector<std::string> names_;
    std::size_t parsed_ = 0;
    // A reader that was a writer has its number, and comes after the writer while both are there.
    std::multimap<std::pair<std::int64_t, bool>, std::size_t> order_; // to the indices of names
    queue_view found_;
};

// Other handlers of the executor get their turn between two slices.
template <class... Results, class Then>
void put_in_order(const std::shared_ptr<query<Results...>>& of,
                  const std::shared_ptr<listing>& names, Then then)
{
    if (of->is_over()) {
        return;
    }
    if (names->work()) {
        then(names->take());
        return;
    }
    of->core()->post([of, names, then = std::move(then)]() mutable {
        put_in_order(of, names, std::move(then));
    });
}

// Lists a queue, and passes on what stands in it, names only; a directory that does not exist is empty.
template <class... Results, class Then>
void list_queue(const std::shared_ptr<query<Results...>>& of, const std::string& path,
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
                put_in_order(raw->shared_from_this(),
                             std::make_shared<listing>(path, l, std::move(r.names)),
                             std::move(then));
            });
}

// Lists a queue, keeps the first contenders up to a limit, and reads what the first of them say about themselves. Leaves
// out contenders that have gone meanwhile. `all_or_none`: one that cannot be read fails the query. What is under way keeps it
// and the query alive.
template <class Query, class Then>
class queue_reading final : public std::enable_shared_from_this<queue_reading<Query, Then>> {
public:
    queue_reading(Query& of, std::string path, layout l, std::size_t limit, std::size_t most_read,
                  bool all_or_none, Then then)
        : of_{of}, path_{std::move(path)}, layout_{std::move(l)}, limit_{limit},
          most_read_{most_read}, all_or_none_{all_or_none}, then_{std::move(then)}
    {
    }

    void begin()
    {
        list_queue(of_.shared_from_this(), path_, layout_,
                   [self = this->shared_from_this()](queue_view&& found) {
                       self->listed(std::move(found));
                   });
    }

    // Instead of begin(), or by it.
    void listed(queue_view&& found)
    {
        view_ = std::move(found);
        shortened_ = view_.entries.size() > limit_;
        view_.entries.resize(std::min(view_.entries.size(), limit_));
        to_read_ = std::min(view_.entries.size(), most_read_);
        for (auto i = to_read_; i != view_.entries.size(); ++i) {
            view_.entries[i].unread = true;
        }
        gone_.assign(to_read_, false);
        asked_ = 0;
        go_on();
    }

private:
    // The client may refuse each read at once: other handlers of the executor get their turn between so many.
    static constexpr std::size_t most_at_once = 2'000;

    void go_on()
    {
        if (reading_ || under_way_ > most_under_way / 2) {
            return;
        }
        const client_core::batch together{*of_.core()};
        reading_ = true;
        for (std::size_t n = 0; n != most_at_once && asked_ != to_read_ &&
                                under_way_ != most_under_way && !of_.is_over();
             ++n) {
            read(asked_++);
        }
        reading_ = false;
        if (under_way_ != 0 || of_.is_over()) {
            return; // the next answer goes on
        }
        if (asked_ == to_read_) {
            finish();
        } else {
            of_.core()->post([self = this->shared_from_this(), of = of_.shared_from_this()] {
                if (!of->is_over()) {
                    self->go_on();
                }
            });
        }
    }

    void read(std::size_t i)
    {
        ++under_way_;
        of_.ask({.op = zk::opcode::get, .path = view_.entries[i].path},
                [self = this->shared_from_this(), i](zk::reply&& r) {
                    self->answered(i, std::move(r));
                });
    }

    void answered(std::size_t i, zk::reply&& r)
    {
        --under_way_;
        gone_[i] = r.error == zookeeper_errc::no_node;
        if (r.error == errc::not_connected || r.error == asio::error::operation_aborted ||
            is_session_fatal(r.error) || (all_or_none_ && r.error && !gone_[i])) {
            of_.fail(r.error); // the client is of no use any more, or the view is not
            return;
        }
        take_answer(view_.entries[i], std::move(r));
        go_on();
    }

    void finish()
    {
        std::size_t i = 0;
        std::erase_if(view_.entries, [&](const auto&) {
            const auto at = i++;
            return at < gone_.size() && gone_[at];
        });
        if (view_.entries.empty() && shortened_) {
            // Somebody else is the first one now.
            pace_.after_event(*of_.core(),
                              [self = this->shared_from_this(), of = of_.shared_from_this()] {
                                  if (!of->is_over()) {
                                      self->begin();
                                  }
                              });
            return;
        }
        mark_holders(view_.entries);
        then_(std::move(view_));
    }

    Query& of_;
    const std::string path_;
    const layout layout_;
    const std::size_t limit_;
    const std::size_t most_read_;
    const bool all_or_none_;
    Then then_;
    queue_view view_;
    std::vector<bool> gone_;
    std::size_t to_read_ = 0;
    std::size_t asked_ = 0; // of the entries, in their order
    std::size_t under_way_ = 0;
    bool reading_ = false; // an answer that comes at once leaves the next read to the loop
    bool shortened_ = false;
    pauses pace_;
};

template <class... Results, class Then>
void read_queue(const std::shared_ptr<query<Results...>>& of, const std::string& path,
                const layout& l, std::size_t limit, std::size_t most_read, Then then)
{
    using reading = queue_reading<query<Results...>, Then>;
    std::make_shared<reading>(*of, path, l, limit, most_read, false, std::move(then))->begin();
}

// Reads nodes that are known, whatever their names. One that may not be read fails the query.
template <class... Results, class Then>
void read_entries(const std::shared_ptr<query<Results...>>& of, std::vector<queue_entry> nodes,
                  Then then)
{
    using reading = queue_reading<query<Results...>, Then>;
    std::make_shared<reading>(*of, "", layout{}, everybody, everybody, true, std::move(then))
        ->listed({std::move(nodes)});
}

} // namespace colock::detail
