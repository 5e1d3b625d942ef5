// A way to a server that can be cut.
#ifndef COLOCK_EXAMPLES_DEMO_PROXY_HPP
#define COLOCK_EXAMPLES_DEMO_PROXY_HPP

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace demo {

namespace asio = boost::asio;

// Listens at a free port of the loopback interface, and passes on to the server and back what comes there.
class proxy {
public:
    // The server is "ADDRESS:PORT".
    proxy(const asio::any_io_executor& executor, const std::string& server);
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;
    ~proxy();

    // Where it listens, as text.
    [[nodiscard]] std::string hosts() const;

    // Breaks all connections, and refuses others until it is mended.
    void cut();
    void mend();

private:
    struct state;
    std::shared_ptr<state> state_; // its coroutines have it, too
};

} // namespace demo

#endif
