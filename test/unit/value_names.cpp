// Each value of the public enumerations has a name of its own.
#include <colock/colock.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <string_view>

using namespace colock;

namespace {

template <class Enumeration>
void check_names(Enumeration first, Enumeration last, int step = 1)
{
    std::set<std::string_view> names;
    for (int value = static_cast<int>(first); value <= static_cast<int>(last); value += step) {
        const auto name = to_string(static_cast<Enumeration>(value));
        BOOST_TEST(name != "unknown");
        BOOST_TEST(names.insert(name).second);
    }
    BOOST_TEST(to_string(static_cast<Enumeration>(static_cast<int>(last) + 1)) == "unknown");
}

} // namespace

BOOST_AUTO_TEST_CASE(values_have_names)
{
    check_names(connection_state::idle, connection_state::closed);
    check_names(lock_state::not_held, lock_state::lost);
    check_names(log_level::debug, log_level::error, 10);
    check_names(acquisition_kind::mutex, acquisition_kind::multi_lock);
    check_names(acquisition_outcome::granted, acquisition_outcome::dropped);
    check_names(grant_source::none, grant_source::kept_node);
    check_names(create_mode::persistent, create_mode::persistent_sequential_with_ttl);
    check_names(watch_event_type::created, watch_event_type::children_changed);
    check_names(tls_verification::full, tls_verification::off);
    BOOST_TEST(to_string(connection_state::suspended) == "suspended");
}
