#ifndef COLOCK_TEST_SUPPORT_NETWORK_NAMESPACE_HPP
#define COLOCK_TEST_SUPPORT_NETWORK_NAMESPACE_HPP

#include <functional>
#include <string>
#include <vector>

namespace colock::test {

/// A network namespace that exists for as long as this object, or anything in it.
/**
 * It has no name: a descriptor of this process and what runs there hold it. However this process ends,
 * the kernel clears it away.
 *
 * Needs root, and the program `ip` (Debian's iproute2) for `configure`. Functions throw
 * `std::runtime_error`.
 */
class network_namespace {
public:
    /// That of this thread.
    network_namespace();
    network_namespace(network_namespace&& other) noexcept;
    network_namespace& operator=(network_namespace&& other) noexcept;
    ~network_namespace();

    /// A fresh one, into which this thread moves.
    static network_namespace enter_new();

    /// A fresh one, in which nobody is.
    static network_namespace make();

    /// A fresh one. A thread that moves into it, and ends, carries out the function there.
    static network_namespace make(std::function<void()> const& there);

    /// Moves this thread.
    void enter() const noexcept;

    /// For other processes, as long as this one lives.
    std::string path() const;

    /// A command that runs the one that is appended to it, there.
    std::vector<std::string> launcher() const;

    /// Lets `ip` carry out lines of commands there.
    void configure(std::string const& commands) const;

    /// The number by which /proc/PID/ns/net tells which namespace a process is in.
    unsigned long number() const;

private:
    int fd_;
};

} // namespace colock::test

#endif
