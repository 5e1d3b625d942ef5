// An observer is notified of each acquisition, of each hold, of shards and of heartbeats: for metrics and for tracing.
#ifndef COLOCK_OBSERVER_HPP
#define COLOCK_OBSERVER_HPP

#include <colock/detail/config.hpp>
#include <colock/error.hpp>
#include <colock/fencing_token.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace colock {

/// The kind of lock that an acquisition is about.
enum class acquisition_kind {
    mutex,
    recursive_mutex,
    shared_mutex,
    single_node_mutex,
    election,
    semaphore,
    multi_lock, ///< The whole: each of its locks and permits is an acquisition of its own, of its own kind.
};

/// The name of the value, such as "multi_lock"; "unknown" of a number that is none of them.
[[nodiscard]] constexpr std::string_view to_string(acquisition_kind value) noexcept
{
    switch (value) {
    case acquisition_kind::mutex: return "mutex";
    case acquisition_kind::recursive_mutex: return "recursive_mutex";
    case acquisition_kind::shared_mutex: return "shared_mutex";
    case acquisition_kind::single_node_mutex: return "single_node_mutex";
    case acquisition_kind::election: return "election";
    case acquisition_kind::semaphore: return "semaphore";
    case acquisition_kind::multi_lock: return "multi_lock";
    }
    return "unknown";
}

/// How an acquisition has ended.
enum class acquisition_outcome {
    granted, ///< The lock was granted. If it is lost before the handler runs, the caller gets that error instead of the guard.
    busy,    ///< A try found that somebody else holds it, or waits for it.
    timed_out, ///< The deadline passed, without an error.
    cancelled, ///< By its cancellation slot; or the client was destroyed; or its `multi_lock` gives it up.
    failed,  ///< With `acquisition_end::error`.
    dropped, ///< Its handler is never called: the execution context is being destroyed.
};

/// The name of the value, such as "dropped"; "unknown" of a number that is none of them.
[[nodiscard]] constexpr std::string_view to_string(acquisition_outcome value) noexcept
{
    switch (value) {
    case acquisition_outcome::granted: return "granted";
    case acquisition_outcome::busy: return "busy";
    case acquisition_outcome::timed_out: return "timed_out";
    case acquisition_outcome::cancelled: return "cancelled";
    case acquisition_outcome::failed: return "failed";
    case acquisition_outcome::dropped: return "dropped";
    }
    return "unknown";
}

/// How a lock came to the caller.
enum class grant_source {
    none, ///< It was not granted.
    free, ///< The servers granted it, and no other contender stood before it, as far as this client saw.
    handed_over, ///< Through the server: the client's contender has waited for another one.
    handed_off, ///< In memory: another user of this client released it to this one. No server was asked.
    kept_node, ///< In memory: the client had the node already, for other readers or because of `lock_options::linger`.
};

/// The name of the value, such as "kept_node"; "unknown" of a number that is none of them.
[[nodiscard]] constexpr std::string_view to_string(grant_source value) noexcept
{
    switch (value) {
    case grant_source::none: return "none";
    case grant_source::free: return "free";
    case grant_source::handed_over: return "handed_over";
    case grant_source::handed_off: return "handed_off";
    case grant_source::kept_node: return "kept_node";
    }
    return "unknown";
}

/// What an acquisition is about.
struct acquisition_info {
    /// Not 0. No other acquisition of this client has the same.
    std::uint64_t id = 0;
    acquisition_kind kind = acquisition_kind::mutex; ///< Of the lock.
    bool shared = false;                             ///< For reading, of a `shared_mutex`.
    /// That of the lock; without the chroot. Empty for a `multi_lock`.
    std::string_view path = {};
    /// The acquisition of the `multi_lock` that this one is a part of; or 0.
    std::uint64_t part_of = 0;
};

/// An acquisition has begun.
struct acquisition_start {
    acquisition_info what; ///< Which one.
};

/// An acquisition has ended.
struct acquisition_end {
    acquisition_info what;                                     ///< Which one.
    acquisition_outcome outcome = acquisition_outcome::failed; ///< The outcome.
    /// What the caller gets; of a grant none. `operation_aborted` when it was cancelled or dropped.
    error_code error = {};
    /// Since it began.
    std::chrono::nanoseconds waited{0};
    /// How the lock came to the caller.
    grant_source source = grant_source::none;
    /// Of the grant. The default token if it was not granted, and for permits and a `multi_lock`.
    fencing_token token = {};
    /// The node by which the lock is held; empty if it was not granted, and for permits and a `multi_lock`.
    std::string_view node = {};
    /// The node of the last holder that the acquisition was seen to wait for, another one than its own; or empty. It is
    /// known when at most two contenders stood before this client's one, in the queue of a lock that is not shared.
    std::string_view holder_node = {};
    /// What that node says about its owner: `default_owner_data()` or `lock_options::owner_data` of the holder, at most
    /// 200 bytes. Others have written it: show it as `printable` only. Empty when it was not read in time.
    std::string_view holder_owner = {};
    /// When it was handed off in memory: the acquisition of this client whose hold ended for it. Else 0.
    std::uint64_t previous = 0;
};

