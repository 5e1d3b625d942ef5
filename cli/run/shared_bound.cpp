#include "run/shared_bound.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace colock::cli {

shared_bound::shared_bound()
{
    void* const memory =
        ::mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::system_error{errno, std::generic_category(), "mmap"};
    }
    page_ = new (memory) page;
}

shared_bound::~shared_bound()
{
    ::munmap(page_, sizeof(page));
}

} // namespace colock::cli
