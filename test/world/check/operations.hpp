// G6: every operation completes exactly once, never within the function that started it, after its memory was given
// back, and never when its context is gone.
#pragma once

#include "findings.hpp"
#include "journal.hpp"

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace world::check {

namespace asio = boost::asio;

// One process, from its start to its end: its operations end with it.
struct life {
    bool over = false; // its context is destroyed
    instant ended{};   // then
};

class operations {
public:
    struct record {
        operations* all;
        std::uint64_t number;
        std::shared_ptr<const life> owner;
        journal::actor who;
        const char* what;
        instant since;
        std::size_t memory = 0; // allocations of its handler's allocator that were not given back
        unsigned completed = 0;
        bool initiating = true;
    };

    operations(timeline& time, findings& found, journal& notes)
        : time_{time}, found_{found}, journal_{notes}
    {
    }
    operations(const operations&) = delete;
    operations& operator=(const operations&) = delete;

    [[nodiscard]] std::shared_ptr<record> begin(std::shared_ptr<const life> owner,
                                                journal::actor who, const char* what);
    void completed(record& r);
    void abandoned(record& r); // the handler was destroyed
    void given_back_late(record& r);

    // Those of processes that live. Each of them is a violation of that check.
    void report_pending(const char* check);
    [[nodiscard]] std::size_t pending() const;
    [[nodiscard]] std::uint64_t started() const noexcept { return started_; }

private:
    [[nodiscard]] std::string text_of(const record& r) const;

    timeline& time_;
    findings& found_;
    journal& journal_;
    std::uint64_t started_ = 0;
    std::map<std::uint64_t, const record*> pending_;
};

// Counts what an operation has not given back.
template <class T>
class counting_allocator {
public:
    using value_type = T;

    explicit counting_allocator(std::shared_ptr<operations::record> of) noexcept
        : of_{std::move(of)}
    {
    }
    template <class U>
    counting_allocator(const counting_allocator<U>& other) noexcept : of_{other.of()}
    {
    }

    [[nodiscard]] T* allocate(std::size_t n)
    {
        ++of_->memory;
        return std::allocator<T>{}.allocate(n);
    }
    void deallocate(T* p, std::size_t n)
    {
        --of_->memory;
        if (of_->completed != 0) {
            of_->all->given_back_late(*of_);
        }
        std::allocator<T>{}.deallocate(p, n);
    }

    [[nodiscard]] const std::shared_ptr<operations::record>& of() const noexcept { return of_; }
    template <class U>
    friend bool operator==(const counting_allocator& a, const counting_allocator<U>& b) noexcept
    {
        return a.of() == b.of();
    }

private:
    std::shared_ptr<operations::record> of_;
};

template <class Handler>
class counted_handler {
public:
    using allocator_type = counting_allocator<void>;

    counted_handler(Handler handler, std::shared_ptr<operations::record> r)
        : handler_{std::move(handler)}, record_{std::move(r)}
    {
    }
    counted_handler(counted_handler&& other) noexcept = default;
    counted_handler& operator=(counted_handler&&) = delete;
    ~counted_handler()
    {
        if (record_ && record_->completed == 0) {
            record_->all->abandoned(*record_);
        }
    }

    template <class... Args>
    void operator()(Args&&... args)
    {
        const auto kept = record_;
        kept->all->completed(*kept);
        std::move(handler_)(std::forward<Args>(args)...);
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type{record_}; }
    [[nodiscard]] const Handler& inner() const noexcept { return handler_; }

private:
    Handler handler_;
    std::shared_ptr<operations::record> record_;
};

// A token: counts the operation, and completes with the inner one.
template <class Token>
struct counted_t {
    // With a constructor, because GCC 12 would destroy an aggregate twice within a co_await expression.
    counted_t(operations& to, std::shared_ptr<const life> of, journal::actor by, const char* name,
              Token with)
        : all{&to}, owner{std::move(of)}, who{by}, what{name}, token{std::move(with)}
    {
    }

    operations* all;
    std::shared_ptr<const life> owner;
    journal::actor who;
    const char* what;
    Token token;
};

template <class Initiation>
struct counted_initiation {
    template <class Handler, class... Args>
    void operator()(Handler&& handler, operations* all, std::shared_ptr<const life> owner,
                    journal::actor who, const char* what, Args&&... args) &&
    {
        const auto r = all->begin(std::move(owner), who, what);
        std::move(initiation)(
            counted_handler<std::decay_t<Handler>>{std::forward<Handler>(handler), r},
            std::forward<Args>(args)...);
        r->initiating = false;
    }

    Initiation initiation;
};

} // namespace world::check

template <template <class, class> class Associator, class Handler, class DefaultCandidate>
struct boost::asio::associator<Associator, world::check::counted_handler<Handler>, DefaultCandidate>
    : Associator<Handler, DefaultCandidate> {
    static auto get(const world::check::counted_handler<Handler>& h) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(h.inner());
    }
    static auto get(const world::check::counted_handler<Handler>& h,
                    const DefaultCandidate& c) noexcept
    {
        return Associator<Handler, DefaultCandidate>::get(h.inner(), c);
    }
};

template <class Handler, class DefaultCandidate>
struct boost::asio::associated_allocator<world::check::counted_handler<Handler>, DefaultCandidate> {
    using type = world::check::counting_allocator<void>;
    static type get(const world::check::counted_handler<Handler>& h) noexcept
    {
        return h.get_allocator();
    }
    static type get(const world::check::counted_handler<Handler>& h,
                    const DefaultCandidate&) noexcept
    {
        return h.get_allocator();
    }
};

template <class Token, class... Signatures>
struct boost::asio::async_result<world::check::counted_t<Token>, Signatures...> {
    template <class Initiation, class... Args>
    static auto initiate(Initiation&& initiation, world::check::counted_t<Token> t, Args&&... args)
    {
        return async_initiate<Token, Signatures...>(
            world::check::counted_initiation<std::decay_t<Initiation>>{
                std::forward<Initiation>(initiation)},
            t.token, t.all, std::move(t.owner), t.who, t.what, std::forward<Args>(args)...);
    }
};
