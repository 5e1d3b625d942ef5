// A started asynchronous operation: the user's handler, type-erased, in memory of the handler's allocator.
#ifndef COLOCK_DETAIL_OPERATION_HPP
#define COLOCK_DETAIL_OPERATION_HPP

#include <colock/detail/abi.hpp>
#include <colock/detail/config.hpp>
#include <colock/detail/observation.hpp>
#include <colock/diagnostics.hpp>
#include <colock/error.hpp>
#include <colock/log.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/is_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace colock::detail {

namespace asio = boost::asio;

class client_core;

// Whether a request ends an operation at once, instead of when it has left no trace (total alone).
[[nodiscard]] constexpr bool ends_at_once(asio::cancellation_type type) noexcept
{
    return (type & (asio::cancellation_type::terminal | asio::cancellation_type::partial)) !=
           asio::cancellation_type::none;
}

class cancel_link;

// Where operations wait that may complete on any thread, under a lock of its own.
class waiting_room {
public:
    // Any thread. Does nothing when the operation does not wait here any more.
    virtual void cancel(cancel_link& of, asio::cancellation_type type) = 0;

protected:
    ~waiting_room() = default;
};

// What an operation shares with the parts that may end it early: the signal of its cancellation slot, and
// the timer of its deadline, if it has any.
//
// Slots are neither thread-safe nor stateful. The slot's handler therefore holds only this link. The link hops to the
// client's strand, and remembers there a request that arrives before the operation. Or it turns to the room in which
// the operation waits.
class cancel_link : public boost::intrusive_ref_counter<cancel_link, boost::thread_safe_counter> {
public:
    explicit cancel_link(std::weak_ptr<client_core> core) noexcept : core_{std::move(core)} {}

    // Any thread.
    COLOCK_DECL void request(asio::cancellation_type type);

    // On the strand: from now on `on_request` decides. Called at once when a request came before.
    COLOCK_DECL void bind(std::function<void(asio::cancellation_type)> on_request);
    // On the strand: what was requested before anything was bound.
    [[nodiscard]] asio::cancellation_type requested() const noexcept { return requested_; }
    // On the strand: the operation is over.
    COLOCK_DECL void unbind() noexcept;

    // Instead, and before the initiating function returns: from now on the room decides.
    void enter(std::weak_ptr<waiting_room> room) noexcept
    {
        room_ = std::move(room);
        in_a_room_ = true;
    }

    // In the room's cancel(): from now on it is as if the room had never been entered.
    void leave() noexcept
    {
        in_a_room_ = false;
        room_.reset();
    }

    // Under the lock of the room.
    void* waiting = nullptr; // the operation, as long as it does
    std::optional<asio::steady_timer> deadline;

private:
    void deliver(asio::cancellation_type type);

    std::weak_ptr<client_core> core_;
    std::weak_ptr<waiting_room> room_;
    bool in_a_room_ = false;
    std::function<void(asio::cancellation_type)> on_request_;           // strand
    asio::cancellation_type requested_ = asio::cancellation_type::none; // strand
};

// Half the size of a std::shared_ptr: every waiting operation has one.
using cancel_link_ptr = boost::intrusive_ptr<cancel_link>;

// "lock /path: the session expired ...": what is known of a failure by its code.
[[nodiscard]] COLOCK_DECL std::string words_about(const std::string& subject, const error_code& ec);

template <class... Results>
class operation : public boost::intrusive::list_base_hook<>, // of a waiting room
                  public observed_part<may_be_observed<Results...>> {
public:
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    // Posts the handler with the results to its executor. *this is gone, and its memory given back,
    // before the handler runs.
    virtual void complete(Results&&... results) = 0;

    // Frees *this without calling the handler.
    virtual void destroy() noexcept = 0;

    // Empty when the handler has no cancellation slot, and there is no deadline either.
    [[nodiscard]] const cancel_link_ptr& cancellation() const noexcept { return link_; }
    // Before it completes with an error: what has failed, and why. The first call counts.
    void explain(const error_code& ec, const std::string& why) const
    {
        explain(ec, [&]() -> const std::string& { return why; });
    }
    // `words` gives them when they are wanted.
    template <class Words>
        requires std::is_invocable_v<Words&>
    void explain(const error_code& ec, Words words) const
    {
        if (told_ != nullptr && ec && ec != asio::error::operation_aborted &&
            told_->message().empty()) {
            told_->assign(printable(words(), longest_line));
        }
    }
    // What it is about, such as "lock /path": its words begin so when they are those of a code. `subject` gives it.
    template <class Subject>
    void name(Subject subject) const
    {
        if (told_ != nullptr) {
            subject_of_diagnostics::of(*told_) = subject();
        }
    }
    void explain_by_code(const error_code& ec) const
    {
        explain(ec, [&] { return words_about(subject_of_diagnostics::of(*told_), ec); });
    }
    // Before it completes without an error: the loss that it has waited for.
    void tell_loss(const error_code& why) const
    {
        if (why) {
            tell(words_about(subject_of_diagnostics::of(*told_), why));
        }
    }
    // Before it completes without an error, and without what was wanted: why.
    void tell(const std::string& why) const
    {
        if (told_ != nullptr && told_->message().empty()) {
            told_->assign(printable(why, longest_line));
        }
    }
    [[nodiscard]] diagnostics* told() const noexcept { return told_; }

    [[nodiscard]] cancel_link& make_link(const std::shared_ptr<client_core>& core)
    {
        if (!link_) {
            link_ = cancel_link_ptr{new cancel_link{core}};
        }
        return *link_;
    }

    std::uint64_t tag = 0; // for the room, and under its lock

protected:
    explicit operation(cancel_link_ptr link, diagnostics* told = nullptr) noexcept
        : link_{std::move(link)}, told_{told}
    {
    }
    ~operation() = default;

    cancel_link_ptr link_;
    diagnostics* told_;
};

