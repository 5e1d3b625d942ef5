// SQLite refuses the late write of an earlier holder.
#include <support/temporary_directory.hpp>

#include "fence_scene.hpp"

using namespace colock::test;

namespace {

struct in_sqlite {
    const temporary_directory directory;
    fence_scene scene{"fenced_sqlite", "libsqlite3-dev", directory.path() + "/notes.db"};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fence_sqlite, in_sqlite)

BOOST_AUTO_TEST_CASE(a_late_write_is_refused)
{
    scene.late_write_is_refused();
}

// Nobody ends the transaction of a process that is stopped: the next one is told in time that the database is locked.
BOOST_AUTO_TEST_CASE(a_stopped_transaction_is_not_waited_for)
{
    scene.start().writes("first news");
    open_transaction t{scene};
    t.next->line_after("failed: database is locked");
    const auto waited = t.waited();
    BOOST_TEST(waited >= 2.5);
    std::cout << "figure: SQLite: the next holder waited " << waited
              << " s for a transaction that was stopped; its limit is 3 s" << std::endl;
    BOOST_TEST(t.next->wait().code == 1);

    t.stale.answer("");
    t.stale.resume();
    t.stale.expect_written(); // before any later holder has presented a token
    BOOST_TEST(scene.reads() == "old news");
}

BOOST_AUTO_TEST_SUITE_END()
