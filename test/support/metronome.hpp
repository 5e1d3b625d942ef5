#ifndef COLOCK_TEST_SUPPORT_METRONOME_HPP
#define COLOCK_TEST_SUPPORT_METRONOME_HPP

#include <colock/client.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

namespace colock::test {

/// A client in a thread of its own that writes ten times a second, whatever becomes of what it has written.
/**
 * Every test with an ensemble keeps one. Debian's server 3.8.0 can leave a committed request lying until the
 * next one comes (ZOOKEEPER-4537), which with a single quiet client is never. So this one does not wait for
 * its answers, nor for a test that blocks its own thread.
 */
class metronome {
public:
    explicit metronome(const std::string& hosts)
        : client_{io_, {.hosts = hosts, .connect_timeout = std::chrono::seconds{60}}}, timer_{io_}
    {
        client_.async_connect([this](error_code failed) {
            if (!failed) {
                client_.async_create("/beat", "", create_mode::persistent,
                                     [](error_code, auto&&) {});
                beat();
            }
        });
        thread_ = std::thread{[this] { io_.run(); }};
    }
    metronome(const metronome&) = delete;
    metronome& operator=(const metronome&) = delete;
    ~metronome()
    {
        io_.stop();
        thread_.join();
    }

    /// Its writes that were carried out.
    [[nodiscard]] std::size_t beats() const noexcept { return beats_; }

private:
    void beat()
    {
        // Writes that find no connection would wait for it, and be sent all at once.
        if (client_.state() == connection_state::connected) {
            client_.async_set("/beat", "", any_version,
                              [this](error_code ec, auto&&) { beats_ += ec ? 0 : 1; });
        }
        timer_.expires_after(std::chrono::milliseconds{100});
        timer_.async_wait([this](error_code) { beat(); });
    }

    boost::asio::io_context io_;
    client client_;
    boost::asio::steady_timer timer_;
    std::atomic<std::size_t> beats_{0};
    std::thread thread_;
};

} // namespace colock::test

#endif
