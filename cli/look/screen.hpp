// The user's terminal: keys that are read one by one, a screen that is drawn again and again, and everything as it was
// behind it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <termios.h>

#include <string>

namespace colock::cli {

// The terminal of this process, opened anew: reading it without blocking changes nothing for the shell, which shares the
// standard input. Not open when there is none.
[[nodiscard]] boost::asio::posix::stream_descriptor
open_terminal(const boost::asio::any_io_executor& executor);

// Takes the screen of the standard output, and the keys. The destructor gives both back.
class screen {
public:
    screen();
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;
    ~screen();

    // Draws the lines from the top; what does not fit is left out.
    void draw(const std::string& lines);

    // Gives the terminal back while the process is stopped (Ctrl-Z of a shell, SIGTSTP), and takes it again.
    void stop_process();

private:
    void take();
    void give_back() noexcept;

    termios before_{};
    bool has_keys_ = false;
};

// Whether a screen can be taken: standard input and output are terminals.
[[nodiscard]] bool has_screen();

} // namespace colock::cli
