// A server that looks for a leader: it asks the others, and votes for the longest history.
#include "server.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace colock::simulated {

namespace {

using namespace std::chrono_literals;

// So long the answers are waited for, as the real one waits for better votes.
constexpr auto round = 200ms;

class looking : public role, public std::enable_shared_from_this<looking> {
public:
    explicit looking(server& of) : server_{of} {}

    void start() override { begin(); }

    void end() override
    {
        over_ = true;
        hang_up();
    }

    peer_message::doing doing() const noexcept override { return peer_message::doing::looking; }

    void asked(const peer_message& m) override { heard_[m.from] = m; }

private:
    void hang_up()
    {
        for (const auto& link : std::exchange(links_, {})) {
            link->close();
        }
    }

    void begin()
    {
        if (server_.options().servers == 1) {
            server_.lead();
            return;
        }
        hang_up();
        heard_.clear();
        for (std::size_t i = 0; i != server_.options().servers; ++i) {
            if (i != server_.index()) {
                ask(i);
            }
        }
        server_.host().after(round + server_.chance().between(0ns, 20ms),
                             [weak = weak_from_this()] {
                                 if (const auto self = weak.lock(); self && !self->over_) {
                                     self->decide();
                                 }
                             });
    }

    void ask(std::size_t whom)
    {
        const auto weak = weak_from_this();
        const auto at = links_.size();
        links_.push_back(nullptr);
        links_[at] = server_.shared().net.connect(
            server_.host(), server_.election_address(whom),
            {.connected =
                 [weak, at] {
                     if (const auto self = weak.lock(); self && !self->over_) {
                         self->links_[at]->send(
                             to_message(self->server_.description(peer_message::kind::question)));
                     }
                 },
             .received =
                 [weak](message&& m) {
                     if (const auto self = weak.lock(); self && !self->over_) {
                         const auto said = std::get<std::shared_ptr<const peer_message>>(m);
                         self->heard_[said->from] = *said;
                     }
                 },
             .ended = [] {}});
    }

    void decide()
    {
        // The newest of those who lead already, if any.
        const peer_message* leader = nullptr;
        std::size_t voters = 1;
        const auto own = server_.description(peer_message::kind::answer);
        const peer_message* best = &own;
        for (const auto& [from, m] : heard_) {
            if (m.state == peer_message::doing::leading &&
                (leader == nullptr || m.epoch > leader->epoch)) {
                leader = &m;
            }
            if (m.state == peer_message::doing::looking) {
                ++voters;
                if (std::tie(m.epoch, m.zxid, m.from) >
                    std::tie(best->epoch, best->zxid, best->from)) {
                    best = &m;
                }
            }
        }
        if (leader != nullptr) {
            server_.follow(leader->from);
        } else if (voters < server_.shared().quorum()) {
            begin();
        } else if (best == &own) {
            server_.lead();
        } else {
            server_.follow(best->from);
        }
    }

    server& server_;
    bool over_ = false;
    std::vector<std::shared_ptr<stream>> links_;
    std::map<std::size_t, peer_message> heard_;
};

} // namespace

std::shared_ptr<role> make_looking(server& of)
{
    return std::make_shared<looking>(of);
}

} // namespace colock::simulated
