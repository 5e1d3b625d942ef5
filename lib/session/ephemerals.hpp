// The ephemeral nodes of the session, and how much room is left for more. Sans-io.
#pragma once

#include <colock/error.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace colock::protocol {

// When a session ends, a server writes the paths of all its ephemeral nodes into one transaction. Above about twice
// `jute.maxbuffer` no server can read that transaction, and none of the ensemble starts again. So the client counts the
// bytes as the server writes them, and creates no node beyond a limit.
//
// A node counts from the time when its create is sent until the client knows that it is gone. A node that may be there
// counts as well. Others delete nodes, too, and the client hears of that only where it has a watch. So before it refuses
// a node, it asks about all those of which it would not hear: that is a census.
class ephemerals {
public:
    using time_point = std::chrono::nanoseconds; // of a clock that does not go back

    // `chroot`: the length of what the servers have before each path.
    ephemerals(std::size_t most, std::size_t chroot) noexcept : most_{most}, chroot_{chroot} {}

    [[nodiscard]] std::size_t most() const noexcept { return most_; }
    [[nodiscard]] std::size_t used() const noexcept { return counted_ + claimed_; }
    [[nodiscard]] bool has_room_for(std::size_t bytes) const noexcept
    {
        return bytes == 0 || used() + bytes <= most_;
    }

    // What a node takes. `sequential`: the server appends a number to the path.
    [[nodiscard]] std::size_t size_of(std::string_view path, bool sequential) const noexcept;
    // What a counted node takes, with what is kept for later; 0 if it is not counted.
    [[nodiscard]] std::size_t counted_size_of(std::string_view path) const;

    // For nodes that are being created, or will be.
    void claim(std::size_t bytes) noexcept { claimed_ += bytes; }
    void give_back(std::size_t bytes) noexcept { claimed_ -= bytes; }

    // `later`: how many bytes more the node takes that may replace it. `heard`: whoever made it will hear of its end, by a
    // watch that is set on each connection; so it is not asked about, and costs less memory.
    void made(std::string_view path, std::size_t later, bool heard = false);
    // The answer to the create was lost. `unique`: no other client gives this name to sequential nodes.
    void perhaps_made(std::string_view path, bool sequential, std::size_t later,
                      bool unique = false);
    // It is not there, or is another session's.
    void gone(std::string_view path);

    void session_over() noexcept;

    // ---- the census

    struct question {
        std::string path;
        bool lists =
            false; // the children of the path; else: is the node there, and of this session?
        std::string prefix = {}; // of the create whose answer was lost, and which this is about
    };

    // A census begins at most once in five seconds; less often when the last one has changed nothing.
    [[nodiscard]] bool may_ask(time_point now) const noexcept
    {
        return !is_asking() && now >= next_;
    }
    // `hears`: whether the client hears it when the node at a path is deleted.
    void ask(time_point now, const std::function<bool(const std::string&)>& hears);
    [[nodiscard]] bool is_asking() const noexcept
    {
        return open_ != 0 || !questions_.empty() || interrupted_;
    }
    // The next one to send, each of which is answered or not; nothing while enough of them are open.
    [[nodiscard]] std::optional<question> next_question();
    // `own`: the node is there, and is this session's.
    void answered(const question& q, const error_code& ec, bool own,
                  const std::vector<std::string>& children);
    // The connection has broken. The census goes on, without questions, until there is another one: nothing is refused
    // because of an answer that did not come.
    void unanswered() noexcept;
    // To the servers once more: the next census may begin.
    void connected() noexcept;

private:
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept
        {
            return std::hash<std::string_view>{}(text);
        }
    };
    template <class T>
    using by_path = std::unordered_map<std::string, T, hash, std::equal_to<>>;

    // Sequential nodes that may be there.
    struct lost_creates {
        std::size_t count = 0;
        std::size_t size = 0;       // of each, with what is kept for later
        std::size_t later = 0;      // of that
        bool unique = true;         // what has such a name is one of them
        std::size_t candidates = 0; // for these nodes; the census still asks about so many
        bool all_answered = true;   // as far as it has asked
    };

    [[nodiscard]] bool is_counted(std::string_view path) const
    {
        return nodes_.contains(path) || heard_.contains(hash{}(path));
    }
    // Of the lost creates that alone can have made this node.
    [[nodiscard]] std::optional<std::string_view> lost_prefix_of(std::string_view path) const;
    void forget(by_path<lost_creates>::iterator at, std::size_t count);
    void listed(const question& q, const error_code& ec, const std::vector<std::string>& children);
    void looked_at(const question& q, const error_code& ec, bool own);

    const std::size_t most_;
    const std::size_t chroot_;
    std::size_t claimed_ = 0;
    std::size_t counted_ = 0;    // of the nodes below
    by_path<std::size_t> nodes_; // how many bytes more are kept for later
    std::unordered_map<std::size_t, std::size_t>
        heard_;                  // by the hash of the path; with what is kept
    by_path<lost_creates> lost_; // by their paths without the number

    std::vector<question> questions_; // to be sent, the next one at the back
    std::size_t open_ = 0;
    bool interrupted_ = false; // by the end of the connection
    bool in_vain_ = false;     // the last census has found nothing gone
    time_point next_ = time_point::min();
    std::chrono::seconds pause_{0}; // after the last census
};

} // namespace colock::protocol
