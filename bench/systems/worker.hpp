// A process that takes a lock and then works, which the file of its stamps shows, until its library tells that the lock is
// lost; or a program that runs such a command under a lock.
#pragma once

#include "systems/catalogue.hpp"
#include "systems/peer.hpp"

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace bench {

class worker {
public:
    virtual ~worker() = default;

    // Until it has connected. Throws peer_failed.
    virtual void wait_until_ready() = 0;
    // Asks for the lock, and works from the grant on.
    virtual void begin() = 0;

    // How it was told of the loss, once. It releases the lock then, as programs do. Throws peer_failed.
    [[nodiscard]] virtual std::optional<std::string> told() = 0;

    // The one that has the session.
    [[nodiscard]] virtual pid_t process() const = 0;

    // SIGSTOP and SIGCONT for all its processes: as a machine that is suspended.
    virtual void stop() = 0;
    virtual void resume() = 0;
    // SIGKILL, for the process that has the session.
    virtual void kill() = 0;
};

// Works at the path, and writes to the file.
struct job {
    std::string path;
    std::string file;
};

[[nodiscard]] std::unique_ptr<worker> make_worker(const lock_system& s, const std::string& hosts,
                                                  const peer_options& options, job what);

} // namespace bench
