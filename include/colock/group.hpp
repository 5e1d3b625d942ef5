// A group of processes that know of each other.
#ifndef COLOCK_GROUP_HPP
#define COLOCK_GROUP_HPP

#include <colock/client.hpp>
#include <colock/detail/access.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/detail/made_once.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock {

namespace detail {

class member_node;

struct group_place {
    std::shared_ptr<client_core> core;
    std::string path;
};

} // namespace detail

/// What a process is in a group.
struct member_options {
    /// The name by which the others know it: a name of a node, at most 255 bytes. It must differ from those of the other
    /// members.
    std::string name;
    /// For the others to read, such as an address.
    std::string data = {};
    /// Its part of what the members share, beside the weights of the others. 0: it is there, and takes no part.
    std::uint32_t weight = 1;
    /// Access control of the member's node; `client_options::acl` when empty.
    std::optional<access_control_list> acl = {};

    /// Not for users: works around a fault of GCC 12.
    COLOCK_MADE_ONCE(member_options);
};

/// A member of a group, as the servers know it.
struct member_view {
    std::string name;         ///< Of the member.
    std::string data;         ///< What the member says of itself.
    std::uint32_t weight = 1; ///< Its part of what the members share.
    std::chrono::system_clock::time_point
        since;                ///< When it joined, last, by the servers' clock; in milliseconds.
    std::int64_t session = 0; ///< The number of its session.
    bool own = false;         ///< It is this client's.

    bool operator==(const member_view&) const = default;
};

/// This process in a group, as `group::async_join` gives it. Destroying it leaves the group in the background.
///
/// The member stays when the connection breaks. When its session has expired, or somebody has deleted its node, it joins
/// again by itself; `async_wait_rejoin` waits for that.
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: as of a guard. The const functions of one object may be called from several threads at once.
class [[nodiscard]] COLOCK_DECL membership {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Of no group.
    membership() noexcept = default;
    /// `other` is of no group afterwards.
    membership(membership&& other) noexcept = default;
    /// Leaves the group that this object was of, in the background. `other` is of no group afterwards.
    membership& operator=(membership&& other) noexcept;
    ~membership();

    /// True until the object is moved from, has left, or could not join again.
    [[nodiscard]] explicit operator bool() const noexcept;

    /// The name of the member; empty of no group.
    [[nodiscard]] const std::string& name() const noexcept;

    /// How often it has joined: 1, and one more each time that it joined again.
    [[nodiscard]] std::uint64_t joins() const noexcept;

    /// Replaces data and weight. At completion without an error the servers have them. While it joins again it waits for
    /// that.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors:
    ///  - `errc::not_held`: of no group. That of `async_wait_rejoin`: it is a member no more.
    ///  - `errc::invalid_option`: `data` is `revocation_request`, or its last line is.
    ///  - `errc::request_too_large`, `zookeeper_errc::no_auth` and others of `client::async_set`.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial, total: completes at once; the data are written all the same.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_update(std::string data, std::uint32_t weight,
                      CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(core_, token, &start_update, node_, std::move(data),
                                              weight);
    }

    /// Waits until `joins()` differs from `seen`. At completion `now` is `joins()`: it has joined again.
    ///
    /// Completion signature: `void(error_code, std::uint64_t now)`.
    /// Errors: all but the last one say why it could not join again, and it is a member no more.
    ///  - `errc::not_held`: of no group, or it has left.
    ///  - `errc::name_in_use`: another member has taken its name meanwhile. Join under another name.
    ///  - `errc::client_closed`, and other codes of an acquisition: `mutex` has the table.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_rejoin(std::uint64_t seen, CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(core_, token, &start_wait_rejoin, node_, seen);
    }

    /// Leaves the group. At completion without an error a server has confirmed that the member's node is gone. This object is
    /// of no group when this function returns.
    ///
    /// Completion signature: `void(error_code)`.
    /// Errors: those of `held_lock::async_unlock`; it leaves all the same, in the background. `errc::not_held`: of no group.
    /// Cancellation: terminal, partial: completes at once. Total is ignored.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_leave(CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(
            core_, token, &start_leave,
            membership{core_, std::move(node_)}); // which leaves, too, if that never starts
    }

    /// The client's executor; that of the system, which has threads of its own, of no group.
    [[nodiscard]] executor_type get_executor() const noexcept;

private:
    friend struct detail::access;

    membership(std::shared_ptr<detail::client_core> core,
               std::shared_ptr<detail::member_node> node) noexcept;

    static void start_update(const std::shared_ptr<detail::client_core>&,
                             detail::operation_ptr<error_code> op,
                             std::shared_ptr<detail::member_node> node, std::string data,
                             std::uint32_t weight);
    static void start_wait_rejoin(const std::shared_ptr<detail::client_core>&,
                                  detail::operation_ptr<error_code, std::uint64_t> op,
                                  std::shared_ptr<detail::member_node> node, std::uint64_t seen);
    static void start_leave(const std::shared_ptr<detail::client_core>&,
                            detail::operation_ptr<error_code> op, membership who);

    std::shared_ptr<detail::client_core> core_;
    std::shared_ptr<detail::member_node> node_;
};

