// Sessions with ZooKeeper that are spoken for by a script: with real servers, or with simulated ones.
#pragma once

#include <colock/client_options.hpp>
#include <colock/node.hpp>

#include "zk/call.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace world::conversation {

// What a session hears.
struct answer {
    std::size_t number = 0; // of the call
    colock::zk::reply body = {};
};
struct heard {
    std::size_t session = 0;
    std::variant<answer, colock::watch_event> what = {};
};

inline const colock::credential operators_credential{"digest", "operator:secret"};

// Long enough for a server on a busy machine.
inline constexpr std::chrono::milliseconds session_timeout{9000};

// Each function waits until it is done, and throws `std::runtime_error` when that takes too long.
class side {
public:
    virtual ~side() = default;

    [[nodiscard]] virtual std::string name() const = 0; // of the software
    [[nodiscard]] virtual std::size_t servers() const = 0;
    // Begins a session, or takes the given one over. False when the servers do not know it.
    virtual bool open(std::size_t session, std::size_t server,
                      const std::vector<colock::credential>& credentials,
                      const colock::zk::session_identity& as) = 0;
    // Sends all of them at once, numbered from this on, and waits for the answers: a loss when the connection ends.
    virtual void ask(std::size_t session, const std::vector<colock::zk::call>& calls,
                     std::size_t number) = 0;
    // Ends the session.
    virtual void close(std::size_t session) = 0;
    // Breaks the connection.
    virtual void drop(std::size_t session) = 0;
    // Meanwhile the other sessions stay alive.
    virtual void pass(std::chrono::milliseconds time) = 0;
    [[nodiscard]] virtual colock::zk::session_identity identity(std::size_t session) const = 0;

    // An operator, who has a session of their own from then on.
    virtual void begin_operator() = 0;
    virtual colock::zk::reply set_acl(const std::string& path,
                                      const colock::access_control_list& acl,
                                      std::int32_t version) = 0;
    virtual void end_operator() = 0;

    // What was heard since the last time.
    [[nodiscard]] virtual std::vector<heard> take() = 0;
};

// Of directories that are there from the beginning: how many children have been created in them.
using counters = std::map<std::string, std::int32_t>;

struct side_options {
    std::size_t servers = 1;
    std::chrono::milliseconds container_check = std::chrono::hours{1};
    counters from = {}; // with one server only
};

class real_side : public side {
public:
    // The servers' version is 3.8.4, 3.9.2 or later.
    [[nodiscard]] virtual bool exists_needs_read() const = 0;
};

std::unique_ptr<side> make_simulated_side(const side_options& o, bool exists_needs_read);
std::unique_ptr<real_side> make_real_side(const side_options& o);
// `colock serve`: one server.
std::unique_ptr<real_side> make_served_side(const side_options& o, bool exists_needs_read);

} // namespace world::conversation
