// What the tests without Asio include, compiled once (CMakeLists.txt).
#ifndef COLOCK_TEST_PRECOMPILED_UNIT_HPP
#define COLOCK_TEST_PRECOMPILED_UNIT_HPP

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#endif
