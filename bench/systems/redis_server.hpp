// A private Redis server, for the lock as people write it.
#pragma once

#include <support/loopback_port.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include <string>

namespace bench {

// Serves when the constructor returns; the destructor kills it. Throws std::runtime_error.
class redis_server {
public:
    explicit redis_server(const std::string& log);

    [[nodiscard]] std::string address() const { return port_.address(); }
    void stop() { process_.stop(); } // SIGSTOP
    void resume() { process_.resume(); }

private:
    colock::test::loopback_port port_;
    colock::test::temporary_directory data_{colock::test::storage::memory};
    colock::test::subprocess process_;
};

} // namespace bench
