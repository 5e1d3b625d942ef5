#include "recipes/group/member_node.hpp"

#include <colock/detail/access.hpp>
#include <colock/diagnostics.hpp>

#include "names/path.hpp"
#include "names/revocation.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <utility>

namespace colock::detail {

namespace {

// Why no member can say this; or nothing.
std::string fault_of_text(const protocol::member_text& says)
{
    return protocol::was_asked_for(protocol::text_of(says))
               ? "these data stand for a request to release"
               : "";
}

} // namespace

void member_node::join(const std::shared_ptr<client_core>& core,
                       operation_ptr<error_code, membership> op, std::string path,
                       member_options options)
{
    const auto group = "the group " + path;
    const auto refuse = [&](errc ec, const std::string& why) {
        const auto words = group + ": " + why;
        core->note_error(words);
        op->explain(ec, words);
        op.complete(ec, {});
    };
    auto fault = protocol::path_fault(path);
    if (fault.empty() && path == "/") {
        fault = "must not be \"/\"";
    }
    if (!fault.empty()) {
        refuse(errc::invalid_path, "the path " + fault);
        return;
    }
    fault = protocol::member_name_fault(options.name);
    if (fault.empty()) {
        fault = fault_of_text({.data = options.data, .weight = options.weight});
    }
    if (!fault.empty()) {
        refuse(errc::invalid_option, fault);
        return;
    }
    op->name([&] { return "the member " + options.name + " of " + group; });
    const auto self = std::make_shared<member_node>(core, std::move(path), std::move(options));
    self->joining_ = std::move(op);
    if (const auto link = self->joining_.cancellation()) {
        link->bind([raw = self.get()](asio::cancellation_type type) {
            if (raw->mutex_) {
                raw->inner_.emit(type);
            } else {
                raw->over(asio::error::operation_aborted);
            }
        });
    }
    if (!self->why_) { // else it was cancelled before
        core->add(self);
        self->enter();
    }
}

member_node::member_node(std::shared_ptr<client_core> core, std::string path,
                         member_options options)
    : strand_object{std::move(core)}, path_{protocol::join_path(path, options.name)},
      name_{std::move(options.name)}, acl_{std::move(options.acl)},
      said_{.data = std::move(options.data), .weight = options.weight}, known_{said_}
{
}

// A handler on the strand. One that is destroyed without a call tells that its context is gone.
template <class... Results, class Then>
auto member_node::guarded(Then then)
{
    struct pending {
        explicit pending(std::shared_ptr<member_node> who) noexcept : of{std::move(who)} {}
        pending(const pending&) = delete;
        pending& operator=(const pending&) = delete;
        ~pending()
        {
            if (of) {
                of->discarded();
            }
        }
        std::shared_ptr<member_node> of;
    };
    return asio::bind_executor(
        core_->strand(),
        asio::bind_cancellation_slot(
            inner_.slot(), [p = std::make_shared<pending>(shared_from_this()),
                            then = std::move(then)](error_code ec, Results... results) mutable {
                const auto self = std::exchange(p->of, nullptr);
                then(ec, std::move(results)...);
            }));
}

void member_node::enter()
{
    // No node that another member of this client has made, with what that one says.
    mutex_.emplace(
        *client_, path_,
        lock_options{.acl = acl_, .owner_data = protocol::text_of(known_), .max_local_grants = 0});
    // A node of this name may be that of a process that has died. A server tells its leader of the last contact up to half a
    // tick later, and sessions end at whole ticks.
    const auto& o = core_->options();
    const auto limit = std::max(core_->session_timeout(), o.session_timeout) + 2 * o.tick;
    const auto words = std::make_shared<diagnostics>();
    mutex_->async_try_lock_for(
        limit, bind_diagnostics(
                   *words, guarded<unique_lock>([this, words](error_code ec, unique_lock held) {
                       entered(ec, words->message(), std::move(held));
                   })));
}

void member_node::entered(const error_code& ec, const std::string& words, unique_lock&& held)
{
    const auto failure = !ec && !held ? error_code{errc::name_in_use} : ec;
    if (why_) { // it has left meanwhile
        return;
    }
    const bool again = joins_ != 0;
    const bool passes = failure == condition::lock_lost || failure == errc::disconnected ||
                        failure == errc::no_answer;
    if (failure && (!again || !passes)) {
        mutex_.reset();
        if (joining_ && ec) { // which option, or which permission
            joining_->explain(ec, "the member " + name_ + ": " + words);
        }
        over(failure);
    } else if (failure) {
        pace_.after_event(*core_, [self = shared_from_this()] {
            if (!self->why_) {
                self->enter();
            }
        });
    } else {
        held_ = std::move(held);
        held_.async_wait_lost(guarded<error_code>([this](error_code stopped, error_code why) {
            if (!why_) {
                lost(stopped ? stopped : why);
            }
        }));
        lost_.clear();
        is_member_ = true;
        ++joins_;
        if (joining_) {
            std::exchange(joining_, {})
                .complete({}, access::make<membership>(core_, shared_from_this()));
        }
        rejoining_.complete_all({}, joins_);
        write(); // the node may say what this member, or one of its name before it, said earlier
    }
}

void member_node::lost(const error_code& why)
{
    held_ = {};
    lost_ = why;
    mutex_.reset();
    // One that is not sent would go into the node of the next member of this name.
    write_.emit(asio::cancellation_type::terminal);
    if (why == errc::client_closed || why == asio::error::operation_aborted) {
        over(why);
    } else {
        pace_.after_event(*core_, [self = shared_from_this()] {
            if (!self->why_) {
                self->enter();
            }
        });
    }
}

// ---- what it says of itself

void member_node::update(operation_ptr<error_code> op, std::string data, std::uint32_t weight)
{
    if (why_) {
        op.complete(why_);
        return;
    }
    protocol::member_text says{.data = std::move(data), .weight = weight};
    const auto text = protocol::text_of(says);
    const auto refuse = [&](errc ec, const std::string& why) {
        const auto words = "the member " + name_ + ": " + why;
        core_->note_error(words);
        op->explain(ec, words);
        op.complete(ec);
    };
    // The servers' refusal fails all updates that are written together.
    if (const auto fault = fault_of_text(says); !fault.empty()) {
        refuse(errc::invalid_option, fault);
        return;
    }
    if (text.size() > core_->options().max_request_size) {
        refuse(errc::request_too_large, "the data are larger than max_request_size");
        return;
    }
    said_ = std::move(says);
    op->tag = ++texts_;
    updating_.add(std::move(op));
    write();
}

void member_node::write()
{
    if (!held_ || std::exchange(writing_, true)) {
        return;
    }
    // Any version: that of a node that somebody has made in its place would begin at 0, too. None is sent for one that is lost.
    client_->async_set(
        path_, protocol::text_of(said_),
        asio::bind_cancellation_slot(
            write_.slot(),
            asio::bind_executor(core_->strand(),
                                [self = shared_from_this(), said = said_,
                                 number = texts_](const error_code& ec, const node_stat&) {
                                    self->writing_ = false;
                                    if (!ec) {
                                        self->known_ = said;
                                    }
                                    self->written(ec, number);
                                })));
}

// The text of that number, with those before it.
void member_node::written(const error_code& ec, std::uint64_t number)
{
    if (why_) {
        return;
    }
    // A node that is gone is one whose loss is on its way: what it says is written when it has joined again.
    if (ec == zookeeper_errc::no_node || ec == asio::error::operation_aborted ||
        outcome_unknown(ec) || is_retryable(ec)) {
        pace_.after_refusal(*core_, [self = shared_from_this()] {
            if (!self->why_) {
                self->write();
            }
        });
        return;
    }
    updating_.complete_between(0, number, ec);
    if (texts_ != number) {
        write(); // it has changed since
    } else {
        said_ = known_; // with what the servers refuse it could not join again
    }
}

// ---- the end

void member_node::wait_rejoin(operation_ptr<error_code, std::uint64_t> op, std::uint64_t seen)
{
    if (why_) {
        op.complete(why_, joins_);
    } else if (joins_ != seen) {
        op.complete({}, joins_);
    } else {
        rejoining_.add(std::move(op));
    }
}

void member_node::leave(operation_ptr<error_code> op)
{
    auto held = std::move(held_);
    over(errc::not_held);
    if (op && held.loss_reason() != errc::not_held) { // a loss may not have been told yet
        access::start_release<held_lock>(core_, std::move(op), std::move(held));
    } else if (op) {
        op.complete(lost_); // what it had, or would have by now, goes in the background
    }
}

void member_node::leave_in_background(const std::shared_ptr<member_node>& who) noexcept
{
    who->is_left_ = true;
    if (!who->core_->try_dispatch([who] { who->catch_up(); })) {
        who->core_->catch_up_later();
    }
}

void member_node::catch_up()
{
    if (is_left_ && !why_) {
        leave({});
    }
}

void member_node::over(const error_code& why)
{
    const auto self = shared_from_this();
    why_ = why;
    is_member_ = false;
    core_->remove(*this);
    mutex_.reset();
    inner_.emit(asio::cancellation_type::terminal);
    write_.emit(asio::cancellation_type::terminal);
    if (joining_) {
        std::exchange(joining_, {}).complete(why, {});
    }
    rejoining_.complete_all(why, joins_);
    updating_.complete_all(why);
}

void member_node::discarded() noexcept
{
    why_ = asio::error::operation_aborted;
    is_member_ = false;
    const auto joining = std::move(joining_);
    rejoining_.discard();
    updating_.discard();
}

} // namespace colock::detail