/// A hold has ended: the lock or the permits of an acquisition that was granted are no longer held.
struct hold_end {
    acquisition_info what; ///< The acquisition that was granted.
    /// Since it was granted.
    std::chrono::nanoseconds held{0};
    /// No error when it was released, even if a server has yet to confirm that. Otherwise the reason of the loss, as
    /// in `held_lock::loss_reason`.
    error_code loss = {};
    /// The time that was left until `safe_until()`: how much longer the lock would have been safe if the servers had
    /// stayed silent. Zero or negative when that bound had passed.
    std::chrono::nanoseconds margin{0};
};

/// A server has answered a heartbeat. A client sends them only while it sends nothing else that does as well.
struct heartbeat_answer {
    bool proves = false; ///< It was a write, which proves that the session lives. Else a read.
    /// Since it was sent.
    std::chrono::nanoseconds round_trip{0};
    /// The time until the session may end, as far as the client knows now; negative if it may have ended. A lock counts as
    /// lost earlier by its `lock_options::safety_margin`.
    std::chrono::nanoseconds margin{0};
};

/// A shard of a `shards`.
struct shard_info {
    std::string_view path = {}; ///< Of the `shards`; without the chroot.
    std::uint32_t index = 0;    ///< From 0.
    std::string_view name = {}; ///< As in `shards_options::names`, or the number as text.
};

/// This client owns a shard: it was granted the shard's lock, and the body is about to begin.
struct shard_start {
    shard_info what; ///< Which one.
    /// How long the shard was without an owner, as far as this client knows: since it was assigned to this client, when
    /// nobody held its lock. Else zero: the last owner's client counts it, see `shard_end::gap`.
    std::chrono::nanoseconds gap{0};
};

/// This client owns a shard no more.
struct shard_end {
    shard_info what; ///< Which one.
    /// Since it owned it.
    std::chrono::nanoseconds owned{0};
    /// The shard's lock was lost. The `hold_end` of that says why.
    bool lost = false;
    /// How long nobody worked on the shard: from when its body was cancelled until its lock was released. Zero when the
    /// lock was lost, or the body has ended by itself.
    std::chrono::nanoseconds gap{0};
};

/// Is notified of the outcomes of a client's acquisitions, and of its heartbeats. Derive from it, override the functions
/// that you need, and set `client_options::observer`. docs/metrics.md has examples for Prometheus and OpenTelemetry.
///
/// **Once each.** Each acquisition that begins ends exactly once. Each one that is granted has exactly one end of its
/// hold, whether the guard releases the lock, the lock is lost, or the client is closed or destroyed. A guard that outlives
/// the execution context ends its hold when it is destroyed, and a permit with the context. A `multi_lock` as a whole has
/// no hold: its parts have.
///
/// - A recursive acquisition by an owner who has the lock does not count; the hold ends with the last guard.
/// - A downgrade ends one hold and is another acquisition.
/// - An acquisition of permits is one, with one hold, which ends with the last of its permits. The lock of the semaphore's
///   queue is not reported.
/// - A `multi_lock` may acquire, release and acquire its parts again.
///
/// **Threads.** The functions are called on any thread that uses the client, its locks or guards, and several may be called
/// at once: an observer needs its own synchronization. `acquisition_began` is called within the initiating function, in the
/// caller's thread, so a tracer finds the caller's context there; for the parts of a `multi_lock`, on the client's
/// strand; for a lock with a body, such as `async_with_lock`, on a thread of the execution context when the caller's one
/// does not run it. `heartbeat_answered` is called on the client's strand. Of one acquisition, `acquisition_began` returns
/// before `acquisition_ended` is called, and that returns before the handler can run. `hold_ended` is called before the
/// lock's next holder in this client is notified of its grant. Of a lock that is lost at once it may be called while
/// `acquisition_ended` still runs on another thread, or before that. `shard_began` is called on a thread of the body,
/// before it; `shard_ended` on the client's strand, and not at all when the execution context is destroyed.
///
/// **What a function may do.** It is called in the middle of releases and grants, with no lock of the library held. It must
/// not throw, and should return soon. It may start operations, also of this client, and may release guards: work for
/// the client's strand runs after the call. It must not destroy the client or its execution context, nor run
/// the latter; nor start operations of the client when it is notified of one that is `dropped`.
///
/// **Lifetime.** The client keeps the observer until it is destroyed, and guards that outlive it do so too. Texts in
/// events are valid during the call.
class COLOCK_DECL observer {
public:
    virtual ~observer() = default;

    /// An acquisition has begun. Like the others, it does nothing unless overridden.
    virtual void acquisition_began(const acquisition_start& /*event*/) noexcept {}
    /// An acquisition has ended.
    virtual void acquisition_ended(const acquisition_end& /*event*/) noexcept {}
    /// A hold has ended: released or lost.
    virtual void hold_ended(const hold_end& /*event*/) noexcept {}
    /// A server has answered a heartbeat.
    virtual void heartbeat_answered(const heartbeat_answer& /*event*/) noexcept {}
    /// This client owns a shard.
    virtual void shard_began(const shard_start& /*event*/) noexcept {}
    /// This client owns a shard no more.
    virtual void shard_ended(const shard_end& /*event*/) noexcept {}

protected:
    observer() = default;
    observer(const observer&) = default;
    observer& operator=(const observer&) = default;
};

} // namespace colock

#endif
