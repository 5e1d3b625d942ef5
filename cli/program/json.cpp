// Boost.JSON, which then needs no library.
#include <boost/json/src.hpp>
