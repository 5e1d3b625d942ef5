// A client's connection with a server in memory: bytes in, bytes out.
#pragma once

#include "ensemble/network.hpp"
#include "protocol/frames.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colock::testing {

class memory_server;

class client_port {
public:
    // `address`: of the client, by which access control lists know it; `name`: with its port, for people. `stirred` is
    // called when there is something in out(), or all is over: for many reasons, and from within all functions.
    client_port(memory_server& server, const std::string& address, std::string name,
                std::function<void()> stirred = {});
    client_port(const client_port&) = delete;
    client_port& operator=(const client_port&) = delete;
    ~client_port();

    // The name in the client's certificate: before it asks for a session.
    void introduce(const std::string& subject) { subject_ = subject; }
    // What the client has sent. It is answered at the instant at which the server is.
    void receive(std::string_view bytes);
    // What has waited until the client reads.
    void work();
    // The client sends no more.
    void end();

    // For the client. Whoever writes it takes it away.
    [[nodiscard]] std::string& out() noexcept { return out_; }
    // So much is being written that is not in `out` any more.
    void writing(std::size_t bytes) noexcept { under_way_ = bytes; }
    // Nothing is to be read from the client now.
    [[nodiscard]] bool is_held() const noexcept;
    // No more is said: the connection ends when everything is written.
    [[nodiscard]] bool is_over() const noexcept { return over_; }

    // ---- for the words of operators

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::int64_t session() const noexcept { return session_; }
    [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return timeout_; }
    struct traffic {
        std::uint64_t received = 0; // frames
        std::uint64_t sent = 0;
        std::uint64_t proofs = 0;                // bytes that claim identities
        std::chrono::milliseconds last_answer{}; // not an event
    };
    [[nodiscard]] const traffic& counted() const noexcept { return traffic_; }

private:
    void open(const std::string& address);
    // False while a frame is not complete.
    bool take_frame();
    void understand(std::string_view frame);
    void hear(simulated::message&& m);
    void say(std::string_view frame);
    void stop();
    void stir() const;

    memory_server& server_;
    std::string name_;
    std::uint64_t number_;
    std::shared_ptr<simulated::stream> link_; // empty once over
    std::string in_;
    std::size_t taken_ = 0; // of that
    std::string out_;
    std::size_t under_way_ = 0;
    std::function<void()> stirred_; // may be empty
    std::optional<std::string> subject_;
    bool over_ = false;
    bool greeted_ = false; // it has asked for a session
    bool tells_reading_ = false;
    std::deque<answer_shape> expected_;
    // The numbers of the last request that proves an identity, and of the one that ends the session. One of each is
    // enough: clients use one number for all proofs.
    std::int32_t proving_ = 0, closing_ = 0;
    std::int64_t session_ = 0;
    std::chrono::milliseconds timeout_{};
    traffic traffic_;
};

} // namespace colock::testing
