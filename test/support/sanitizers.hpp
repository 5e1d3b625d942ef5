#ifndef COLOCK_TEST_SUPPORT_SANITIZERS_HPP
#define COLOCK_TEST_SUPPORT_SANITIZERS_HPP

/// How this program was compiled, for figures that depend on it. Clang 14 has no macro for a sanitizer, GCC 12 no feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COLOCK_TEST_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define COLOCK_TEST_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define COLOCK_TEST_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define COLOCK_TEST_THREAD_SANITIZER
#endif

namespace colock::test {

#if defined(COLOCK_TEST_ADDRESS_SANITIZER)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

#if defined(COLOCK_TEST_ADDRESS_SANITIZER) || defined(COLOCK_TEST_THREAD_SANITIZER)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// As a user compiles: what is said of time holds.
#if defined(__OPTIMIZE__)
inline constexpr bool optimized = !sanitized;
#else
inline constexpr bool optimized = false;
#endif

/// By what a limit on time is multiplied for a sanitizer, and where nothing is optimised.
inline constexpr int slowness = optimized ? 1 : 20;

} // namespace colock::test

#endif
