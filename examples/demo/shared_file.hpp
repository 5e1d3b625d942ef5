// The file that all turns update: one line of fixed length, read and written by one system call each.
//
// Nothing protects an update: between `read_record` and `write_record` anybody may write. Certain is
// only this: a process that is killed, at whatever instant, has written its line or has not, and the
// token in the file tells which.
#ifndef COLOCK_EXAMPLES_DEMO_SHARED_FILE_HPP
#define COLOCK_EXAMPLES_DEMO_SHARED_FILE_HPP

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace demo {

struct record {
    std::uint64_t count = 0;  // the number that every turn increases by one
    std::string token = "-";  // the fencing token of the turn that wrote it
    std::string writer = "-"; // and who that was
};

inline constexpr std::size_t record_length = 96;

namespace detail {

class open_file {
public:
    open_file(const std::string& path, int flags)
        : fd_{::open(path.c_str(), flags | O_CLOEXEC, 0600)}
    {
        if (fd_ < 0) {
            throw std::system_error{errno, std::generic_category(), "cannot open the file " + path};
        }
    }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;
    ~open_file() { ::close(fd_); }

    [[nodiscard]] int fd() const noexcept { return fd_; }

private:
    int fd_;
};

} // namespace detail

inline record read_record(const std::string& path)
{
    const detail::open_file file{path, O_RDONLY};
    std::string line(record_length, '\0');
    const auto length = ::pread(file.fd(), line.data(), line.size(), 0);
    record r;
    if (length != static_cast<::ssize_t>(record_length) ||
        !(std::istringstream{line} >> r.count >> r.token >> r.writer)) {
        throw std::runtime_error{"the file " + path +
                                 " does not hold a count; start with a new one"};
    }
    return r;
}

inline void write_record(const std::string& path, const record& r)
{
    std::ostringstream text;
    text << r.count << ' ' << r.token << ' ' << r.writer;
    auto line = text.str();
    line.resize(record_length - 1, ' ');
    line += '\n';
    const detail::open_file file{path, O_WRONLY | O_CREAT};
    if (::pwrite(file.fd(), line.data(), line.size(), 0) != static_cast<::ssize_t>(line.size())) {
        throw std::system_error{errno, std::generic_category(), "cannot write the file " + path};
    }
}

} // namespace demo

#endif
