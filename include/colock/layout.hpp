// How the nodes of a lock are named.
#ifndef COLOCK_LAYOUT_HPP
#define COLOCK_LAYOUT_HPP

#include <colock/detail/made_once.hpp>

#include <string>
#include <string_view>

namespace colock {

/// The names of the contenders in a lock's directory, as data.
///
/// A contender of this library is `<prefix><guid><separator><marker><number>`, where the number is what ZooKeeper
/// appends, ten digits. A child that begins with `required_prefix` and ends in the marker and a number is in the queue.
/// Children of other forms are ignored. None of the texts may contain a '/', or anything that ZooKeeper forbids in
/// names, such as a control character; nor may a marker end in a digit, or be empty. A layout that breaks these rules, or
/// that could not read back the names that it writes, is refused with `errc::invalid_option`.
///
/// The functions below make the layouts that are in use.
struct layout {
    std::string prefix; ///< What a name begins with.
    std::string marker; ///< What precedes the number.
    /// Instead of `marker`, of holders that share the lock; empty where none does.
    std::string shared_marker = {};
    /// What separates the guid and the marker.
    std::string separator = "-";
    /// A guid of 36 characters, or of 32 without dashes.
    bool dashed_guid = true;
    /// What other clients' names must begin with to be in the queue.
    std::string required_prefix = {};

    bool operator==(const layout&) const = default;

    /// Not for users: works around a fault of GCC 12.
    COLOCK_MADE_ONCE(layout);
};

/// Apache Curator's mutex: `_c_<uuid>-lock-0000000007`. The default of `mutex`; go-zookeeper's locks share
/// the queue.
inline layout curator_layout()
{
    return {.prefix = "_c_", .marker = "lock-"};
}

/// Apache Curator's read/write lock: `_c_<uuid>-__WRIT__0000000007`, and `__READ__`. The default of
/// `shared_mutex`.
inline layout curator_shared_layout()
{
    return {.prefix = "_c_", .marker = "__WRIT__", .shared_marker = "__READ__"};
}

/// Apache Curator's `LeaderLatch`: `_c_<uuid>-latch-0000000007`. That of `election`.
inline layout curator_latch_layout()
{
    return {.prefix = "_c_", .marker = "latch-"};
}

/// The locks of kazoo: `<hex>__lock__0000000007`, and `__rlock__` of its ReadLock.
inline layout kazoo_layout()
{
    return {.prefix = "",
            .marker = "__lock__",
            .shared_marker = "__rlock__",
            .separator = "",
            .dashed_guid = false};
}

/// As go-zookeeper writes it: `_c_<hex>-lock-0000000007`. The same queue as that of `curator_layout`.
inline layout go_zookeeper_layout()
{
    return {.prefix = "_c_", .marker = "lock-", .dashed_guid = false};
}

/// The recipe that comes with ZooKeeper, in Java (`WriteLock`) and in C: `x-<id>-0000000007`.
inline layout zookeeper_recipe_layout()
{
    return {.prefix = "x-",
            .marker = "-",
            .separator = "",
            .dashed_guid = false,
            .required_prefix = "x-"};
}

/// One of several locks in one directory: `<uuid>-<name>_lock_0000000007`. No name may end in another one with a
/// dash before it.
inline layout named_layout(std::string_view name)
{
    return {.prefix = "", .marker = '-' + std::string{name} + "_lock_", .separator = ""};
}

} // namespace colock

#endif
