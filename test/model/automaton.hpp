// The shipped contender as a table of its states: each pair of state and input is run once.
#pragma once

#include "protocol/contender.hpp"
#include "zookeeper_model.hpp"

#include <stdexcept>

namespace colock::model {

enum class input_kind : std::uint8_t {
    join,
    leave,
    guard,
    connected,
    suspended,
    expired,
    directory_made,
    created,
    counted,
    listed,
    watched,
    changed,
    deleted,
    removed,
    stepped_down,
    proved,
    step_down,
    directory_read,
};

enum class answer : std::uint8_t { ok, no_node, throttled, denied, unknown };

struct input {
    input_kind kind;
    answer code = answer::ok;
    bool connected = false;
    bool safe = true;         // the session, as far as is known
    std::uint8_t session = 0; // also the owner
    std::uint8_t czxid = 0;
    text_id name = 0;
    bool ours = false;      // what was directory_read, or is recognised where it is listed
    bool alone = false;     // what was counted
    std::uint8_t noted = 0; // likewise: what the note adds to the first number; 0 without one
    boost::container::static_vector<text_id, max_clients + 2> children = {};
};

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
    };

    automaton(texts& text, const protocol::contender& first, bool try_only)
        : text_{text}, try_only_{try_only}
    {
        id_of(first);
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
              unsigned(in.ours), unsigned(in.alone), unsigned(in.noted), unsigned(in.session),
              unsigned(in.czxid)}) {
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
        const auto [at, inserted] =
            ids_.try_emplace(value.fingerprint(), static_cast<state_id>(states_.size()));
        if (inserted) {
            states_.push_back(value);
            names_.push_back(text_(value.name()));
        } else if (!(states_[at->second] == value)) {
            throw std::logic_error{"different contenders have one fingerprint: " + at->first};
        }
        return at->second;
    }

    transition run(protocol::contender value, const input& in)
    {
        static const error_code codes[] = {{},
                                           zookeeper_errc::no_node,
                                           zookeeper_errc::throttled_op,
                                           zookeeper_errc::no_auth,
                                           zookeeper_errc::connection_loss};
        const auto& ec = codes[static_cast<std::size_t>(in.code)];
        const auto& name = text_[in.name];
        const protocol::node_identity identity{in.czxid, in.session};
        protocol::commands out;
        value.assume_safe(in.safe);
        switch (in.kind) {
        case input_kind::join:
            try_only_ ? value.try_join(in.connected, in.session, out)
                      : value.join(in.connected, in.session, out);
            break;
        case input_kind::leave: value.leave(out); break;
        case input_kind::guard: value.guard(out); break;
        case input_kind::connected: value.connected(in.session, out); break;
        case input_kind::suspended: value.suspended(); break;
        case input_kind::expired: value.expired(out); break;
        case input_kind::directory_made: value.directory_made(ec, out); break;
        case input_kind::created: value.created(ec, name, identity, out); break;
        case input_kind::counted: value.counted(ec, name, identity, in.alone, out); break;
        case input_kind::listed: {
            std::vector<std::string> children;
            for (const auto child : in.children) {
                children.push_back(text_[child]);
            }
            value.listed(ec, children, in.ours, out);
            break;
        }
        case input_kind::watched: value.watched(name, ec, identity, out); break;
        case input_kind::changed: value.fired(name, false, out); break;
        case input_kind::deleted: value.fired(name, true, out); break;
        case input_kind::directory_read:
            value.directory_read(ec, in.ours, in.noted - 1, out);
            break;
        case input_kind::removed: value.removed(ec, out); break;
        case input_kind::stepped_down: value.stepped_down(ec, out); break;
        case input_kind::step_down: value.step_down(out); break;
        case input_kind::proved: value.proved(out); break;
        }
        transition t{id_of(value), {}};
        for (const auto& c : out) {
            t.outputs.push_back({c.type, text_(c.name), c.error});
        }
        return t;
    }

    texts& text_;
    bool try_only_;
    std::vector<protocol::contender> states_;
    std::vector<text_id> names_;
    std::unordered_map<std::string, state_id> ids_;
    std::unordered_map<std::string, std::uint32_t> inputs_;
    std::unordered_map<std::uint64_t, transition> transitions_;
};

} // namespace colock::model
