// The version of colock. The build reads it from here.
#ifndef COLOCK_VERSION_HPP
#define COLOCK_VERSION_HPP

/// The parts of the version, and all of it as text.
/// @{
#define COLOCK_VERSION_MAJOR 1
#define COLOCK_VERSION_MINOR 0
#define COLOCK_VERSION_PATCH 0
#define COLOCK_VERSION_STRING "1.0.0"
/// @}

/// One number to compare with: 10203 is version 1.2.3.
#define COLOCK_VERSION                                                                             \
    (COLOCK_VERSION_MAJOR * 10000 + COLOCK_VERSION_MINOR * 100 + COLOCK_VERSION_PATCH)

#endif
