#include "run/shared_bound.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace colock::cli {

namespace {

void* mapped(int file, std::size_t size)
{
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        const int error = errno;
        ::close(file);
        throw std::system_error{error, std::generic_category(), "mmap"};
    }
    return memory;
}

} // namespace

shared_bound::shared_bound() : file_{::memfd_create("bound", MFD_CLOEXEC)}
{
    if (file_ < 0 || ::ftruncate(file_, sizeof(page)) != 0) {
        throw std::system_error{errno, std::generic_category(), "memfd_create"};
    }
    page_ = new (mapped(file_, sizeof(page))) page;
}

shared_bound::shared_bound(int file)
    : file_{file}, page_{static_cast<page*>(mapped(file, sizeof(page)))}
{
}

shared_bound::~shared_bound()
{
    ::munmap(page_, sizeof(page));
    ::close(file_);
}

} // namespace colock::cli
