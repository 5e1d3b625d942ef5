#include "side.hpp"
#include "simulated.hpp"
#include "world/zk/translation.hpp"

#include <deque>
#include <stdexcept>
#include <utility>

namespace world::conversation {

namespace {

using namespace std::chrono_literals;
using colock::simulated::to_library;
using colock::simulated::to_servers;

class simulated_side : public side {
public:
    simulated_side(const side_options& o, bool exists_needs_read)
        : net_{time_, random{1}}, servers_{time_,
                                           net_,
                                           random{2},
                                           {.servers = o.servers,
                                            .tick = 500ms,
                                            .container_check = o.container_check,
                                            .exists_needs_read = exists_needs_read}},
          host_{time_, "127.0.0.1"}
    {
        wait([this] {
            for (std::size_t i = 0; i != servers_.size(); ++i) {
                if (!servers_.serves(i)) {
                    return false;
                }
            }
            return true;
        });
        for (const auto& [path, counter] : o.from) {
            servers_.by_hand({.op = opcode::create, .path = path, .acl = colock::open_acl()});
            wait([this, &node = path] { return servers_.decided().find(node) != nullptr; });
            time_.run_until(time_.now() + 100ms);
            servers_.set_counter(path, counter);
        }
    }

    std::string name() const override { return "the simulation"; }
    std::size_t servers() const override { return servers_.size(); }

    bool open(std::size_t session, std::size_t server,
              const std::vector<colock::credential>& credentials,
              const colock::zk::session_identity& as) override
    {
        auto& s = sessions_[session];
        s = {};
        s.link = net_.connect(
            host_, servers_.address(server),
            {.connected =
                 [&s, as, credentials] {
                     s.link->send(connect_request{to_servers(as), session_timeout});
                     for (const auto& c : credentials) {
                         s.link->send(to_servers(c));
                     }
                 },
             .received = [this, session](message&& m) { received(session, std::move(m)); },
             .ended = [this, session] { ended(session); }});
        wait([&] { return s.identity.id != 0 || s.ended; });
        return s.identity.id != 0;
    }

    void ask(std::size_t session, const std::vector<colock::zk::call>& calls,
             std::size_t number) override
    {
        auto& s = sessions_[session];
        for (const auto& c : calls) {
            s.unanswered.push_back(number);
            s.link->send(request{static_cast<std::int32_t>(number++), to_servers(c)});
        }
        if (s.ended) {
            ended(session);
        }
        wait([&s] { return s.unanswered.empty(); });
    }

    void close(std::size_t session) override
    {
        bool closed = false;
        auto& s = sessions_[session];
        s.link->handle(
            {.ended = [&] { closed = true; }}); // nobody listens to the events of its own end
        s.link->send(close_request{});
        wait([&] { return closed; });
        s.link = nullptr;
    }

    void drop(std::size_t session) override { sessions_[session].link = nullptr; }

    void pass(std::chrono::milliseconds time) override
    {
        const auto end = time_.now() + time;
        for (; time_.now() < end; time_.run_until(std::min(end, time_.now() + 300ms))) {
            for (auto& [number, s] : sessions_) {
                if (s.link) {
                    s.link->send(ping_request{});
                }
            }
        }
    }

    colock::zk::session_identity identity(std::size_t session) const override
    {
        return sessions_.at(session).identity;
    }

    void begin_operator() override { open(operators_session, 0, {operators_credential}, {}); }

    colock::zk::reply set_acl(const std::string& path, const colock::access_control_list& acl,
                              std::int32_t version) override
    {
        auto& s = sessions_[operators_session];
        s.unanswered.push_back(0);
        s.link->send(
            request{0, {.op = opcode::set_acl, .path = path, .version = version, .acl = acl}});
        wait([&s] { return s.unanswered.empty(); });
        auto body = std::get<answer>(heard_.back().what).body;
        heard_.pop_back();
        return body;
    }

    void end_operator() override { close(operators_session); }

    std::vector<heard> take() override { return std::exchange(heard_, {}); }

private:
    static constexpr std::size_t operators_session = 1000;
    struct session_state {
        std::shared_ptr<stream> link = {};
        colock::zk::session_identity identity = {};
        std::deque<std::size_t> unanswered = {};
        bool ended = false;
    };

    template <class Condition>
    void wait(Condition until)
    {
        const auto end = time_.now() + 60s;
        while (!until()) {
            if (time_.now() > end || !time_.run_next()) {
                throw std::runtime_error{"the simulated servers do not answer"};
            }
        }
    }

    void received(std::size_t session, message&& m)
    {
        if (const auto* r = std::get_if<connect_reply>(&m)) {
            sessions_[session].identity = to_library(r->session);
        } else if (auto* a = std::get_if<reply>(&m)) {
            heard_.push_back({session, answer{static_cast<std::size_t>(a->number),
                                              to_library(std::move(a->body))}});
            sessions_[session].unanswered.pop_front();
        } else if (auto* e = std::get_if<event>(&m)) {
            heard_.push_back({session, std::move(e->what)});
        }
    }

    void ended(std::size_t session)
    {
        auto& s = sessions_[session];
        s.ended = true;
        for (; !s.unanswered.empty(); s.unanswered.pop_front()) {
            heard_.push_back({session, answer{s.unanswered.front(),
                                              {.error = colock::zookeeper_errc::connection_loss}}});
        }
    }

    timeline time_;
    network net_;
    ensemble servers_;
    machine host_;
    std::map<std::size_t, session_state> sessions_;
    std::vector<heard> heard_;
};

} // namespace

std::unique_ptr<side> make_simulated_side(const side_options& o, bool exists_needs_read)
{
    return std::make_unique<simulated_side>(o, exists_needs_read);
}

} // namespace world::conversation
