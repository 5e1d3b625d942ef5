#ifndef COLOCK_TEST_SUPPORT_ADMIN_SESSION_HPP
#define COLOCK_TEST_SUPPORT_ADMIN_SESSION_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// An operation that the server refused, or whose connection failed.
class admin_error : public std::runtime_error {
public:
    admin_error(int code, std::string const& text) : std::runtime_error(text), code_(code) {}

    /// ZooKeeper's code (-101 no node, -110 node exists, ...); -4 when the connection failed and
    /// the outcome is unknown.
    int code() const noexcept { return code_; }

private:
    int code_;
};

/// An independent hand on the server: the operator, or a peer that is not colock.
/**
 * A small blocking client that shares no code with the library under test. Every operation either
 * succeeds or throws `admin_error` with the operation, the path and the reason in its text, within
 * the deadline given to the constructor.
 *
 * No thread pings for it. When it is used again after its session has expired, or after the server
 * was restarted, it connects again, under a new session if need be; only if it had made ephemeral
 * nodes, whose loss would falsify a test, that is an error. Whoever needs ephemeral nodes for
 * longer than the session time-out calls `ping()` now and then, or gives the server a larger
 * `max_session_timeout`.
 *
 * Not for several threads at a time. The destructor closes the session.
 */
class admin_session {
public:
    enum class mode : std::int32_t {
        persistent = 0,
        ephemeral = 1,
        persistent_sequential = 2,
        ephemeral_sequential = 3,
        container = 4
    };

    struct stat {
        std::int64_t czxid = 0, mzxid = 0, ctime = 0, mtime = 0;
        std::int32_t version = 0, cversion = 0, aversion = 0;
        std::int64_t ephemeral_owner = 0;
        std::int32_t data_length = 0, num_children = 0;
        std::int64_t pzxid = 0;
    };

    struct acl_entry {
        std::int32_t permissions = 31; ///< read 1, write 2, create 4, delete 8, admin 16
        std::string scheme = "world";
        std::string id = "anyone";
    };

    /// What everybody may do anything with.
    static std::vector<acl_entry> open_to_all();

    struct options {
        std::chrono::milliseconds session_timeout{30'000};
        std::chrono::milliseconds deadline{10'000};
    };

    /// Connects to the first server of "host:port[,host:port...]" that takes it.
    explicit admin_session(std::string_view connect_string);
    admin_session(std::string_view connect_string, options const& chosen);
    admin_session(admin_session&& other) noexcept;
    admin_session& operator=(admin_session&& other) noexcept;
    ~admin_session();

    /// Returns the path made, which differs from the one given in the sequential modes.
    std::string create(std::string_view path, std::string_view data = {},
                       mode how = mode::persistent,
                       std::vector<acl_entry> const& acl = open_to_all());

    /// Makes a persistent node and its missing parents; nothing happens when it is there.
    void create_path(std::string_view path);

    void remove(std::string_view path, std::int32_t version = -1);

    /// False when there is no such node.
    bool remove_if_there(std::string_view path);

    /// Removes a node and all below it; nothing happens when it is not there.
    void remove_tree(std::string_view path);

    std::optional<stat> exists(std::string_view path);
    std::string get(std::string_view path, stat* details = nullptr);

    /// Leaves a data watch on a node. Its event is dropped here; it shows in the server's watches
    /// and at a proxy.
    void watch(std::string_view path);

    stat set(std::string_view path, std::string_view data, std::int32_t version = -1);

    /// The names below `path`, sorted as strings.
    std::vector<std::string> children(std::string_view path);

    std::vector<acl_entry> get_acl(std::string_view path);
    stat set_acl(std::string_view path, std::vector<acl_entry> const& acl,
                 std::int32_t version = -1);
    void add_auth(std::string_view scheme, std::string_view credentials);

    /// Takes servers into the ensemble ("server.4=host:quorum:election"), and others out of it ("1"). Needs servers with
    /// `reconfigEnabled` that let everybody do so.
    void reconfigure(std::string_view joining, std::string_view leaving);

    /// Makes the server catch up with the leader.
    void sync(std::string_view path = "/");
    void ping();

    /// How long each function waits for its answer from now on.
    void set_deadline(std::chrono::milliseconds deadline);

    std::int64_t session_id() const;
    std::string password() const;
    std::chrono::milliseconds session_timeout() const;

    /// Ends the session; ephemeral nodes go at once. Nothing may be called afterwards.
    void close();

    /// Drops the connection without a word: the session ends by its time-out. Nothing may be called
    /// afterwards.
    void abandon();

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

/// "no node (-101)" and the like.
std::string describe_zookeeper_error(int code);

} // namespace colock::test

#endif
