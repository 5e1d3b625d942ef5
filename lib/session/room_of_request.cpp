#include "session/room_of_request.hpp"

#include <algorithm>

namespace colock::detail {

namespace {

bool is_ephemeral(create_mode mode) noexcept
{
    return mode == create_mode::ephemeral || mode == create_mode::ephemeral_sequential;
}

// A node that a request creates or removes.
struct change {
    const std::string& path;
    bool created = true;
    bool sequential = false;
    std::size_t step = 0; // of a transaction
};

template <class Tell>
void for_each_change(const zk::call& c, Tell tell)
{
    const auto creates = [&](const std::string& path, create_mode mode, std::size_t step) {
        if (is_ephemeral(mode)) {
            tell(change{path, true, mode == create_mode::ephemeral_sequential, step});
        }
    };
    if (c.op == zk::opcode::create) {
        creates(c.path, c.mode, 0);
    } else if (c.op == zk::opcode::remove) {
        tell(change{c.path, false});
    } else if (c.op == zk::opcode::multi) {
        for (std::size_t i = 0; i != c.ops.size(); ++i) {
            if (c.ops[i].type == transaction_op::kind::create) {
                creates(c.ops[i].path, c.ops[i].create.mode, i);
            } else if (c.ops[i].type == transaction_op::kind::remove) {
                tell(change{c.ops[i].path, false});
            }
        }
    }
}

// No server has said that the request was not carried out.
bool is_unknown(const error_code& ec) noexcept
{
    constexpr int first_of_servers = -101; // smaller numbers are
    return is_loss(ec) || (ec.category() == zookeeper_category() && ec.value() < 0 &&
                           ec.value() > first_of_servers);
}

} // namespace

std::size_t room_for(const request& r, const protocol::ephemerals& nodes)
{
    std::size_t made = 0;
    for_each_change(r.call, [&](const change& c) {
        made += c.created ? nodes.size_of(c.path, c.sequential) : 0;
    });
    if (made == 0 && r.room_kept == 0) {
        return 0;
    }
    made += r.room_kept;
    auto freed = r.room_had;
    for_each_change(
        r.call, [&](const change& c) { freed += c.created ? 0 : nodes.counted_size_of(c.path); });
    return made - std::min(made, freed);
}

bool is_release(const request& r)
{
    bool removes = false;
    bool creates = false;
    for_each_change(r.call, [&](const change& c) { (c.created ? creates : removes) = true; });
    return r.of_lock && removes && !creates;
}

void settle_room(const request& r, const zk::reply& reply, protocol::ephemerals& nodes)
{
    const auto& call = r.call;
    if (reply.error == zookeeper_errc::no_node) {
        if (call.op != zk::opcode::create && call.op != zk::opcode::multi) {
            nodes.gone(call.path);
        }
    } else if (reply.error && is_unknown(reply.error)) {
        for_each_change(call, [&](const change& c) {
            if (c.created) {
                nodes.perhaps_made(c.path, c.sequential, r.room_kept, r.of_lock);
            }
        });
    } else if (!reply.error) {
        for_each_change(call, [&](const change& c) {
            const bool told = call.op == zk::opcode::create || c.step < reply.results.size();
            const std::string& path = call.op == zk::opcode::create ? reply.text
                                      : told                        ? reply.results[c.step].path
                                                                    : c.path;
            if (!c.created) {
                nodes.gone(c.path);
            } else if (path.starts_with(c.path)) {
                nodes.made(path, r.room_kept, r.owner_hears);
            } else {
                nodes.perhaps_made(c.path, c.sequential, r.room_kept, r.of_lock);
            }
        });
    }
}

std::string room_words(const protocol::ephemerals& nodes)
{
    return "the session's nodes take " + std::to_string(nodes.used()) + " of " +
           std::to_string(nodes.most()) + " bytes (client_options::max_session_size)";
}

} // namespace colock::detail
