#include "look/screen.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

namespace colock::cli {

namespace {

void write_all(std::string_view text)
{
    while (!text.empty()) {
        const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
        if (n <= 0) {
            return; // the terminal has gone: SIGHUP comes, too
        }
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

struct extent {
    std::size_t rows = 24, columns = 80;
};

extent extent_now()
{
    winsize w{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row != 0 && w.ws_col != 0) {
        return {w.ws_row, w.ws_col};
    }
    return {};
}

// The first so many characters, as far as each of them is a column wide.
std::string_view cut(std::string_view line, std::size_t columns)
{
    std::size_t at = 0;
    for (std::size_t seen = 0; at != line.size(); ++at) {
        const bool begins = (static_cast<unsigned char>(line[at]) & 0xc0) != 0x80;
        if (begins && ++seen > columns) {
            break;
        }
    }
    return line.substr(0, at);
}

} // namespace

bool has_screen()
{
    const char* const kind = std::getenv("TERM");
    const bool dumb = kind && std::string_view{kind} == "dumb";
    return !dumb && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
}

boost::asio::posix::stream_descriptor open_terminal(const boost::asio::any_io_executor& executor)
{
    const int fd = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? boost::asio::posix::stream_descriptor{executor}
                  : boost::asio::posix::stream_descriptor{executor, fd};
}

screen::screen()
{
    has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    take();
}

screen::~screen()
{
    give_back();
}

void screen::take()
{
    if (has_keys_) {
        auto keys = before_;
        keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO); // Ctrl-C stays SIGINT
        keys.c_cc[VMIN] = 1;
        keys.c_cc[VTIME] = 0;
        ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    // Another screen, without a cursor. A line of wide characters ends at the edge: going on below it would scroll others away.
    write_all("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J");
}

void screen::give_back() noexcept
{
    write_all("\x1b[?7h\x1b[?25h\x1b[?1049l");
    if (has_keys_) {
        ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
}

void screen::draw(const std::string& lines)
{
    const auto size = extent_now();
    std::string out = "\x1b[H";
    std::string_view rest = lines;
    for (std::size_t row = 0; row != size.rows && !rest.empty(); ++row) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        out += row == 0 ? "" : "\r\n";
        out += cut(line, size.columns);
        out += "\x1b[K";
    }
    out += "\x1b[J";
    write_all(out);
}

void screen::stop_process()
{
    give_back();
    ::raise(SIGSTOP);
    take();
}

} // namespace colock::cli
