// Private etcd servers, for a reference across systems.
#pragma once

#include <support/loopback_port.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>
#include <support/zookeeper_server.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct etcd_options {
    int servers = 1;
    // One for each of them; none: the loopback.
    std::vector<colock::test::server_place> places = {};
    // With the data on a disk. etcd 3.4 always syncs: in memory that costs nothing.
    bool on_disk = false;
    std::string log = {}; // a file
};

// All serve clients when the constructor returns; the destructor kills them. Throws
// std::runtime_error.
class etcd_server {
public:
    explicit etcd_server(const etcd_options& options);

    [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
    [[nodiscard]] std::string address(int number) const; // "127.0.0.1:PORT", or where its place is

    // The one that leads.
    [[nodiscard]] int leader() const;
    void kill(int number);
    void stop(int number); // SIGSTOP
    void resume(int number);

    // Until all serve, and know their leader. Throws std::runtime_error.
    void wait_until_complete() const;

private:
    struct member {
        member(colock::test::server_place where, bool on_disk)
            : place{std::move(where)}, data{on_disk ? colock::test::storage::disk
                                                    : colock::test::storage::memory}
        {
        }
        [[nodiscard]] std::string address() const
        {
            return place.client_host + ':' + std::to_string(client.number());
        }
        const colock::test::server_place place;
        colock::test::loopback_port client;
        colock::test::loopback_port others;
        colock::test::temporary_directory data;
        std::unique_ptr<colock::test::subprocess> process;
    };

    std::string log_;
    std::vector<std::unique_ptr<member>> members_;
};

} // namespace bench
