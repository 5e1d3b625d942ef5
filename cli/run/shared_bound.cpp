#include "run/shared_bound.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace colock::cli {

shared_bound::shared_bound()
{
    void* const page =
        ::mmap(nullptr, sizeof(number), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        throw std::system_error{errno, std::generic_category(), "mmap"};
    }
    page_ = new (page) number{0};
}

shared_bound::~shared_bound()
{
    ::munmap(page_, sizeof(number));
}

} // namespace colock::cli
