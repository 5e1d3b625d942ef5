// The way from a public object to its implementation, for the library's own files.
#ifndef COLOCK_DETAIL_ACCESS_HPP
#define COLOCK_DETAIL_ACCESS_HPP

#include <memory>
#include <utility>

namespace colock::detail {

// The public face of an object, which the copies of the face share.
template <class T>
class face_of {
protected:
    explicit face_of(std::shared_ptr<T> behind) noexcept : behind_{std::move(behind)} {}

    [[nodiscard]] const std::shared_ptr<T>& behind() const noexcept { return behind_; }

private:
    friend struct access;

    std::shared_ptr<T> behind_;
};

// The one friend of the public classes. Templates, so that this header needs none of theirs.
struct access {
    template <class T>
    [[nodiscard]] static const std::shared_ptr<T>& behind(const face_of<T>& face) noexcept
    {
        return face.behind_;
    }
    // Of a client or a guard.
    template <class Object>
    [[nodiscard]] static auto& core(Object& object) noexcept
    {
        return object.core_;
    }
    // Of a guard: the turn on a node; of a permit, the leases.
    template <class Guard>
    [[nodiscard]] static auto& held(Guard& guard) noexcept
    {
        return guard.held_;
    }
    // Of a permit: the nodes.
    template <class Guard>
    [[nodiscard]] static auto& nodes(Guard& guard) noexcept
    {
        return guard.nodes_;
    }

    // Of an election.
    template <class Election>
    [[nodiscard]] static auto& election_path(const Election& e) noexcept
    {
        return e.path_;
    }

    // By a constructor that is private.
    template <class Object, class... Parts>
    [[nodiscard]] static Object make(Parts&&... parts)
    {
        return Object(std::forward<Parts>(parts)...);
    }

    // Start an operation of a guard, as its initiating function does.
    template <class Guard, class... Args>
    static void start_wait_lost(Args&&... args)
    {
        Guard::start_wait_lost(std::forward<Args>(args)...);
    }
    template <class Guard, class... Args>
    static void start_release(Args&&... args)
    {
        Guard::start_release(std::forward<Args>(args)...);
    }
};

} // namespace colock::detail

#endif