/// A group of processes: who is there, by name, with data and a weight.
///
/// ```cpp
/// colock::group workers{zk, "/groups/workers"};
/// const colock::member_options me{.name = "worker-7", .data = "10.0.0.7:8080"};
/// colock::membership here = co_await workers.async_join(me);
/// for (const auto& each : co_await workers.async_members()) {
///     std::cout << colock::printable(each.name) << ' ' << colock::printable(each.data) << '\n';
/// }
/// ```
///
/// A member is an ephemeral node in the directory `path`, with its name and its data: that of a `GroupMember` of Apache
/// Curator, which can be in the same group. Nodes that no session owns are no members. A weight other than 1 stands in a
/// first line of the data, which Curator's members see as a part of the data.
///
/// **What is guaranteed**: among live sessions at most one member has a name, unless an operator deletes nodes.
/// **What is not**: who is listed may be dead for as long as a session lasts, and a member whose session has expired may
/// not know it yet. To do something exclusively, use a lock, or `shards`.
///
/// For all functions of this class:
///
/// **Executor**: a handler runs on its associated executor, by default the client's; never within the function that
/// starts the operation.
///
/// **Thread safety**: all functions of one object may be called from several threads at once, except assigning and
/// destroying it.
///
/// **Lifetime**: an object is a handle; one that was moved from may only be assigned or destroyed. Making it does no
/// I/O and does not throw for a bad path. It may be destroyed while its operations are under way; they continue.
class COLOCK_DECL group {
public:
    using executor_type = boost::asio::any_io_executor;

    /// The group at `path`, which must not be "/".
    group(client& zk, std::string path);

    /// The executor of the client.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The path of the constructor.
    [[nodiscard]] const std::string& path() const noexcept { return place_.path; }

    /// Joins the group. At completion `here` is this process's membership. A node of that name may still be there because
    /// its process has died: so the operation waits for it, for this client's session time-out and two
    /// `client_options::tick`, before it calls the name in use.
    ///
    /// Completion signature: `void(error_code, membership here)`.
    /// Errors:
    ///  - `errc::invalid_path`, `errc::invalid_option`: correct what the diagnostics name (`bind_diagnostics`).
    ///  - `errc::name_in_use`: another member has the name. Use another one.
    ///  - `errc::not_ephemeral`: a node that no session owns has it. Delete that if it is a left-over.
    ///  - `errc::no_answer`, `errc::disconnected`: it is unknown whether somebody has the name. Try again later.
    ///  - other codes of an acquisition: `mutex` has the table.
    ///
    /// Cancellation: terminal, partial: completes at once. Total: completes when no trace of it is left.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_join(member_options options, CompletionToken&& token = CompletionToken())
    {
        return detail::start<CompletionToken>(place_.core, token, &start_join, place_.path,
                                              std::move(options));
    }

    /// Asks who the members are, ascending by name. A list, and one read for each member.
    ///
    /// The answer is what this client's server knows, which may lag a little. While there is no connection it waits for one.
    ///
    /// Completion signature: `void(error_code, std::vector<member_view> members)`.
    /// Errors:
    ///  - `errc::invalid_path`: the path is malformed.
    ///  - `zookeeper_errc::no_auth`: an access control list does not allow to read the members.
    ///  - others of `client::async_children`, such as `errc::not_connected` and `errc::client_closed`.
    ///  - `operation_aborted`: cancelled, or the client was destroyed.
    ///
    /// Cancellation: terminal, partial, total: completes at once.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_members(CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(place_.core, token, &start_members, place_.path);
    }

    /// Waits until the members, or what they say of themselves, differ from `seen`. At completion `members` are those that
    /// there are now. A loop misses no change that lasts. Of several in quick succession it may see only the last one:
    ///
    /// ```cpp
    /// colock::group workers{zk, "/groups/workers"};
    /// std::vector<colock::member_view> members;
    /// for (;;) {
    ///     members = co_await workers.async_wait_change(members);
    ///     std::cout << members.size() << " workers\n";
    /// }
    /// ```
    ///
    /// It begins with the requests of `async_members`. Waiting costs none: the servers notify. The wait outlasts a
    /// disconnection. Each change costs each client that waits some four requests a member: among hundreds, let one wait and
    /// tell the others.
    ///
    /// Completion signature: `void(error_code, std::vector<member_view> members)`.
    /// Errors: those of `async_members`.
    /// Cancellation: terminal, partial, total: completes at once, and removes the watches.
    template <class CompletionToken = boost::asio::deferred_t>
    auto async_wait_change(std::vector<member_view> seen,
                           CompletionToken&& token = CompletionToken()) const
    {
        return detail::start<CompletionToken>(place_.core, token, &start_wait_change, place_.path,
                                              std::move(seen));
    }

private:
    static void start_join(const std::shared_ptr<detail::client_core>&,
                           detail::operation_ptr<error_code, membership> op, std::string path,
                           member_options options);
    static void start_members(const std::shared_ptr<detail::client_core>&,
                              detail::operation_ptr<error_code, std::vector<member_view>> op,
                              std::string path);
    static void start_wait_change(const std::shared_ptr<detail::client_core>&,
                                  detail::operation_ptr<error_code, std::vector<member_view>> op,
                                  std::string path, std::vector<member_view> seen);

    detail::group_place place_;
};

} // namespace colock

#endif
