// Owners of what a C library allocates.
#pragma once

namespace colock::zk {

// Deletes by a function: std::unique_ptr<T, freed_by<&T_free>>.
template <auto release>
struct freed_by {
    template <class T>
    void operator()(T* t) const noexcept
    {
        release(t);
    }
};

} // namespace colock::zk
