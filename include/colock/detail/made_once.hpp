// Options that GCC 12 would destroy twice, and what prevents that.
#ifndef COLOCK_DETAIL_MADE_ONCE_HPP
#define COLOCK_DETAIL_MADE_ONCE_HPP

#include <memory>

namespace colock::detail {

// Where an object was made: the last member of an aggregate.
//
// GCC 12 copies an aggregate that is made in braces within a co_await expression byte by byte into the coroutine's frame, uses
// the copy, and destroys both at the end of the statement. The copy has the address of the original here. So its destructor
// puts an empty object in its own place, and the members of that one are destroyed.
//
// A class with a destructor of its own is copied where others are moved. So nothing is moved out of the copy, either.
class made_once {
public:
    made_once() noexcept = default;
    made_once(const made_once&) noexcept {}
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): nothing is assigned
    made_once& operator=(const made_once&) noexcept { return *this; }
    ~made_once() = default;

    [[nodiscard]] bool is_elsewhere() const noexcept { return here_ != this; }

    friend bool operator==(const made_once&, const made_once&) noexcept { return true; }

private:
    const made_once* here_ = this;
};

} // namespace colock::detail

// All compilers have the member: their programs and libraries may be linked.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#define COLOCK_MADE_ONCE(Options)                                                                  \
    ~Options()                                                                                     \
    {                                                                                              \
        if (made_once.is_elsewhere()) {                                                            \
            std::construct_at(this);                                                               \
        }                                                                                          \
    }                                                                                              \
    colock::detail::made_once made_once = {}
#else
#define COLOCK_MADE_ONCE(Options) colock::detail::made_once made_once = {}
#endif

#endif
