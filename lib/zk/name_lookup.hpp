// One host name that the system's resolver is asked for.
#pragma once

#include <colock/error.hpp>

#include "zk/strand.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace colock::zk {

// The resolver blocks, for 10 s and more when name servers are silent, and nobody can end it. Asio asks it in the one thread
// that a context has for this: a silent name holds up all others there, run(), and the context's destructor. So each name
// has a thread of its own, and nobody waits for the end of that thread.
class name_lookup {
public:
    using answer = std::function<void(const error_code& ec, std::vector<std::string> addresses)>;

    // `then` is called once, on the strand, never from within this function.
    static std::shared_ptr<name_lookup> start(const strand_type& strand, std::string name,
                                              answer then);

    // Any thread. The answer does not come, and the strand is not touched any more.
    void forget() noexcept;

private:
    name_lookup(const strand_type& strand, answer then) : strand_{strand}, then_{std::move(then)} {}

    void complete(const error_code& ec, std::vector<std::string> addresses);

    std::mutex mutex_;
    std::optional<strand_type> strand_; // guarded by mutex_; empty when nobody wants the answer
    answer then_;                       // the same
};

} // namespace colock::zk
