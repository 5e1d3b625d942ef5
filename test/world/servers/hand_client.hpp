// A client of the simulated servers, made by hand: it says what a test wants said, and keeps what it hears.
#pragma once

#include "../simulated.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace world::test {

using namespace std::chrono_literals;
// Three servers and what they stand on.
struct scene {
    explicit scene(ensemble_options options = {}, std::uint64_t seed = 1)
        : net{time, random{seed}}, servers{time, net, random{seed + 1}, std::move(options)}
    {
    }

    // False when that has not come true in time.
    template <class Condition>
    bool wait(std::chrono::nanoseconds longest, Condition until)
    {
        const auto end = time.now() + longest;
        while (!until()) {
            if (time.now() >= end || !time.run_next()) {
                return false;
            }
        }
        return true;
    }
    bool wait_for_service()
    {
        return wait(60s, [&] {
            for (std::size_t i = 0; i != servers.size(); ++i) {
                if (servers.machine_of(i).is_running() && !servers.serves(i)) {
                    return false;
                }
            }
            return servers.leader().has_value();
        });
    }
    std::size_t follower(std::size_t which = 0)
    {
        for (std::size_t i = 0;; ++i) {
            if (i != servers.leader() && which-- == 0) {
                return i;
            }
        }
    }

    timeline time;
    network net;
    ensemble servers;
};

class hand_client {
public:
    explicit hand_client(scene& s, std::string name = "client")
        : scene_{s}, host{s.time, std::move(name)}
    {
    }

    // Does not wait.
    void connect(std::size_t server, session_identity as = {},
                 std::chrono::milliseconds wanted = 10s)
    {
        hang_up();
        ended = false;
        established = false;
        heard.clear();
        link = scene_.net.connect(host, scene_.servers.address(server),
                                  {.connected =
                                       [this, as, wanted] {
                                           link->send(connect_request{as, wanted});
                                       },
                                   .received = [this](message&& m) { keep(std::move(m)); },
                                   .ended = [this] { ended = true; }});
    }
    // With a session.
    bool open(std::size_t server, session_identity as = {}, std::chrono::milliseconds wanted = 10s)
    {
        connect(server, as, wanted);
        return scene_.wait(30s, [this] { return established || ended; }) && established;
    }
    void hang_up()
    {
        if (link) {
            link->close();
            link = nullptr;
        }
    }

    std::int32_t send(operation c)
    {
        link->send(request{++number_, std::move(c)});
        return number_;
    }
    void ping() { link->send(ping_request{}); }

    // The answer; an error that no server gives when there is none.
    response call(operation c) { return answer(send(std::move(c))); }
    response answer(std::int32_t number)
    {
        const reply* found = nullptr;
        scene_.wait(60s, [&] {
            for (const auto& m : heard) {
                const auto* r = std::get_if<reply>(&m);
                found = r != nullptr && r->number == number ? r : found;
            }
            return found != nullptr || ended;
        });
        return found != nullptr ? found->body : response{.error = colock::zookeeper_errc::closing};
    }
    response create(std::string path, colock::create_mode mode = colock::create_mode::persistent,
                    std::string data = {})
    {
        return call({.op = opcode::create,
                     .path = std::move(path),
                     .data = std::move(data),
                     .mode = mode,
                     .acl = colock::open_acl()});
    }
    response exists(std::string path, bool watch = false)
    {
        return call({.op = opcode::exists, .path = std::move(path), .watch = watch});
    }
    [[nodiscard]] std::vector<colock::watch_event> events() const
    {
        std::vector<colock::watch_event> all;
        for (const auto& m : heard) {
            if (const auto* e = std::get_if<event>(&m)) {
                all.push_back(e->what);
            }
        }
        return all;
    }

    session_identity session;
    std::chrono::milliseconds timeout{};
    bool established = false;
    bool ended = false;
    std::vector<message> heard; // on this connection
    std::shared_ptr<stream> link;

private:
    void keep(message&& m)
    {
        if (const auto* r = std::get_if<connect_reply>(&m); r != nullptr && r->session.id != 0) {
            session = r->session;
            timeout = r->timeout;
            established = true;
        }
        heard.push_back(std::move(m));
    }

    scene& scene_;
    std::int32_t number_ = 0;

public:
    machine host;
};

} // namespace world::test
