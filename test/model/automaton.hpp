// The shipped contender as a table of its states: each pair of state and input is run once.
#pragma once

#include "queue/contender.hpp"
#include "zookeeper_model.hpp"

#include <functional>
#include <optional>
#include <string_view>

namespace colock::model {

enum class input_kind : std::uint8_t {
    join,
    leave,
    watch_own_node,
    connected,
    suspended,
    expired,
    directory_made,
    created,
    listed,
    watched,
    changed,
    deleted,
    removed,
    stepped_down,
    proved,
    step_down,
    directory_read,
    listed_and_watched,
    look_around,
    newcomers_watched,
    newcomer,
    try_join,
};

enum class answer : std::uint8_t { ok, no_node, throttled, node_exists, no_auth, unknown };

struct input {
    input_kind kind;
    answer code = answer::ok;
    bool connected = false;
    bool safe = true;         // the session, as far as is known
    std::uint8_t session = 0; // also the owner
    std::uint8_t czxid = 0;
    text_id name = 0;
    bool replaceable = false;   // the directory that was read
    std::uint8_t directory = 0; // which one was listed
    boost::container::static_vector<text_id, max_clients + 2> children = {};
};

// What a client tells its contender when an answer has come.
inline input input_of(const message& m, answer code)
{
    static constexpr input_kind kinds[] = {
        input_kind::directory_made,   input_kind::created,        input_kind::listed,
        input_kind::listed,           input_kind::watched,        input_kind::removed,
        input_kind::stepped_down,     input_kind::directory_read, input_kind::listed_and_watched,
        input_kind::newcomers_watched};
    const auto kind = kinds[static_cast<std::size_t>(m.op)];
    if (code != answer::ok) {
        // The name is the client's own knowledge only of a watch.
        return {.kind = kind, .code = code, .name = m.op == operation::watch ? m.name : text_id{0}};
    }
    return {.kind = kind,
            .session = m.owner,
            .czxid = m.czxid,
            .name = m.name,
            .replaceable = m.replaceable,
            .directory = m.directory,
            .children = m.children};
}

struct output {
    protocol::command::kind type;
    text_id name = 0;
    error_code error = {};
};

using state_id = std::uint32_t;

class automaton {
public:
    struct transition {
        state_id next;
        std::vector<output> outputs;
        std::optional<protocol::remote_contention> known = {}; // what the input returns, if it does
    };

    // `first`: one contender after the other; their states are the first ones.
    automaton(texts& text, const std::vector<protocol::contender>& first, bool try_only)
        : text_{text}, try_only_{try_only}
    {
        for (const auto& each : first) {
            id_of(each);
        }
    }

    [[nodiscard]] const transition& apply(state_id from, const input& in)
    {
        const auto key = (std::uint64_t{from} << 32) | id_of(in);
        const auto at = transitions_.find(key);
        return at != transitions_.end()
                   ? at->second
                   : transitions_.emplace(key, run(states_[from], in)).first->second;
    }

    [[nodiscard]] const protocol::contender& operator[](state_id id) const { return states_[id]; }
    [[nodiscard]] text_id name(state_id id) const { return names_[id]; }
    [[nodiscard]] std::size_t size() const noexcept { return states_.size(); }

private:
    std::uint32_t id_of(const input& in)
    {
        std::string encoded;
        for (const unsigned value :
             {unsigned(in.kind), unsigned(in.code), unsigned(in.connected), unsigned(in.safe),
              unsigned(in.replaceable), unsigned(in.session), unsigned(in.czxid),
              unsigned(in.directory)}) {
            encoded += static_cast<char>(value);
        }
        const auto append = [&](text_id id) {
            encoded += static_cast<char>(id & 0xff);
            encoded += static_cast<char>(id >> 8);
        };
        append(in.name);
        for (const auto child : in.children) {
            append(child);
        }
        return inputs_.try_emplace(std::move(encoded), static_cast<std::uint32_t>(inputs_.size()))
            .first->second;
    }

    state_id id_of(const protocol::contender& value)
    {
        const auto told = static_cast<std::size_t>(
            value.holds() | value.is_next() << 1 | value.is_gone() << 2 |
            static_cast<int>(value.contention()) << 3 | value.identity().czxid << 8);
        const auto id = states_.id_of(value, told ^ std::hash<std::string_view>{}(value.name()) *
                                                        std::size_t{31});
        if (id == names_.size()) {
            names_.push_back(text_(value.name()));
        }
        return id;
    }

    transition run(protocol::contender value, const input& in)
    {
        static const error_code codes[] = {{},
                                           zookeeper_errc::no_node,
                                           zookeeper_errc::throttled_op,
                                           zookeeper_errc::node_exists,
                                           zookeeper_errc::no_auth,
                                           zookeeper_errc::connection_loss};
        const auto& ec = codes[static_cast<std::size_t>(in.code)];
        const auto& name = text_[in.name];
        const protocol::node_identity identity{in.czxid, in.session};
        protocol::commands out;
        std::optional<protocol::remote_contention> known;
        value.assume_safe(in.safe);
        switch (in.kind) {
        case input_kind::join:
            try_only_ ? value.try_join(in.connected, in.session, out)
                      : value.join(in.connected, in.session, out);
            break;
        case input_kind::try_join: value.try_join(in.connected, in.session, out); break;
        case input_kind::leave: value.leave(out); break;
        case input_kind::watch_own_node: value.watch_own_node(out); break;
        case input_kind::connected: value.connected(in.session, out); break;
        case input_kind::suspended: value.suspended(); break;
        case input_kind::expired: value.expired(out); break;
        case input_kind::directory_made: value.directory_made({&ec, 1}, out); break;
        case input_kind::created: value.created(ec, name, identity, out); break;
        case input_kind::listed:
        case input_kind::listed_and_watched:
        case input_kind::newcomers_watched: {
            std::vector<std::string> children;
            for (const auto child : in.children) {
                children.push_back(text_[child]);
            }
            const protocol::contender::listing l{.children = children,
                                                 .directory = in.directory,
                                                 .watched = in.kind != input_kind::listed};
            if (in.kind == input_kind::newcomers_watched) {
                known = value.newcomers_watched(ec, l);
            } else {
                value.listed(ec, l, out);
            }
            break;
        }
        case input_kind::look_around: known = value.look_around(out); break;
        case input_kind::newcomer: known = value.newcomer(); break;
        case input_kind::watched: value.watched(name, ec, identity, out); break;
        case input_kind::changed: value.fired(name, false, out); break;
        case input_kind::deleted: value.fired(name, true, out); break;
        case input_kind::directory_read: value.directory_read(!ec && in.replaceable); break;
        case input_kind::removed: value.removed(ec, out); break;
        case input_kind::stepped_down: value.stepped_down(ec, out); break;
        case input_kind::step_down: value.step_down(out); break;
        case input_kind::proved: value.proved(out); break;
        }
        transition t{id_of(value), {}, known};
        for (const auto& c : out) {
            t.outputs.push_back({c.type, text_(c.name), c.error});
        }
        return t;
    }

    texts& text_;
    bool try_only_;
    numbering<protocol::contender> states_;
    std::vector<text_id> names_;
    std::unordered_map<std::string, std::uint32_t> inputs_;
    std::unordered_map<std::uint64_t, transition> transitions_;
};

} // namespace colock::model
