#include "temporary_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace colock::test {

namespace {

namespace fs = std::filesystem;

constexpr char const prefix[] = "colock-test-";

std::string parent_directory(storage where)
{
    if (where == storage::memory && ::access("/dev/shm", W_OK | X_OK) == 0)
        return "/dev/shm";
    char const* const chosen = std::getenv("TMPDIR");
    return chosen && *chosen ? chosen : "/var/tmp";
}

// Takes the directory's lock; -1 when its owner lives. The lock is on the open file, so it ends
// with the process that holds it.
int try_lock(std::string const& path)
{
    int const fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

void remove_abandoned(std::string const& parent)
{
    std::error_code ignored;
    for (auto i = fs::directory_iterator(parent, ignored); i != fs::directory_iterator();
         i.increment(ignored)) {
        auto const path = i->path();
        struct stat status {};
        if (path.filename().string().rfind(prefix, 0) != 0 || ::lstat(path.c_str(), &status) != 0 ||
            status.st_uid != ::geteuid())
            continue;
        int const lock = try_lock(path.string());
        if (lock < 0)
            continue;
        fs::remove_all(path, ignored);
        ::close(lock);
    }
}

} // namespace

temporary_directory::temporary_directory(storage where)
{
    auto const parent = parent_directory(where);
    remove_abandoned(parent);
    for (int attempt = 0; attempt < 100; ++attempt) {
        auto path = parent + "/" + prefix + std::to_string(::getpid()) + "-XXXXXX";
        if (!::mkdtemp(path.data()))
            throw std::runtime_error("temporary_directory: cannot make a directory in " + parent +
                                     ": " + std::strerror(errno) + "; set TMPDIR");
        // Between mkdtemp and the lock another process may take ours for an abandoned one: then try
        // again with another name.
        lock_ = try_lock(path);
        struct stat status {};
        if (lock_ >= 0 && ::fstat(lock_, &status) == 0 && status.st_nlink > 0) {
            path_ = std::move(path);
            return;
        }
        if (lock_ >= 0)
            ::close(lock_);
        ::rmdir(path.c_str());
    }
    throw std::runtime_error("temporary_directory: cannot keep a directory in " + parent);
}

temporary_directory::~temporary_directory()
{
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    ::close(lock_);
}

void write_file(std::string const& path, std::string const& text)
{
    std::ofstream file(path);
    file << text;
    if (!file.flush())
        throw std::runtime_error("cannot write " + path);
}

} // namespace colock::test
