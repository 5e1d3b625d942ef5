// What the data of a node tell of the process that wrote it.
#include <colock/queue_view.hpp>

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

using namespace colock;

BOOST_AUTO_TEST_CASE(data_of_colock_run_tell_under_which_node_it_runs)
{
    const auto o = parse_owner("host=a pid=12 under=/locks/x/_c_1-lock-0000000007 program=sh");
    BOOST_TEST((o.host == "a" && o.pid == 12 && o.program == "sh"));
    BOOST_TEST((o.under == "/locks/x/_c_1-lock-0000000007"));
}

BOOST_AUTO_TEST_CASE(a_path_may_have_blanks)
{
    const auto o = parse_owner("host=a pid=12 under=/my locks/x under=/y program=sh pid=3");
    BOOST_TEST((o.pid == 12 && o.under == "/my locks/x under=/y" && o.program == "sh pid=3"));
}

BOOST_AUTO_TEST_CASE(older_data_run_under_no_node)
{
    for (const auto* older : {"host=a pid=12 program=sh", "host=a pid=12 program=sh under=/x"}) {
        const auto o = parse_owner(older);
        BOOST_TEST((o.pid == 12 && o.program && !o.under), older);
    }
    BOOST_TEST((parse_owner(default_owner_data()).under == std::nullopt));
}

BOOST_AUTO_TEST_CASE(what_is_no_path_is_no_field)
{
    for (const auto* foreign : {"host=a pid=12 under=x program=b", "host=a pid=12 under= program=b",
                                "host=a under=/x pid= program=b"}) {
        BOOST_TEST((parse_owner(foreign) == owner_info{.text = foreign}), foreign);
    }
}

BOOST_AUTO_TEST_CASE(a_forked_child_tells_its_own_number)
{
    BOOST_TEST((parse_owner(default_owner_data()).pid == ::getpid()));
    const auto child = ::fork();
    if (child == 0) {
        ::_exit(parse_owner(default_owner_data()).pid == ::getpid() ? 0 : 1);
    }
    int status = -1;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
}
