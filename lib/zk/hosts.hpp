// The servers: a list as the user writes it, and the addresses that it stands for.
#pragma once

#include <colock/error.hpp>

#include "entropy.hpp"
#include "strand.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace colock::zk {

struct host {
    std::string name;
    std::string port;
    bool literal = false; // an address, which needs no look-up
};

struct parsed_hosts {
    std::vector<host> hosts;
    error_code error;
    std::string detail; // what is wrong, and where
};

// A host name, or an address without its port.
[[nodiscard]] bool is_host(std::string_view text);

// "host:port[,host:port...]"; an IPv6 address stands in brackets, the port may be left out.
[[nodiscard]] parsed_hosts parse_hosts(std::string_view list);

// Looks names up in Asio's resolver thread, and hands out addresses for the C client. On the strand.
class address_book : public std::enable_shared_from_this<address_book> {
public:
    explicit address_book(const strand_type& strand) : resolver_{strand} {}

    void assign(std::vector<host> hosts);

    // Begins to look up every name that is not being looked up already. `changed` is called, once for each
    // name, when its answer is there; never from within this function.
    void refresh(std::function<void()> changed);

    // The addresses known now, in random order, as the C client wants them.
    [[nodiscard]] std::vector<std::string> addresses();

    // What stands for this address in the list: names, or itself.
    [[nodiscard]] std::vector<std::string> names_of(const std::string& address) const;

    // True while answers are still to come.
    [[nodiscard]] bool pending() const noexcept { return pending_ != 0; }

    // Why the last look-up that failed did so, "" when none has.
    [[nodiscard]] const std::string& last_failure() const noexcept { return last_failure_; }

    void cancel();

private:
    struct entry {
        host from;
        std::vector<std::string> addresses;
        std::vector<std::string> former; // of the answer before: they may still be tried
        bool resolving = false;
    };

    asio::ip::tcp::resolver resolver_;
    std::vector<entry> entries_;
    std::function<void()> changed_;
    std::size_t pending_ = 0;
    std::size_t generation_ = 0; // counts assign(); answers to older questions are dropped
    std::string last_failure_;
    std::minstd_rand random_{random_seed()};
};

} // namespace colock::zk
