// Choices of the build.
#ifndef COLOCK_DETAIL_CONFIG_HPP
#define COLOCK_DETAIL_CONFIG_HPP

// Marks what a shared library exports; everything else in it is hidden. The build defines
// COLOCK_SHARED_LIBRARY for the library and for whoever links it.
#ifdef COLOCK_SHARED_LIBRARY
#define COLOCK_DECL [[gnu::visibility("default")]]
#else
#define COLOCK_DECL
#endif

#endif
