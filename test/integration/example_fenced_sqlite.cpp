// The database of the example refuses a holder that does not know that it has lost the lock.
#include <support/temporary_directory.hpp>
#include <support/wait_until.hpp>

#include "example_scene.hpp"

using namespace colock::test;

BOOST_FIXTURE_TEST_CASE(a_stale_holder_is_refused, example_scene)
{
    constexpr auto question = "what shall the note say?";
    const temporary_directory directory;
    const auto database = directory.path() + "/notes.db";
    const auto writer = [&] {
        return example{"fenced_sqlite", {database, server.connect_string()}, {.open_input = true}};
    };
    auto stale = writer();
    stale.line_after(question);
    auto next = writer();
    next.line_after(question); // when the session of the first one is over
    BOOST_TEST(next.write_input("good news\n"));
    next.line_after("written");
    BOOST_TEST(next.wait().success());

    BOOST_TEST(stale.write_input("old news\n"));
    stale.line_after("refused: ");
    BOOST_TEST(stale.wait().code == 1); // for async_with_lock tells of the loss, too

    auto last = writer();
    last.line_after(question);
    BOOST_TEST(last.write_input("more news\n"));
    last.line_after("written");
    BOOST_TEST(last.wait().success());
    // The one that has failed may have begun a session, which ends by its time-out.
    BOOST_TEST(wait_until([&] { return server.sessions().empty(); }, 30s));
    check_nothing_left();
}
