// main() of every test program. Sources after `--` are those whose cases it runs.
#define BOOST_TEST_ALTERNATIVE_INIT_API
#define BOOST_TEST_NO_MAIN
#ifdef COLOCK_BOOST_TEST_FROM_HEADERS
#include <boost/test/included/unit_test.hpp>
#else
#include <boost/test/unit_test.hpp>
#endif
#include <boost/test/tree/traverse.hpp>
#include <boost/test/tree/visitor.hpp>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

namespace {

namespace unit_test = boost::unit_test;

// Finds the cases of other sources. A filter of Boost.Test would enable cases that are disabled, with their suite.
struct selection : unit_test::test_tree_visitor {
    std::set<std::string> sources;
    std::vector<unit_test::test_unit_id> others;

    bool test_suite_start(const unit_test::test_suite& each) override
    {
        // Cases for data are otherwise made later.
        unit_test::framework::get<unit_test::test_suite>(each.p_id).generate();
        return true;
    }
    void visit(const unit_test::test_case& each) override
    {
        if (!sources.contains({each.p_file_name.begin(), each.p_file_name.end()})) {
            others.push_back(each.p_id);
        }
    }
};

bool initialise()
{
    const auto& all = unit_test::framework::master_test_suite();
    selection wanted;
    wanted.sources.insert(all.argv + 1, all.argv + all.argc);
    if (!wanted.sources.empty()) {
        unit_test::traverse_test_tree(all, wanted, true);
    }
    for (const auto each : wanted.others) {
        const auto parent = unit_test::framework::get(each, unit_test::TUT_CASE).p_parent_id;
        unit_test::framework::get<unit_test::test_suite>(parent).remove(each);
    }
    return true;
}

} // namespace

int main(int argc, char** argv)
{
    // A crash ends the program with its signal, and a sanitizer reports it, instead of Boost.Test.
    ::setenv("BOOST_TEST_CATCH_SYSTEM_ERRORS", "no", 0);
    return boost::unit_test::unit_test_main(&initialise, argc, argv);
}
