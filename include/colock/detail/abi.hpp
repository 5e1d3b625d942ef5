// The configuration of Asio and of the standard library has to be the same in the library and in the program: both compile
// their headers, and share their objects. A program with another configuration does not link, and the linker names the
// symbol that it misses.
#ifndef COLOCK_DETAIL_ABI_HPP
#define COLOCK_DETAIL_ABI_HPP

#include <colock/detail/config.hpp>

#include <boost/asio/detail/config.hpp>
#include <boost/version.hpp>

#include <string> // which defines what is asked for below

// The name has every macro that changes the layout of classes that both sides use, or what an inline function of Asio
// does. It leaves out BOOST_ASIO_NO_DEPRECATED, because the library uses no function that this macro changes. It also
// leaves out macros of facilities that the library does not use, such as buffers and iostreams.

#if defined(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)
#define COLOCK_ABI_TRACKING custom_handler_tracking
#elif defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING)
#define COLOCK_ABI_TRACKING handler_tracking
#else
#define COLOCK_ABI_TRACKING no_handler_tracking
#endif

#if defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT)
#define COLOCK_ABI_REACTOR io_uring
#elif defined(BOOST_ASIO_HAS_IO_URING)
#define COLOCK_ABI_REACTOR epoll_and_io_uring
#elif defined(BOOST_ASIO_HAS_EPOLL)
#define COLOCK_ABI_REACTOR epoll
#else
#define COLOCK_ABI_REACTOR no_epoll
#endif

#if defined(BOOST_ASIO_HAS_EVENTFD)
#define COLOCK_ABI_EVENTFD eventfd
#else
#define COLOCK_ABI_EVENTFD no_eventfd
#endif

#if defined(BOOST_ASIO_HAS_TIMERFD)
#define COLOCK_ABI_TIMERFD timerfd
#else
#define COLOCK_ABI_TIMERFD no_timerfd
#endif

#if !defined(BOOST_ASIO_HAS_THREADS)
#define COLOCK_ABI_THREADS no_threads
#elif !defined(BOOST_ASIO_HAS_THREAD_KEYWORD_EXTENSION)
#define COLOCK_ABI_THREADS threads_without_keyword
#elif defined(BOOST_ASIO_DISABLE_FENCED_BLOCK)
#define COLOCK_ABI_THREADS threads_without_fences
#else
#define COLOCK_ABI_THREADS threads
#endif

#if defined(BOOST_ASIO_HAS_STD_ATOMIC)
#define COLOCK_ABI_ATOMIC std_atomic
#else
#define COLOCK_ABI_ATOMIC no_std_atomic
#endif

#if defined(BOOST_ASIO_NO_EXCEPTIONS) || !defined(BOOST_ASIO_HAS_STD_EXCEPTION_PTR)
#define COLOCK_ABI_EXCEPTIONS no_exceptions
#else
#define COLOCK_ABI_EXCEPTIONS exceptions
#endif

#if defined(BOOST_ASIO_NO_TYPEID)
#define COLOCK_ABI_TYPEID no_typeid
#else
#define COLOCK_ABI_TYPEID typeid
#endif

#if defined(BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT)
#define COLOCK_ABI_EXECUTOR ts_executor_as_default
#elif defined(BOOST_ASIO_NO_TS_EXECUTORS)
#define COLOCK_ABI_EXECUTOR no_ts_executors
#else
#define COLOCK_ABI_EXECUTOR executors
#endif

#if defined(BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
#define COLOCK_ABI_RECYCLING no_recycling
#elif defined(BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE) &&                                        \
    BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE != 2
#define COLOCK_ABI_RECYCLING recycling_with_another_cache_size
#else
#define COLOCK_ABI_RECYCLING recycling
#endif

// The debug modes have other containers, of other sizes.
#if defined(_GLIBCXX_DEBUG)
#define COLOCK_ABI_STANDARD glibcxx_debug
#elif defined(__GLIBCXX__) && !_GLIBCXX_USE_CXX11_ABI
#define COLOCK_ABI_STANDARD glibcxx_without_cxx11_abi
#elif defined(__GLIBCXX__)
#define COLOCK_ABI_STANDARD glibcxx
#elif defined(_LIBCPP_VERSION) &&                                                                  \
    (defined(_LIBCPP_ENABLE_DEBUG_MODE) || defined(_LIBCPP_ABI_BOUNDED_ITERATORS))
#define COLOCK_ABI_STANDARD libcpp_with_checked_iterators
#elif defined(_LIBCPP_VERSION)
#define COLOCK_ABI_STANDARD libcpp
#else
#define COLOCK_ABI_STANDARD unknown_standard_library
#endif

#define COLOCK_ABI_JOIN_(a, b, c, d, e, f, g, h, i, j, k, l)                                       \
    library_for_boost_##a##_asio_##b##_##c##_##d##_##e##_##f##_##g##_##h##_##i##_##j##_##k##_with_##l
#define COLOCK_ABI_JOIN(a, b, c, d, e, f, g, h, i, j, k, l)                                        \
    COLOCK_ABI_JOIN_(a, b, c, d, e, f, g, h, i, j, k, l)

// Such as library_for_boost_108100_asio_no_handler_tracking_epoll_eventfd_timerfd_threads_...
#define COLOCK_ABI_NAME                                                                            \
    COLOCK_ABI_JOIN(BOOST_VERSION, COLOCK_ABI_TRACKING, COLOCK_ABI_REACTOR, COLOCK_ABI_EVENTFD,    \
                    COLOCK_ABI_TIMERFD, COLOCK_ABI_THREADS, COLOCK_ABI_ATOMIC,                     \
                    COLOCK_ABI_EXCEPTIONS, COLOCK_ABI_TYPEID, COLOCK_ABI_EXECUTOR,                 \
                    COLOCK_ABI_RECYCLING, COLOCK_ABI_STANDARD)

namespace colock::detail {

// In the library.
COLOCK_DECL extern const char COLOCK_ABI_NAME;

namespace {

// One pointer in each translation unit, even if nothing there uses it; --gc-sections keeps it, too.
#if __has_cpp_attribute(gnu::retain)
[[gnu::used, gnu::retain]]
#else
[[gnu::used]]
#endif
const char* const same_asio_in_library_and_program = &COLOCK_ABI_NAME;

} // namespace

} // namespace colock::detail

#endif
