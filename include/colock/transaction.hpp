// Several steps that ZooKeeper carries out together.
#ifndef COLOCK_TRANSACTION_HPP
#define COLOCK_TRANSACTION_HPP

#include <colock/node.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace colock {

/// The steps of a transaction, for `client::async_multi` and for `held_lock::guarded`.
///
/// ```cpp
/// co_await zk.async_multi(
///     colock::transaction{}.check("/orders/open", version).set("/orders/state", text));
/// ```
///
/// A transaction converts to a vector of steps, which is what those functions take. They also take the steps one by
/// one. A list of steps in braces is refused by GCC 12 within a `co_await` expression ("array used as initializer").
///
/// **Thread safety**: distinct objects may be used from several threads, one object may not.
class transaction {
public:
    /// Has no steps yet.
    transaction() noexcept = default;

    /// Adds a step that fails the transaction unless the node exists and has this version.
    transaction& check(std::string path, std::int32_t version = any_version)
    {
        return add(check_op(std::move(path), version));
    }

    /// Adds a step that creates a node. Containers and the modes with a time to live are not possible in a transaction.
    transaction& create(std::string path, std::string data, create_options options)
    {
        return add(create_op(std::move(path), std::move(data), std::move(options)));
    }
    /// Adds a step that creates a node with this mode, and with `client_options::acl`.
    transaction& create(std::string path, std::string data = {},
                        create_mode mode = create_mode::persistent)
    {
        return create(std::move(path), std::move(data), create_options{.mode = mode});
    }

    /// Adds a step that replaces a node's data, if the node has this version.
    transaction& set(std::string path, std::string data, std::int32_t version = any_version)
    {
        return add(set_op(std::move(path), std::move(data), version));
    }

    /// Adds a step that deletes a node that has no children, if the node has this version.
    transaction& remove(std::string path, std::int32_t version = any_version)
    {
        return add(remove_op(std::move(path), version));
    }

    /// Adds any step, such as one that `set_op()` makes.
    transaction& add(transaction_op op)
    {
        ops_.push_back(std::move(op));
        return *this;
    }

    /// The steps, in the order in which they were added.
    [[nodiscard]] const std::vector<transaction_op>& ops() const noexcept { return ops_; }
    /// A copy of the steps, as `client::async_multi` and `guarded` take them.
    operator std::vector<transaction_op>() const { return ops_; }

private:
    std::vector<transaction_op> ops_;
};

namespace detail {

// Steps that were given one by one.
template <class... Ops>
[[nodiscard]] std::vector<transaction_op> steps(Ops... ops)
{
    std::vector<transaction_op> all;
    all.reserve(sizeof...(ops));
    (all.push_back(std::move(ops)), ...);
    return all;
}

} // namespace detail

} // namespace colock

#endif