// Owns an operation until it completes; one that is dropped destroys the handler without calling it.
template <class... Results>
class operation_ptr {
public:
    operation_ptr() = default;
    explicit operation_ptr(operation<Results...>* op) noexcept : op_{op} {}

    explicit operator bool() const noexcept { return op_ != nullptr; }

    [[nodiscard]] const cancel_link_ptr& cancellation() const noexcept
    {
        return op_->cancellation();
    }

    [[nodiscard]] operation<Results...>* operator->() const noexcept { return op_.get(); }
    [[nodiscard]] operation<Results...>* release() noexcept { return op_.release(); }

    // On the strand, or where it cannot be cancelled any more.
    void complete(Results... results)
    {
        if (op_->told() != nullptr) {
            explain_by_code(results...);
        }
        if constexpr (may_be_observed<Results...>) {
            if (op_->observed.of != nullptr) {
                end_observation(op_->observed, results...);
            }
        }
        unbind(*op_);
        op_.release()->complete(std::move(results)...);
    }

private:
    void explain_by_code(const error_code& ec) const { op_->explain_by_code(ec); }
    void explain_by_code(const error_code& ec, const error_code& why) const
    {
        ec ? op_->explain_by_code(ec) : op_->tell_loss(why);
    }
    template <class First, class... Others>
    void explain_by_code(const First& ec, const Others&...) const
    {
        if constexpr (std::is_same_v<First, error_code>) {
            op_->explain_by_code(ec);
        }
    }

    // What is bound refers to where the operation waits, which it is about to leave.
    static void unbind(operation<Results...>& op) noexcept
    {
        if (const auto& link = op.cancellation()) {
            link->unbind();
        }
    }

    struct deleter {
        void operator()(operation<Results...>* op) const noexcept
        {
            unbind(*op);
            if constexpr (may_be_observed<Results...>) {
                if (op->observed.of != nullptr) {
                    drop_observation(op->observed);
                }
            }
            op->destroy();
        }
    };
    std::unique_ptr<operation<Results...>, deleter> op_;
};

// A lock may be lost between its grant and its handler. Then the acquisition has failed: it gives the reason of the loss, and
// an empty guard. A guard that is empty without an error means that the lock was not granted.
COLOCK_DECL void refuse_lost(error_code& ec, unique_lock& held, diagnostics* told);
COLOCK_DECL void refuse_lost(error_code& ec, permit& held, diagnostics* told);
COLOCK_DECL void refuse_lost(error_code& ec, multi_guard& held, diagnostics* told);

// The handler with its results on its way to its executor. It associates the handler's allocator only:
// it is posted straight to the handler's executor, which must not be looked up a second time.
template <class Handler, class... Results>
class bound_handler {
    static constexpr bool acquires = may_be_observed<Results...>;
    struct nobody {
        explicit nobody(diagnostics*) noexcept {}
    };

public:
    using allocator_type = asio::associated_allocator_t<Handler>;

