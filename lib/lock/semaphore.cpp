#include <colock/multi_lock.hpp>
#include <colock/semaphore.hpp>

#include "lock/multi/lock_target.hpp"
#include "lock/permits/semaphore_state.hpp"

#include <memory>
#include <utility>

namespace colock {

using detail::access;

semaphore::semaphore(client& zk, std::string path, std::int64_t permits)
    : semaphore{zk, std::move(path), permits, lock_options{}}
{
}

semaphore::semaphore(client& zk, std::string path, std::int64_t permits, lock_options options)
    : face_of{std::make_shared<detail::semaphore_path>(access::core(zk), std::move(path), permits,
                                                       std::string{}, std::move(options))}
{
}

semaphore::semaphore(client& zk, std::string path, counter_node permits)
    : semaphore{zk, std::move(path), std::move(permits), lock_options{}}
{
}

semaphore::semaphore(client& zk, std::string path, counter_node permits, lock_options options)
    : face_of{std::make_shared<detail::semaphore_path>(access::core(zk), std::move(path),
                                                       std::nullopt, std::move(permits.path),
                                                       std::move(options))}
{
}

semaphore::executor_type semaphore::get_executor() const noexcept
{
    return behind()->core->executor();
}

const std::string& semaphore::path() const noexcept
{
    return behind()->path;
}

std::chrono::milliseconds semaphore::body_grace() const noexcept
{
    return behind()->options.body_grace;
}

const std::shared_ptr<detail::client_core>& semaphore::core() const noexcept
{
    return behind()->core;
}

lock_entry::lock_entry(const semaphore& of, std::int64_t count)
    : face_of{std::make_shared<detail::lock_target>(detail::lock_target{
          access::behind(of)->core, of.path(), access::behind(of)->options,
          [path = access::behind(of), count](detail::acquisition a, detail::deadline until) {
              auto op = detail::acquiring<permit>::make(std::move(a));
              path->begin(*op.operator->(), until);
              path->start_acquire(std::move(op), count, until);
          }})}
{
}

void semaphore::start_acquire(const std::shared_ptr<detail::client_core>& core,
                              detail::operation_ptr<error_code, permit> op,
                              std::shared_ptr<const detail::semaphore_path> path,
                              std::int64_t count, detail::deadline until)
{
    path->begin(*op.operator->(), until);
    // The path outlives the operation.
    core->dispatch([path = std::move(path), op = std::move(op), count, until]() mutable {
        path->start_acquire(std::move(op), count, until);
    });
}

} // namespace colock
