// What programs do with locks: one coroutine each, which ends soon after customer::is_over().
#pragma once

#include "customer.hpp"

namespace world::workload {

// Takes the lock in all ways, uses it, lets go in all ways, again and again.
[[nodiscard]] asio::awaitable<void> turns(customer::ptr me, std::size_t place, random chance);

// Likewise by async_with_lock and async_with_lock_shared.
[[nodiscard]] asio::awaitable<void> bodies(customer::ptr me, std::size_t place, random chance);

// Stands for election, looks who leads, waits for changes.
[[nodiscard]] asio::awaitable<void> candidate(customer::ptr me, std::size_t place, random chance);

// Several locks at once.
[[nodiscard]] asio::awaitable<void> several(customer::ptr me, random chance);

// From the exclusive lock to a shared one.
[[nodiscard]] asio::awaitable<void> downgrades(customer::ptr me, std::size_t place, random chance);

// The same owner takes a recursive mutex again and again before it lets go.
[[nodiscard]] asio::awaitable<void> recursion(customer::ptr me, std::size_t place, random chance);

// Many waiters of one client, by callbacks that start the next operation within the handler.
[[nodiscard]] asio::awaitable<void> crowd(customer::ptr me, std::size_t place, random chance);

// Looks into queues, waits for positions, and asks holders to let go.
[[nodiscard]] asio::awaitable<void> onlooker(customer::ptr me, std::size_t place, random chance);

// Nodes and watches, without a lock.
[[nodiscard]] asio::awaitable<void> nodes(customer::ptr me, random chance);

// Watches nodes that an operator changes.
[[nodiscard]] asio::awaitable<void> watcher(customer::ptr me, random chance);

// Takes a mutex as Apache Curator does, by the client's operations on nodes.
[[nodiscard]] asio::awaitable<void> peer(customer::ptr me, std::size_t place, random chance);

// Owns shards, in one run after the other.
[[nodiscard]] asio::awaitable<void> sharer(customer::ptr me, random chance);

// Takes the lock of a shard as an operator does, by a mutex of its own.
[[nodiscard]] asio::awaitable<void> stranger(customer::ptr me, random chance);

// Asks who owns what.
[[nodiscard]] asio::awaitable<void> looks_at_shards(customer::ptr me);

// Joins a group and leaves it, again and again.
[[nodiscard]] asio::awaitable<void> joiner(customer::ptr me, random chance);

// Asks who the members are, waits for changes, and seldom removes one.
[[nodiscard]] asio::awaitable<void> looks_at_group(customer::ptr me, random chance);

// Waits for others at a barrier, phase after phase.
[[nodiscard]] asio::awaitable<void> goes_through_phases(customer::ptr me, random chance);

// Arrives at latches, waits there, and counts them down.
[[nodiscard]] asio::awaitable<void> meets_at_latches(customer::ptr me, random chance);

// Deletes the nodes of some who have arrived, as an operator does.
[[nodiscard]] asio::awaitable<void> takes_arrivals_out(customer::ptr me, random chance);

} // namespace world::workload
