#include "limits.hpp"

#include "check/counter.hpp"

namespace world {

using namespace std::chrono_literals;

void limits::begin()
{
    if (!counters_.empty()) {
        plan_next();
    }
}

void limits::plan_next()
{
    time_.after(random_.between(50ms, 1s), [this] {
        for (const auto& c : counters_) {
            look(c);
        }
        plan_next();
    });
}

// Programs change the number, too: what is not the largest one is put right after a while.
void limits::look(const counter& c)
{
    const auto whole = check::bytes_of(c.most);
    const auto* const now = servers_.decided().find(c.node);
    if (now == nullptr || now->data != whole) {
        if (over_ || random_.per_mille(400)) {
            write(c.node, whole);
        }
    } else if (!over_ && random_.per_mille(200)) {
        if (!careless_ || random_.per_mille(900)) {
            write(c.node, check::bytes_of(random_.between(0, c.most - 1)));
        } else if (random_.per_mille(500)) {
            write(c.node, "none at all");
        } else {
            journal_.note(check::deed::by_hand, name_, 0, [&] { return c.node + " is deleted"; });
            servers_.remove_by_hand(c.node);
        }
    }
}

void limits::write(const std::string& node, const std::string& data)
{
    const auto op = servers_.decided().find(node) == nullptr ? opcode::create : opcode::set;
    servers_.by_hand({.op = op, .path = node, .data = data, .acl = colock::open_acl()});
}

} // namespace world
