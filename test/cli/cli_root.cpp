// `colock root`: who may use what is below it afterwards, as the servers see it.
#include <support/refused.hpp>

#include "connect/identities.hpp"
#include "run_scene.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

namespace colock::test::cli_root_test {

namespace {

constexpr int no_auth = -102;

struct protected_scene : scene {
    std::string root = own_node() + "/shop";
    admin_session stranger{servers};

    protected_scene()
    {
        stranger.add_auth("digest", "stranger:secret");
        stranger.create_path(own_node());
        for (const std::string who : {"admin", "orders", "stock"}) {
            std::ofstream{auth(who)} << "digest " << who << ":secret\n";
            ::chmod(auth(who).c_str(), 0600);
        }
        path = root + "/lock";
    }

    std::string auth(const std::string& who) { return files.path() + '/' + who + ".auth"; }
    colock_result make(std::vector<std::string> options, const std::string& who = "admin")
    {
        options.insert(options.begin(), {"root", "--auth", auth(who)});
        options.push_back(root);
        return run_colock(servers, options);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_root, protected_scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(a_root_is_for_those_who_are_allowed)
{
    const auto made = make({"--allow-auth", auth("orders"), "--allow-auth", auth("stock"),
                            "--allow-read", "world:anyone"});
    BOOST_TEST(made.status == 0, made.err);
    BOOST_TEST(made.out == root + " is a root that stays; digest:admin, digest:orders, "
                                  "digest:stock may use it; world:anyone may read\n");
    // They stand in one queue, and see each other.
    for (const std::string who : {"orders", "stock"}) {
        const auto r = run({"--auth", auth(who), "--acl", "parent"}, {"true"});
        BOOST_TEST(r.status == 0, r.err);
    }
    colock_process holder{servers, with({"--auth", auth("orders"), "--acl", "parent"}, holding())};
    BOOST_REQUIRE(runs());
    colock_process waiter{servers, with({"--auth", auth("stock"), "--acl", "parent"}, {"true"})};
    BOOST_REQUIRE(queue_has(2));
    BOOST_TEST(refused([&] { stranger.create(root + "/mine"); }) == no_auth);
    BOOST_TEST(refused([&] { stranger.create(path + "/mine"); }) == no_auth);
    BOOST_TEST(refused([&] { stranger.remove(root + "/.keep"); }) == no_auth);
    for (const auto& each : stranger.children(path)) {
        BOOST_TEST(refused([&] { stranger.remove(path + '/' + each); }) == no_auth);
    }
    enough();
    BOOST_TEST(holder.status() == 0);
    BOOST_TEST(waiter.status() == 0);
    BOOST_TEST(run({}, {"true"}).status == 122);
    // Once more it only looks.
    BOOST_TEST(make({"--allow-auth", auth("orders"), "--allow-auth", auth("stock"), "--allow-read",
                     "world:anyone"})
                   .status == 0);
    BOOST_TEST(run_colock(servers, {"root", "--auth", auth("admin"), root + '/'}).status == 122);
    const auto narrower = make({"--allow-auth", auth("orders")});
    BOOST_TEST(narrower.status == 122);
    BOOST_TEST(has(narrower.err, "digest:stock may"), narrower.err);
}

BOOST_AUTO_TEST_CASE(doctor_finds_no_fault_with_a_root)
{
    stranger.create(root); // as anybody makes it
    const auto before = run_colock(servers, {"doctor", root});
    BOOST_TEST(has(before.out, "warning  access      world:anyone may"), before.out);
    BOOST_TEST(has(before.out, "`colock root` makes"), before.out);
    root += "2";
    BOOST_TEST(make({}).status == 0);
    const auto after = run_colock(servers, {"doctor", "--auth", auth("admin"), root});
    BOOST_TEST(has(after.out, root + " is a root that stays"), after.out);
    BOOST_TEST(!has(after.out, "warning  access"), after.out);
}

BOOST_AUTO_TEST_CASE(what_a_list_hides_is_a_number_among_the_metrics)
{
    stranger.create(root);
    path = root + "/hidden";
    colock_process holder{servers, with({"--auth", auth("admin"), "--acl", "creator"}, holding())};
    BOOST_REQUIRE(runs());
    BOOST_TEST(run_colock(servers, {"ls", "-r", root}).status == 122);
    const auto r = run_colock(servers, {"ls", "-r", "--prometheus", root});
    BOOST_TEST(r.status == 0, r.err);
    BOOST_TEST(has(r.out, "colock_unlisted_nodes 1\n"), r.out);
    for (const auto& asked : {root, path}) {
        const auto top = run_colock(servers, {"top", asked});
        BOOST_TEST(top.status == 122, top.out);
        BOOST_TEST(has(top.out, path + "  cannot be listed: "), top.out);
    }
    const auto json = run_colock(servers, {"ls", "--json", path});
    BOOST_TEST(json.status == 122);
    BOOST_TEST(has(json.out, "\"unlisted\":[\"" + path + "\"]"), json.out);
    colock_process watched{servers, {"top", "--json", "--interval", "50ms", root}};
    BOOST_TEST(wait_until([&] { return has(watched.out(), "\"unlisted\":"); }, patience));
    watched.process().send_signal(SIGTERM);
    BOOST_TEST(watched.status() == 128 + SIGTERM);
    enough();
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(a_semaphore_whose_permits_a_list_hides_is_not_called_free)
{
    stranger.create(root);
    stranger.create(path);
    colock_process holder{
        servers,
        with({"--auth", auth("admin"), "--acl", "creator", "--permits", "1/4"}, holding())};
    BOOST_REQUIRE(runs());
    for (const auto& asked : {root, path}) {
        const auto r = run_colock(servers, {"ls", asked});
        BOOST_TEST(r.status == 122, r.out);
        BOOST_TEST(has(r.out, path + "/leases cannot be listed: "), r.out);
        BOOST_TEST(has(r.err, path + "/leases cannot be listed: "), r.err);
        const auto json = run_colock(servers, {"ls", "--json", asked});
        BOOST_TEST(has(json.out, "\"unlisted\":[\"" + path + "/leases\"]"), json.out);
        const auto metrics = run_colock(servers, {"ls", "--prometheus", asked});
        BOOST_TEST(has(metrics.out, "colock_unlisted_nodes 1\n"), metrics.out);
        BOOST_TEST(!has(metrics.out, "colock_lock_holders"), metrics.out);
    }
    enough();
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(a_node_that_is_open_is_refused_and_can_be_taken_over)
{
    stranger.create(root);
    BOOST_TEST(run({}, {"true"}).status == 0);
    stranger.create(root + "/kept", "by the stranger");
    stranger.create(root + "/kept/below");
    const auto r = make({});
    BOOST_TEST(r.status == 122);
    BOOST_TEST(is_one_line(r.err), r.err);
    BOOST_TEST(has(r.err, "colock root --take-over"), r.err);
    BOOST_TEST(!has(r.err, "client::"), r.err);
    const auto taken = make({"--take-over"});
    BOOST_TEST(taken.status == 0, taken.err);
    BOOST_TEST(has(taken.out, " lists replaced\n"), taken.out);
    BOOST_TEST(refused([&] { stranger.remove(root + "/kept/below"); }) == no_auth);
    BOOST_TEST(refused([&] {
                   stranger.set_acl(root + "/kept", {{31, "world", "anyone"}});
               }) == no_auth);
    BOOST_TEST(make({}).status == 0);
}

BOOST_AUTO_TEST_CASE(a_node_that_cannot_be_taken_over_keeps_no_other_one_open)
{
    stranger.create(root);
    for (const auto* const open : {"/a", "/z"}) {
        stranger.create(root + open);
    }
    stranger.create(root + "/own", "", admin_session::mode::persistent, {{31, "auth", ""}});
    std::string deep = root + "/deep";
    stranger.create(deep);
    while (deep.size() <= 4096) { // no request of colock can name it
        deep += '/' + std::string(250, 'd');
        stranger.create(deep);
    }
    const auto r = make({"--take-over"});
    BOOST_TEST(r.status == 122, r.err);
    BOOST_TEST(is_one_line(r.err), r.err);
    BOOST_TEST(has(r.err, " and 1 more keep theirs"), r.err);
    for (const auto* const closed : {"/a/mine", "/z/mine", "/deep/mine", "/.keep/mine"}) {
        BOOST_TEST(refused([&] { stranger.create(root + closed); }) == no_auth, closed);
    }
    admin_session admin{servers};
    admin.add_auth("digest", "admin:secret");
    admin.remove(deep);
    BOOST_TEST(has(make({"--take-over"}).err, root + "/own keeps its list"));
}

BOOST_AUTO_TEST_CASE(a_chroot_is_a_root)
{
    const auto none = run_colock(servers + root, {"root", "--auth", auth("admin"), "/"});
    BOOST_TEST(none.status == 122);
    BOOST_TEST(has(none.err, "--servers without it"), none.err);
    BOOST_TEST(make({"--allow-auth", auth("orders")}).status == 0);
    const auto r = run_colock(servers + root, {"run", "--auth", auth("orders"), "--acl", "parent",
                                               "/lock", "--", "true"});
    BOOST_TEST(r.status == 0, r.err);
    const auto looked = run_colock(
        servers + root, {"root", "--auth", auth("admin"), "--allow-auth", auth("orders"), "/"});
    BOOST_TEST(looked.status == 0, looked.err);
}

BOOST_AUTO_TEST_CASE(the_record_of_a_job_has_the_list_of_the_root)
{
    BOOST_TEST(make({"--allow-auth", auth("orders"), "--allow-auth", auth("stock")}).status == 0);
    for (const std::string who : {"orders", "stock"}) {
        const auto r = run({"--auth", auth(who), "--acl", "parent", "--once-per", "1000d"},
                           {"sh", "-c", "echo x >>" + files.path() + "/runs-of-the-job"});
        BOOST_TEST(r.status == 0, r.err);
    }
    BOOST_TEST(file_text(files.path() + "/runs-of-the-job") == "x\n");
    BOOST_TEST(refused([&] { stranger.set(path + ".runs", "junk"); }) == no_auth);
}

BOOST_AUTO_TEST_CASE(a_list_that_cannot_be_read_as_a_whole_is_not_used)
{
    BOOST_TEST(make({"--allow-read", "world:anyone"}).status == 0);
    const auto r = run({"--auth", auth("orders"), "--acl", "parent"}, {"true"});
    BOOST_TEST(r.status == 122);
    BOOST_TEST(has(r.err, "without ADMIN on " + root), r.err);
}

BOOST_AUTO_TEST_CASE(bad_input_is_refused_in_a_line)
{
    BOOST_TEST(run_colock(servers, {"root", root}).status == 125);
    for (const auto& options : {std::vector<std::string>{"--allow", "orders"},
                                {"--allow", ":orders"},
                                {"--allow", "digest:orders"},
                                {"--allow", "digest:orders:secret", "--allow-auth", "/none"},
                                {"--allow", "digest:orders:secret:more"}}) {
        const auto r = make(options);
        BOOST_TEST(r.status == 125, options.back() << r.err);
        BOOST_TEST(is_one_line(r.err), r.err);
        BOOST_TEST(!has(r.err, "secret"), r.err);
    }
    const auto everybody = make({"--allow", "world:anyone"});
    BOOST_TEST(everybody.status == 125);
    BOOST_TEST(has(everybody.err, "--allow-read"), everybody.err);
    const auto unknown = make({"--allow", "ip:999.1.1.1", "--allow", "nobody:x"});
    BOOST_TEST(unknown.status == 122);
    BOOST_TEST(has(unknown.err, "ip:999.1.1.1, nobody:x has"), unknown.err);
    BOOST_TEST(make({"--allow-read", "ip:10.0.0.2", "--allow-read", "ip:10.0.0.1"}).status == 0);
    BOOST_TEST(run({"--acl", "parent", "--shards", "2"}, {"true"}).status == 125);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_root_test
