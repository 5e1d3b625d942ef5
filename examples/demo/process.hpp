// A child process of the demo, whose standard output is read line by line.
#ifndef COLOCK_EXAMPLES_DEMO_PROCESS_HPP
#define COLOCK_EXAMPLES_DEMO_PROCESS_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace demo {

namespace asio = boost::asio;

// Does not outlive this object, nor the demo itself, however that ends. It is in a process group of its
// own, so that Ctrl-C reaches the demo alone, which then ends everything in order.
class process {
public:
    // How to end it: by this signal, and when it is still there after `grace`, by SIGKILL.
    struct ending {
        int signal;
        std::chrono::milliseconds grace;
    };

    // Throws when there is no such program.
    process(const asio::any_io_executor& executor, const std::vector<std::string>& command,
            ending how);
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    ~process();

    // Waits until there is something to read.
    asio::awaitable<void> wait_readable();
    // The lines that are there. Does not wait.
    std::vector<std::string> read_lines();
    // All has been read, and nothing will come any more.
    [[nodiscard]] bool at_end() const noexcept { return at_end_; }

    void send(int signal) const;
    // SIGSTOP; returns when it stands still. False when it has ended.
    bool freeze();
    // Ends it.
    void end();

    // The exit status as a shell would report it; call after `at_end()`.
    int exit_status();

private:
    // Waits up to `patience`.
    bool reap(std::chrono::milliseconds patience);

    asio::posix::stream_descriptor output_;
    ending ending_;
    ::pid_t pid_ = -1;
    std::optional<int> status_; // of a process that is gone
    std::string unfinished_;    // the beginning of a line
    bool at_end_ = false;
};

} // namespace demo

#endif
