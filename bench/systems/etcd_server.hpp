// Private etcd servers, for a reference across systems.
#pragma once

#include <support/loopback_port.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include <memory>
#include <string>
#include <vector>

namespace bench {

struct etcd_options {
    int servers = 1;
    // With the data on a disk. etcd 3.4 always syncs: in memory that costs nothing.
    bool on_disk = false;
    std::string log; // a file
};

// All serve clients when the constructor returns; the destructor kills them. Throws
// std::runtime_error.
class etcd_server {
public:
    explicit etcd_server(const etcd_options& options);

    [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
    [[nodiscard]] std::string address(int number) const; // "127.0.0.1:PORT"

    // The one that leads.
    [[nodiscard]] int leader() const;
    void kill(int number);
    void stop(int number); // SIGSTOP
    void resume(int number);

private:
    struct member {
        explicit member(bool on_disk)
            : data{on_disk ? colock::test::storage::disk : colock::test::storage::memory}
        {
        }
        colock::test::loopback_port client;
        colock::test::loopback_port others;
        colock::test::temporary_directory data;
        std::unique_ptr<colock::test::subprocess> process;
    };

    std::vector<std::unique_ptr<member>> members_;
};

} // namespace bench
