// Lines for a reader who may never read them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace colock::cli {

// Writes to a file on a thread of its own. A pipe may stay full, and a terminal stopped: nobody waits for that thread, not
// even the process at its end. The flags of the file stay as they are, because everybody who shares the file would see
// O_NONBLOCK. The thread blocks all signals: no write stops the process (SIGTTOU, in a terminal with `stty tostop`) or ends it.
//
// A line that finds no place in the queue, or that cannot be written, is dropped. The next line that is written follows
// another one, which tells how many were dropped. After a line that was cut off in the middle begins a new line.
class background_writer {
public:
    // Makes the line that tells how many were dropped. It is called on the thread.
    using dropped_line = std::function<std::string(std::size_t dropped)>;

    // Starts the thread; therefore after the last fork() that needs a process without threads. Throws std::system_error.
    background_writer(int file, dropped_line dropped);
    background_writer(const background_writer&) = delete;
    background_writer& operator=(const background_writer&) = delete;
    // Does not wait: what is queued may still be written, or never.
    ~background_writer();

    // The line ends with '\n', if it is to. The last one of all finds a place in the queue.
    void write(std::string line, bool is_last = false);

    // Whether all lines have been written, or dropped.
    [[nodiscard]] bool idle() const;

    // Waits until idle(), but no longer than this, and not at all for a reader who has made the thread wait for that long
    // already.
    void flush(std::chrono::milliseconds patience);

    // Why the last line could not be written: errno. 0: it could.
    [[nodiscard]] int fault() const;

private:
    class shared;
    std::shared_ptr<shared> shared_; // with the thread, which may be the last to leave
};

} // namespace colock::cli
