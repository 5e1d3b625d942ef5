#include "run/shared_bound.hpp"

#include "program/failure.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace colock::cli {

namespace {

void* mapped(int file, std::size_t size)
{
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    if (memory == MAP_FAILED) {
        const int error = errno;
        ::close(file);
        throw std::system_error{error, std::generic_category(), "mmap"};
    }
    return memory;
}

} // namespace

int shared_bound::make_file()
{
    rlimit most{};
    // To exceed it would end the program.
    if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < sizeof(page)) {
        throw failure{usage,
                      "files may have no bytes here (ulimit -f, LimitFSIZE=), not even those in "
                      "memory that --shards needs"};
    }
    const int file = ::memfd_create("bound", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, sizeof(page)) != 0) {
        const int error = errno;
        ::close(file);
        throw std::system_error{error, std::generic_category(), "memfd_create"};
    }
    return file;
}

// New memory is zero, and so are the members of a new page.
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
