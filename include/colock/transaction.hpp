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
/// It converts to a list of steps. A list in braces does as well, except within a `co_await` expression, where
/// GCC 12 refuses it ("array used as initializer").
///
/// **Thread safety**: distinct objects may be used from several threads, one object may not.
class transaction {
public:
    /// Without a step.
    transaction() noexcept = default;

    /// The transaction fails unless the node exists and has this version.
    transaction& check(std::string path, std::int32_t version = any_version)
    {
        return add(check_op(std::move(path), version));
    }

    /// Creates a node. Containers and the modes with a time to live are not possible in a transaction.
    transaction& create(std::string path, std::string data, create_options options)
    {
        return add(create_op(std::move(path), std::move(data), std::move(options)));
    }
    transaction& create(std::string path, std::string data = {},
                        create_mode mode = create_mode::persistent)
    {
        return create(std::move(path), std::move(data), create_options{.mode = mode});
    }

    /// Replaces a node's data, if it has this version.
    transaction& set(std::string path, std::string data, std::int32_t version = any_version)
    {
        return add(set_op(std::move(path), std::move(data), version));
    }

    /// Deletes a node that has no children, if it has this version.
    transaction& remove(std::string path, std::int32_t version = any_version)
    {
        return add(remove_op(std::move(path), version));
    }

    /// Any step.
    transaction& add(transaction_op op)
    {
        ops_.push_back(std::move(op));
        return *this;
    }

    /// In the order in which the steps were added.
    [[nodiscard]] const std::vector<transaction_op>& ops() const noexcept { return ops_; }
    operator std::vector<transaction_op>() const { return ops_; }

private:
    std::vector<transaction_op> ops_;
};

} // namespace colock

#endif
