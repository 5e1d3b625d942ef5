#include "systems/stamps.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace bench {

namespace {

constexpr off_t file_size = 16 << 20;

[[noreturn]] void fail(const std::string& file)
{
    throw std::system_error{errno, std::system_category(), file};
}

class descriptor {
public:
    descriptor(const std::string& file, int flags)
        : fd_{::open(file.c_str(), flags | O_CLOEXEC, 0600)}
    {
        if (fd_ < 0) {
            fail(file);
        }
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { ::close(fd_); }
    [[nodiscard]] int get() const { return fd_; }

private:
    int fd_;
};

} // namespace

void stamps::make(const std::string& file)
{
    const descriptor made{file, O_RDWR | O_CREAT | O_TRUNC};
    if (::ftruncate(made.get(), file_size) != 0) {
        fail(file);
    }
}

stamps::stamps(const std::string& file)
{
    const descriptor opened{file, O_RDWR};
    struct stat about {};
    if (::fstat(opened.get(), &about) != 0) {
        fail(file);
    }
    size_ = static_cast<std::size_t>(about.st_size) / sizeof(std::int64_t);
    void* const mapped = ::mmap(nullptr, size_ * sizeof(std::int64_t), PROT_READ | PROT_WRITE,
                                MAP_SHARED, opened.get(), 0);
    if (mapped == MAP_FAILED) {
        fail(file);
    }
    begin_ = static_cast<std::int64_t*>(mapped);
}

stamps::~stamps()
{
    ::munmap(begin_, size_ * sizeof(std::int64_t));
}

void stamps::append()
{
    if (next_ == size_) {
        throw std::runtime_error{"the file is full"};
    }
    const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
    std::atomic_ref{begin_[next_++]}.store(now, std::memory_order_release);
    std::this_thread::sleep_for(std::chrono::microseconds{20});
}

std::int64_t stamps::first() const
{
    return std::atomic_ref{begin_[0]}.load(std::memory_order_acquire);
}

std::vector<std::int64_t> stamps::all() const
{
    std::vector<std::int64_t> found;
    for (std::size_t i = 0; i != size_; ++i) {
        const auto each = std::atomic_ref{begin_[i]}.load(std::memory_order_acquire);
        if (each == 0) {
            break;
        }
        found.push_back(each);
    }
    return found;
}

void append_stamps(const std::string& file)
{
    stamps own{file};
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (std::chrono::steady_clock::now() < end) {
        own.append();
    }
}

} // namespace bench