    bound_handler(Handler&& handler, diagnostics* told, Results&&... results)
        : handler_{std::move(handler)}, told_{told}, results_{std::move(results)...}
    {
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept
    {
        return asio::get_associated_allocator(handler_);
    }

    void operator()()
    {
        // Only here, on the handler's own executor, may its slot be touched again.
        if (auto slot = asio::get_associated_cancellation_slot(handler_); slot.is_connected()) {
            slot.clear();
        }
        if constexpr (acquires) {
            refuse_lost(std::get<0>(results_), std::get<1>(results_), told_);
        }
        std::apply([this](Results&... results) { std::move(handler_)(std::move(results)...); },
                   results_);
    }

private:
    Handler handler_;
    [[no_unique_address]] std::conditional_t<acquires, diagnostics*, nobody> told_;
    std::tuple<Results...> results_;
};

// The executor of a handler while its operation is under way: it counts as outstanding work of its context, and
// posts. Not executor_work_guard, which with Asio 1.81 does not compile for a strand over a type-erased executor.
template <class Executor>
[[nodiscard]] auto working_executor(const Executor& executor)
{
    if constexpr (!asio::execution::is_executor<Executor>::value) {
        return asio::make_work_guard(executor); // an executor of the Networking TS
    } else if constexpr (asio::can_require_v<Executor, asio::execution::blocking_t::never_t>) {
        // In this order: every executor that is made from one that counts does so, too.
        return asio::prefer(asio::require(executor, asio::execution::blocking.never),
                            asio::execution::outstanding_work.tracked);
    } else {
        return asio::prefer(executor, asio::execution::outstanding_work.tracked);
    }
}

// As asio::post with a function that associates no executor, without looking for one.
template <class Work, class Function>
void post_to(const Work& work, Function&& function)
{
    if constexpr (asio::execution::is_executor<Work>::value) {
        const auto allocator = asio::get_associated_allocator(function);
        asio::prefer(work, asio::execution::allocator(allocator))
            .execute(std::forward<Function>(function));
    } else {
        asio::post(work.get_executor(), std::forward<Function>(function));
    }
}

// Handlers without an allocator of their own get Asio's, which uses the memory of one operation for the next.
template <class Allocator>
struct recycling {
    using type = Allocator;
    static const type& of(const Allocator& a) noexcept { return a; }
};
template <class T>
struct recycling<std::allocator<T>> {
    using type = asio::recycling_allocator<T>;
    static type of(const std::allocator<T>&) noexcept { return {}; }
};

template <class Handler, class... Results>
class operation_of final : public operation<Results...> {
    using recycling_type = recycling<asio::associated_allocator_t<Handler>>;
    using allocator_type = typename std::allocator_traits<
        typename recycling_type::type>::template rebind_alloc<operation_of>;
    using allocator_traits = std::allocator_traits<allocator_type>;
    static allocator_type allocator_of(const asio::associated_allocator_t<Handler>& a) noexcept
    {
        return allocator_type{recycling_type::of(a)};
    }
    using executor_type = asio::associated_executor_t<Handler, asio::any_io_executor>;

    // Not to any_completion_executor, that of a type-erased handler, up to Boost 1.81: from there it is
    // reached by way of the I/O executor, so that it is not called inline.
    static constexpr bool can_post =
        asio::is_executor<executor_type>::value ||
        asio::can_require_v<executor_type, asio::execution::blocking_t::never_t>;
    struct nothing {
        explicit nothing(const asio::any_io_executor&) noexcept {}
    };

public:
    static operation<Results...>* make(Handler&& handler, const asio::any_io_executor& io_executor,
                                       const std::shared_ptr<client_core>& core)
    {
        cancel_link_ptr link;
        if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
            link = cancel_link_ptr{new cancel_link{core}};
            slot.assign([link](asio::cancellation_type type) { link->request(type); });
        }
        auto allocator = allocator_of(asio::get_associated_allocator(handler));
        auto* memory = allocator_traits::allocate(allocator, 1);
        return ::new (static_cast<void*>(memory))
            operation_of{std::move(handler), io_executor, std::move(link)};
    }

    void complete(Results&&... results) override
    {
        // What tracks the work moves out first: it keeps the handler's context running until the post below
        // has been queued.
        auto work = std::move(work_);
        bound_handler<Handler, Results...> bound{std::move(handler_), this->told_,
                                                 std::move(results)...};
        [[maybe_unused]] auto io_executor = std::move(io_executor_);
        free(allocator_of(bound.get_allocator()));
        if constexpr (can_post) {
            post_to(work, std::move(bound));
        } else {
            asio::post(io_executor, [work = std::move(work), bound = std::move(bound)]() mutable {
                asio::dispatch(work, std::move(bound));
            });
        }
    }

    void destroy() noexcept override
    {
        const Handler handler{std::move(handler_)};
        free(allocator_of(asio::get_associated_allocator(handler)));
    }

private:
    operation_of(Handler&& handler, const asio::any_io_executor& io_executor,
                 cancel_link_ptr&& link)
        : operation<Results...>{std::move(link), associated_diagnostics<Handler>::get(handler)},
          handler_{std::move(handler)},
          work_(working_executor(asio::get_associated_executor(handler_, io_executor))),
          io_executor_{io_executor}
    {
        if (this->told_ != nullptr) {
            this->told_->clear();
        }
    }
    ~operation_of() = default;

    // The allocator is asked of a handler that lives, neither moved from nor destroyed: it may be a view of
    // what the handler owns.
    void free(allocator_type allocator) noexcept
    {
        this->~operation_of();
        allocator_traits::deallocate(allocator, this, 1);
    }

    Handler handler_;
    decltype(working_executor(std::declval<const executor_type&>())) work_;
    [[no_unique_address]] std::conditional_t<can_post, nothing, asio::any_io_executor> io_executor_;
};

} // namespace colock::detail

#endif
