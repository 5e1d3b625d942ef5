#ifndef COLOCK_TEST_SUPPORT_FENCED_STORE_HPP
#define COLOCK_TEST_SUPPORT_FENCED_STORE_HPP

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace colock::test {

/// A store that several processes share, with one value, protected as the documentation of fencing tokens
/// asks for: it remembers the greatest token it has seen, and refuses whoever comes with a smaller one.
/** It is a file, and knows nothing of locks: tokens are text of one length. */
class fenced_store {
public:
    explicit fenced_store(std::string file) : file_{std::move(file)} {}

    /// False when it is refused.
    bool write(const std::string& token, const std::string& value)
    {
        const access a{file_};
        if (token < a.content().first) {
            return false;
        }
        a.replace(token + ' ' + value);
        return true;
    }

    [[nodiscard]] std::string value() const { return access{file_}.content().second; }

private:
    // One process at a time.
    class access {
    public:
        explicit access(const std::string& file)
            : fd_{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)}
        {
            if (fd_ < 0 || ::flock(fd_, LOCK_EX) != 0) {
                throw std::runtime_error("fenced_store: cannot open " + file);
            }
        }
        access(const access&) = delete;
        access& operator=(const access&) = delete;
        ~access() { ::close(fd_); }

        // Token and value.
        [[nodiscard]] std::pair<std::string, std::string> content() const
        {
            std::array<char, 4096> buffer{};
            const auto size = ::pread(fd_, buffer.data(), buffer.size(), 0);
            const std::string text(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
            const auto space = text.find(' ');
            return space == text.npos ? std::pair<std::string, std::string>{}
                                      : std::pair{text.substr(0, space), text.substr(space + 1)};
        }

        void replace(const std::string& text) const
        {
            if (::ftruncate(fd_, 0) != 0 ||
                ::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
                throw std::runtime_error("fenced_store: cannot write");
            }
        }

    private:
        int fd_;
    };

    std::string file_;
};

} // namespace colock::test

#endif
