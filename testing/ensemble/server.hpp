// One server: its machine and disk, and the role that its process plays.
#pragma once

#include "disk.hpp"
#include "ensemble.hpp"
#include "front.hpp"
#include "machine.hpp"
#include "network.hpp"
#include "peer_message.hpp"
#include "random.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock::simulated {

// What a server does: it looks for a leader, follows one, or leads.
class role {
public:
    virtual ~role() = default;

    virtual void start() = 0;
    // Closes all connections, and has no effect any more. It may be on the stack.
    virtual void end() = 0;
    [[nodiscard]] virtual peer_message::doing doing() const noexcept = 0;
    // Another server has connected as a follower.
    virtual void accept_follower(std::shared_ptr<stream> link) { link->close(); }
    // Another server looks for a leader.
    virtual void asked(const peer_message&) {}
    // The log is on the disk up to there.
    virtual void flushed(std::int64_t) {}
    virtual bool by_hand(operation) { return false; }
    virtual bool end_session(std::int64_t) { return false; }
    // Null while clients are not served.
    [[nodiscard]] virtual front* clients() noexcept { return nullptr; }
    [[nodiscard]] virtual std::int64_t epoch() const noexcept { return 0; }
};

// What the servers of an ensemble have in common.
struct common {
    timeline& time;
    network& net;
    ensemble_options options;
    std::uint64_t origins = 0;
    tree decided = {};
    observer* told = nullptr;

    void decide(const transaction& t);
    [[nodiscard]] std::size_t quorum() const noexcept { return options.servers / 2 + 1; }
};

class server {
public:
    server(common& shared, std::size_t index, random chance);
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server();

    void boot();

    [[nodiscard]] machine& host() noexcept { return host_; }
    [[nodiscard]] const std::string& address() const noexcept { return client_address_; }
    [[nodiscard]] class role* role() const noexcept { return role_.get(); }

    // ---- for the roles

    void look();
    void lead();
    void follow(std::size_t leader);
    void serves() noexcept { has_served_ = true; }
    // Writes the log to the disk, and tells the role.
    void flush();

    [[nodiscard]] common& shared() noexcept { return shared_; }
    [[nodiscard]] const ensemble_options& options() const noexcept { return shared_.options; }
    [[nodiscard]] std::size_t index() const noexcept { return index_; }
    [[nodiscard]] disk& store() noexcept { return disk_; }
    [[nodiscard]] random& chance() noexcept { return random_; }
    [[nodiscard]] std::chrono::milliseconds clock() const noexcept;
    [[nodiscard]] std::string election_address(std::size_t of) const;
    [[nodiscard]] std::string peer_address(std::size_t of) const;
    // What it says of itself to those who look for a leader.
    [[nodiscard]] peer_message description(peer_message::kind what) const;

private:
    void become(std::shared_ptr<class role> next);
    void accept_client(std::shared_ptr<stream> link);
    void answer(std::shared_ptr<stream> link);
    void keep(std::shared_ptr<stream> link, std::function<void(message&&)> received);
    void killed();

    common& shared_;
    std::size_t index_;
    machine host_;
    std::string client_address_;
    random random_;
    disk disk_;
    std::shared_ptr<class role> role_; // null: no process
    bool flushing_ = false;
    bool has_served_ = false;                   // this process
    std::vector<std::shared_ptr<stream>> kept_; // until the other end closes them
};

inline message to_message(peer_message m)
{
    return std::make_shared<const peer_message>(std::move(m));
}

std::shared_ptr<role> make_looking(server& of);
std::shared_ptr<role> make_leading(server& of);
std::shared_ptr<role> make_following(server& of, std::size_t leader);

} // namespace colock::simulated
