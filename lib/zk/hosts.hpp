// The servers: a list as the user writes it, and the addresses that it stands for.
#pragma once

#include <colock/error.hpp>

#include "zk/entropy.hpp"
#include "zk/name_lookup.hpp"
#include "zk/strand.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::zk {

struct host {
    std::string name;
    std::string port;
    bool literal = false; // an address, which needs no look-up

    friend bool operator==(const host&, const host&) = default;
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

// Looks names up, and hands out addresses for the C client. On the strand.
class address_book : public std::enable_shared_from_this<address_book> {
public:
    address_book(asio::any_io_executor executor, const strand_type& strand)
        : executor_{std::move(executor)}, strand_{strand}
    {
    }
    ~address_book();

    void assign(std::vector<host> hosts);

    // Begins to look up every name that is not being looked up already. `changed` is called, once for each
    // name, when its answer is there; never from within this function.
    void refresh(std::function<void()> changed);

    // The addresses known now, in random order, as the C client wants them.
    [[nodiscard]] std::vector<std::string> addresses();

    // What stands for this address in the list: names, or itself.
    [[nodiscard]] std::vector<std::string> names_of(const std::string& address) const;

    // True while answers are still to come.
    [[nodiscard]] bool pending() const noexcept { return !lookups_.empty(); }

    // Why the last look-up that failed did so, "" when none has.
    [[nodiscard]] const std::string& last_failure() const noexcept { return last_failure_; }

    // Nobody waits any longer. What is being looked up goes on, and is known to the next refresh().
    void cancel();

private:
    struct entry {
        host from;
        std::vector<std::string> addresses;
        std::vector<std::string> former; // of the answer before: they may still be tried
    };

    void answered(const std::string& name, const error_code& ec,
                  const std::vector<std::string>& addresses);
    void forget_lookups() noexcept;

    asio::any_io_executor executor_;
    strand_type strand_;
    std::vector<entry> entries_;
    std::map<std::string, std::shared_ptr<name_lookup>> lookups_; // by name
    std::function<void()> changed_;
    std::optional<asio::any_io_executor> work_; // while answers are awaited, the context has work
    std::string last_failure_;
    std::minstd_rand random_{random_seed()};
};

} // namespace colock::zk
