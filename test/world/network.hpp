// Links that delay and are cut, and the connections over them.
#pragma once

#include "machine.hpp"
#include "random.hpp"
#include "wire.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace world {

class network;

// One end of a TCP connection. Its owner holds it; when the owner lets it go, the connection is reset.
//
// The kernel of a machine accepts connections, keeps what arrives, and confirms it while the process is stopped: the
// process finds all of it, in its order, when it goes on.
class stream : public std::enable_shared_from_this<stream> {
public:
    // Called on the own machine, never from within a function of the stream.
    struct handlers {
        std::function<void()> connected;         // of the end that connects
        std::function<void(message&&)> received; // in the order of sending
        // Nothing more comes: the other end has closed its side, behind all that it sent, or is gone, or the connect
        // was refused. Once.
        std::function<void()> ended;
    };

    stream(network& net, machine& here, machine& there);
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream();

    void handle(handlers h) { handlers_ = std::move(h); }

    void send(message m);
    // No more is sent. What the other end sends is still received.
    void shut_down();
    // Ends both sides at once. What was sent may still arrive. Nothing is called any more.
    void close();

    [[nodiscard]] machine& here() const noexcept { return here_; }
    [[nodiscard]] machine& there() const noexcept { return there_; }

private:
    friend class network;

    void deliver(std::function<void(stream&)> what);
    void end();

    network& net_;
    machine& here_;
    machine& there_;
    std::weak_ptr<stream> other_;
    handlers handlers_;
    bool established_ = false;
    bool shut_down_ = false; // this side
    bool ended_ = false;     // `ended` has been called, or must not be
    instant last_arrival_{0}; // at the other end: nothing overtakes within a stream
};

class network {
public:
    using acceptor = std::function<void(std::shared_ptr<stream>)>;

    network(timeline& time, random chance) : time_{time}, random_{chance} {}
    network(const network&) = delete;
    network& operator=(const network&) = delete;

    // ---- for processes

    // Connections to this address are accepted while the machine's process of now lives.
    void listen(machine& server, const std::string& address, acceptor accept);
    // `connected` or `ended` follows; neither while the link is cut.
    [[nodiscard]] std::shared_ptr<stream> connect(machine& client, const std::string& address,
                                                  stream::handlers h);

    // ---- for whoever makes trouble

    // What is sent from a to b arrives when the cut is over: TCP repeats it.
    void cut(const machine& a, const machine& b);
    void mend(const machine& a, const machine& b);
    void mend_all();
    // Both directions; the same for both.
    void delay(const machine& a, const machine& b, std::chrono::nanoseconds least,
               std::chrono::nanoseconds most);
    void delay_all(std::chrono::nanoseconds least, std::chrono::nanoseconds most);
    // Whoever connects the two finds the connection reset: a firewall has forgotten it.
    void reset(const machine& a, const machine& b);

private:
    friend class stream;

    using pair = std::pair<const machine*, const machine*>; // from, to
    struct link {
        bool cut = false;
        bool own_delay = false;
        std::chrono::nanoseconds least{};
        std::chrono::nanoseconds most{};
        std::vector<std::function<void()>> held; // until the cut is over
    };
    struct listener {
        machine* server;
        acceptor accept;
    };

    link& between(const machine& from, const machine& to);
    void carry(const machine& from, const machine& to, instant not_before, instant* arrival,
               std::function<void()> what);
    [[nodiscard]] std::chrono::nanoseconds delay_of(const link& l);

    timeline& time_;
    random random_;
    std::chrono::nanoseconds least_ = std::chrono::microseconds{100};
    std::chrono::nanoseconds most_ = std::chrono::microseconds{500};
    std::map<std::pair<std::string, std::string>, link> links_; // by name: the order is the same in each run
    std::map<std::string, listener> listeners_;
    std::vector<std::weak_ptr<stream>> streams_;
};

} // namespace world
