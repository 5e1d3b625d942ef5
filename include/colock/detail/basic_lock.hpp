// The base of every kind of mutex: a handle to a client, a path and options.
#ifndef COLOCK_DETAIL_BASIC_LOCK_HPP
#define COLOCK_DETAIL_BASIC_LOCK_HPP

#include <colock/detail/access.hpp>
#include <colock/detail/config.hpp>
#include <colock/fwd.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <string>

namespace colock::detail {

struct lock_kind;

class COLOCK_DECL basic_lock : public face_of<const lock_path> {
public:
    using executor_type = boost::asio::any_io_executor;

    /// The executor of the client.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The path of the constructor.
    [[nodiscard]] const std::string& path() const noexcept;
    /// The options of the constructor.
    [[nodiscard]] const lock_options& options() const noexcept;

protected:
    basic_lock(client& zk, std::string path, lock_options options, const lock_kind& kind);
};

} // namespace colock::detail

#endif
