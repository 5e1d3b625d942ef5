// Links that delay and are cut, and the connections over them.
#pragma once

#include "action.hpp"
#include "fifo.hpp"
#include "machine.hpp"
#include "random.hpp"
#include "wire.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace colock::simulated {

class network;
struct tcp; // what the kernels of both machines know of a connection

// One end of a TCP connection. Its owner holds it; when the owner lets it go, it is closed.
//
// The kernel of a machine accepts connections, keeps what arrives, and confirms it while the process is stopped: the
// process finds all of it, in its order, when it goes on.
class stream : public std::enable_shared_from_this<stream> {
public:
    // Called on the own machine, never from within a function of the stream. What was sent in one instant arrives in
    // one instant, and is handed over without anything in between.
    struct handlers {
        std::function<void()> connected;         // of the end that connects
        std::function<void(message&&)> received; // in the order of sending
        // Nothing more comes: the other end has closed its side, behind all that it sent, or is gone, or the connect
        // was refused. Once.
        std::function<void()> ended;
    };

    stream(network& net, std::shared_ptr<tcp> connection, bool accepted);
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream() { close(); }

    void handle(handlers h) { handlers_ = std::move(h); }

    // Without effect when the connection is gone, or the process has been killed.
    void send(message&& m);
    // No more is sent. What the other end sends is still received.
    void shut_down();
    // Ends both sides at once. What was sent may still arrive. Nothing is called any more.
    void close();

    [[nodiscard]] machine& here() const noexcept;
    [[nodiscard]] machine& there() const noexcept;
    // The other end is not closed.
    [[nodiscard]] bool has_listener() const noexcept;

private:
    friend class network;

    network& net_;
    std::shared_ptr<tcp> tcp_; // empty once closed
    std::size_t side_;
    handlers handlers_;
    std::uint64_t number_;
};

class network {
public:
    using acceptor = std::function<void(std::shared_ptr<stream>)>;

    network(timeline& time, random chance) : time_{time}, random_{chance} {}
    network(const network&) = delete;
    network& operator=(const network&) = delete;

    // ---- for processes

    // Connections to this address are accepted while the machine's process of now lives. The acceptor sets the
    // handlers, or lets the stream go, which closes it.
    void listen(machine& server, const std::string& address, acceptor accept);
    // `connected` or `ended` follows; neither while the link is cut.
    [[nodiscard]] std::shared_ptr<stream> connect(machine& client, const std::string& address,
                                                  stream::handlers h);

    // ---- for whoever makes trouble

    // What `from` sends to `to` from now on arrives when the cut is over, and some time later, for TCP waits longer
    // each time that it repeats it.
    void cut(const machine& from, const machine& to);
    void mend(const machine& from, const machine& to);
    void mend_all();
    // Both directions; the same for both.
    void delay(const machine& a, const machine& b, std::chrono::microseconds least,
               std::chrono::microseconds most);
    void delay_one_way(const machine& from, const machine& to, std::chrono::microseconds least,
                       std::chrono::microseconds most);
    void delay_all(std::chrono::microseconds least, std::chrono::microseconds most);
    // Both ends of each connection between the two find it reset: a firewall has forgotten it. What is under way is lost.
    void reset(const machine& a, const machine& b);

    // ---- for checks

    // Is told of each message that is sent.
    void observe(std::function<void(const stream& by, const message& m)> told)
    {
        told_ = std::move(told);
    }

private:
    friend class stream;
    friend struct tcp;

    struct link {
        bool cut = false;
        bool own_delay = false;
        instant cut_since{0};
        std::chrono::microseconds least{};
        std::chrono::microseconds most{};
        std::vector<action> held; // what lets go of what was sent over a link that was cut
    };
    struct listener {
        machine* server;
        std::uint64_t process;
        acceptor accept;
    };
    struct host {
        std::uint64_t process = 0;                // that is told of a kill; 0: none
        std::map<std::uint64_t, stream*> streams; // by age
    };

    [[nodiscard]] link& between(const machine& from, const machine& to);
    void mend(link& l);
    [[nodiscard]] std::chrono::microseconds delay_of(const link& l);
    [[nodiscard]] host& host_of(machine& m);
    void killed(machine& m);

    void push(const std::shared_ptr<tcp>& connection, std::size_t side, int kind, message&& m);
    void plan(const std::shared_ptr<tcp>& connection, std::size_t side, std::size_t count,
              std::chrono::microseconds longer);
    void arrive(const std::shared_ptr<tcp>& connection, std::size_t side);
    void arrive_one(const std::shared_ptr<tcp>& connection, std::size_t side, int kind,
                    message&& m);
    void accept(const std::shared_ptr<tcp>& connection);

    timeline& time_;
    random random_;
    std::function<void(const stream&, const message&)> told_;
    std::chrono::microseconds least_{100};
    std::chrono::microseconds most_{500};
    std::uint64_t streams_made_ = 0;
    std::map<std::uint64_t, link>
        links_; // by the numbers of the machines: in the same order in each run
    std::map<std::string, listener> listeners_;
    std::vector<host> hosts_; // by the number of the machine
};

} // namespace colock::simulated
