#ifndef COLOCK_TEST_SUPPORT_TEMPORARY_DIRECTORY_HPP
#define COLOCK_TEST_SUPPORT_TEMPORARY_DIRECTORY_HPP

#include <string>

namespace colock::test {

/// Where a temporary directory lies.
enum class storage {
    memory, ///< /dev/shm when it is writable, else as `disk`.
    disk    ///< $TMPDIR, else /var/tmp.
};

/// A fresh directory that is removed, with all it contains, by the destructor.
/**
 * A process that dies without running destructors leaves its directories behind; the next one that
 * makes a `temporary_directory` in the same place removes them (a lock on the directory tells the
 * living from the dead).
 */
class temporary_directory {
public:
    explicit temporary_directory(storage where = storage::memory);
    temporary_directory(temporary_directory const&) = delete;
    temporary_directory& operator=(temporary_directory const&) = delete;
    ~temporary_directory();

    std::string const& path() const noexcept { return path_; }

private:
    std::string path_;
    int lock_ = -1;
};

/// Throws what says which file cannot be written.
void write_file(std::string const& path, std::string const& text);

} // namespace colock::test

#endif
