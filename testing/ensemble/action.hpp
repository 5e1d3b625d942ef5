// Something to do once, later: a function without arguments that is moved, not copied.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace colock::simulated {

// Small ones need no memory of their own. An event of the timeline has room for one of a machine, and what goes with it.
template <std::size_t room>
class basic_action {
public:
    basic_action() noexcept = default;
    basic_action(std::nullptr_t) noexcept {}

    template <class Function>
        requires(!std::is_same_v<std::remove_cvref_t<Function>, basic_action> &&
                 std::is_invocable_v<std::remove_cvref_t<Function>&>)
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): `requires` leaves them alone
    basic_action(Function&& function)
    {
        using kept = std::remove_cvref_t<Function>;
        if constexpr (fits<kept>) {
            ::new (static_cast<void*>(room_)) kept(std::forward<Function>(function));
            functions_ = &inside<kept>;
        } else {
            ::new (static_cast<void*>(room_)) kept*(new kept(std::forward<Function>(function)));
            functions_ = &outside<kept>;
        }
    }

    basic_action(basic_action&& other) noexcept { take(other); }
    basic_action& operator=(basic_action&& other) noexcept
    {
        if (this != &other) {
            drop();
            take(other);
        }
        return *this;
    }
    ~basic_action() { drop(); }

    explicit operator bool() const noexcept { return functions_ != nullptr; }
    void operator()() { functions_->call(room_); }

private:
    struct table {
        void (*call)(void*);
        void (*move)(void* from, void* to) noexcept; // destroys what it leaves
        void (*destroy)(void*) noexcept;
    };

    template <class Kept>
    static constexpr bool
        fits = sizeof(Kept) <= room &&
               alignof(Kept) <= alignof(void*) && std::is_nothrow_move_constructible_v<Kept>;

    template <class Kept>
    static constexpr table inside{[](void* at) { (*static_cast<Kept*>(at))(); },
                                  [](void* from, void* to) noexcept {
                                      ::new (to) Kept(std::move(*static_cast<Kept*>(from)));
                                      static_cast<Kept*>(from)->~Kept();
                                  },
                                  [](void* at) noexcept { static_cast<Kept*>(at)->~Kept(); }};
    template <class Kept>
    static constexpr table outside{
        [](void* at) { (**static_cast<Kept**>(at))(); },
        [](void* from, void* to) noexcept { ::new (to) Kept*(*static_cast<Kept**>(from)); },
        [](void* at) noexcept { delete *static_cast<Kept**>(at); }};

    void take(basic_action& other) noexcept
    {
        functions_ = std::exchange(other.functions_, nullptr);
        if (functions_ != nullptr) {
            functions_->move(other.room_, room_);
        }
    }
    void drop() noexcept
    {
        if (const auto* functions = std::exchange(functions_, nullptr)) {
            functions->destroy(room_);
        }
    }

    const table* functions_ = nullptr;
    alignas(void*) std::byte room_[room];
};

using action = basic_action<48>;

} // namespace colock::simulated
