// What clients and servers of a walk say to each other, and what a server keeps.
#pragma once

#include "names/contender_name.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colock::model {

constexpr std::size_t max_clients = 6;
// The owner of nodes that belong to no client under examination.
constexpr std::uint8_t foreigner = 255;

// Texts as small numbers, so that states are small and quick to compare. 0 is "".
using text_id = std::uint16_t;

class texts {
public:
    [[nodiscard]] text_id operator()(std::string_view text)
    {
        const auto [at, inserted] =
            ids_.try_emplace(std::string{text}, static_cast<text_id>(all_.size()));
        if (inserted) {
            all_.push_back(at->first);
        }
        return at->second;
    }

    [[nodiscard]] const std::string& operator[](text_id id) const { return all_[id]; }

private:
    std::unordered_map<std::string, text_id> ids_{{"", text_id{0}}};
    std::vector<std::string> all_{""};
};

// Numbers for values that can be compared, in the order in which they come.
template <class Value>
class numbering {
public:
    // `key`: of equal values it is equal, of others seldom.
    [[nodiscard]] std::uint32_t id_of(const Value& value, std::size_t key)
    {
        auto& alike = ids_[key];
        for (const auto id : alike) {
            if (all_[id] == value) {
                return id;
            }
        }
        alike.push_back(static_cast<std::uint32_t>(all_.size()));
        all_.push_back(value);
        return alike.back();
    }

    [[nodiscard]] const Value& operator[](std::uint32_t id) const { return all_[id]; }
    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

private:
    std::unordered_map<std::size_t, std::vector<std::uint32_t>> ids_;
    std::vector<Value> all_;
};

enum class operation : std::uint8_t {
    make_directory,
    create,
    list,
    list_again, // likewise, by one who stands by until the queue is empty
    watch,
    remove,
    step_down,        // the node `name`, of a reader, in place of the client's own, a writer's
    read_directory,   // whether another directory can take its place
    list_and_watch,   // and watch the directory for nodes that come or go
    watch_newcomers,  // likewise, by a holder
    remove_directory, // unless it has children; nobody looks at the answer
    forget
};

struct request {
    operation op;
    text_id name = 0;
    bool wanted = true;         // of a watch: the client still wants it. Known to the client only.
    std::uint8_t turn = 0;      // which one of the client's contenders has sent it
    std::uint8_t directory = 0; // of list_again: where it has made way
};

enum class result : std::uint8_t { ok, no_node, throttled, node_exists, no_auth };

// What a connection carries to its client: replies and events in one order.
struct message {
    bool is_event = false; // without a name: of the directory, in which a node has come or gone
    bool deleted = false;  // of an event: else the data changed
    operation op = operation::list; // of a reply
    bool wanted = true;             // copied from the request
    result code = result::ok;
    text_id name = 0;
    std::uint8_t owner = 0; // of the node created or read
    std::uint8_t czxid = 0;
    bool replaceable = false;   // the directory that was read
    std::uint8_t directory = 0; // which one was listed
    std::uint8_t turn = 0;      // copied from the request
    boost::container::static_vector<text_id, max_clients + 2> children = {};
    // For the check of G1 only: the node of this client that had most recently been blocked by none, as
    // the server knew it when it wrote this.
    text_id led = 0;
};

struct node {
    text_id name;
    std::uint8_t client;
    std::uint8_t owner; // its session
    std::uint8_t number;
    std::uint8_t czxid;
    bool shared;
};

// What a server shows that lags behind the leader, and the changes that it has still to carry out.
struct view {
    struct change {
        text_id name;
        bool deleted;
        text_id led;

        friend bool operator==(const change&, const change&) = default;
    };

    boost::container::static_vector<node, 2 * max_clients> nodes = {};
    bool directory = false;
    std::uint8_t incarnation = 0;
    text_id led = 0;
    boost::container::static_vector<change, 16> changes = {};
};

struct session {
    std::uint8_t id = 0;
    bool alive = true;
    // Whether there is a connection. Requests that were sent on the last one may still be on their
    // way to the leader when it is gone.
    bool connected = true;
    boost::container::static_vector<request, 16> requests = {};
    // Those of previous connections that no barrier has stopped.
    boost::container::static_vector<request, 16> late = {};
    // Where servers stall: there are two. Which one the connection is to, and which one the leader takes for the
    // session's owner; what lies unread at each of them from connections that the client has given up.
    std::uint8_t at = 0;
    std::uint8_t owner = 0;
    std::array<boost::container::static_vector<request, 16>, 2> old = {};
    std::uint8_t offered = 0; // bits: an attempt that the client has given up lies there, too
    bool moved = false;       // the owner is another one than the client believes
    boost::container::static_vector<message, 16> messages = {};
    // Of nodes by their names, and of the directory without one.
    boost::container::static_vector<text_id, max_clients + 2> watches = {};
    text_id led = 0;
    std::optional<view> behind = {}; // its server lags
};

} // namespace colock::model
