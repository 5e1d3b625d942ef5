// What the tests with real servers include, compiled once (CMakeLists.txt).
#ifndef COLOCK_TEST_PRECOMPILED_HPP
#define COLOCK_TEST_PRECOMPILED_HPP

#include <colock/colock.hpp>
#include <support/client_scene.hpp>
#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#endif
