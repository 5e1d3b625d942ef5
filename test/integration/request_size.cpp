// The largest request that a server takes, of each kind: the client lets it through, and refuses one byte more.
#include <support/hostile_server.hpp>
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test::request_size_test {

namespace {

// One kind of request, with so many bytes of data.
struct kind {
    const char* name;
    std::function<error_code(lock_scene&, client&, std::size_t)> send;
};

template <class Result, class Start>
error_code result_of(lock_scene& s, Start start)
{
    outcome<Result> o;
    start(o);
    return code_of(s.io, o);
}

error_code create(lock_scene& s, client& c, std::size_t size, create_options options)
{
    static int number = 1'000; // as many digits for all of them
    const auto path = "/" + std::to_string(++number);
    return result_of<create_result>(
        s, [&](auto& o) { c.async_create(path, std::string(size, 'x'), options, o.handler()); });
}

const std::vector<kind> kinds{
    {"create", [](auto& s, auto& c, auto size) { return create(s, c, size, {}); }},
    {"create with an access control list",
     [](auto& s, auto& c, auto size) {
         return create(
             s, c, size,
             {.mode = create_mode::ephemeral_sequential,
              .acl = access_control_list{{31, "world", "anyone"}, {1, "ip", "10.0.0.1"}}});
     }},
    {"create of a container",
     [](auto& s, auto& c, auto size) {
         return create(s, c, size, {.mode = create_mode::container});
     }},
    {"create with a time to live",
     [](auto& s, auto& c, auto size) {
         const auto ec = create(s, c, size, {.mode = create_mode::persistent_with_ttl, .ttl = 1h});
         // What a server answers where that is switched off: it has read the request.
         return ec == zookeeper_errc::unimplemented ? error_code{} : ec;
     }},
    {"set",
     [](auto& s, auto& c, auto size) {
         return result_of<node_stat>(s, [&](auto& o) {
             c.async_set("/", std::string(size, 'x'), any_version, o.handler());
         });
     }},
    {"set_acl",
     [](auto& s, auto& c, auto size) {
         const std::string path = "/with a long list";
         outcome<create_result> made; // or it is there already
         c.async_create(path, "", made.handler());
         static_cast<void>(code_of(s.io, made));
         access_control_list acl = open_acl();
         acl.push_back({1, "digest", "me:" + std::string(size, 'x')});
         return result_of<std::monostate>(
             s, [&](auto& o) { c.async_set_acl(path, std::move(acl), any_version, o.handler()); });
     }},
    {"multi",
     [](auto& s, auto& c, auto size) {
         std::vector<transaction_op> ops{
             check_op("/"),
             create_op("/a", std::string(size / 2, 'x')),
             create_op("/b", "y", {.mode = create_mode::ephemeral, .acl = open_acl()}),
             set_op("/a", std::string(size - size / 2, 'x')),
             remove_op("/a"),
             remove_op("/b")};
         return result_of<std::vector<transaction_result>>(
             s, [&](auto& o) { c.async_multi(std::move(ops), o.handler()); });
     }},
};

// The least size of data that is refused: the refusal says how large the request would be.
std::size_t least_refused(lock_scene& s, client& c, const kind& of)
{
    constexpr std::size_t limit = 0xfffff, much = 2 * limit;
    BOOST_TEST(of.send(s, c, much) == errc::request_too_large);
    const auto detail = c.last_error_detail();
    const std::string before = "the request has ";
    const auto size = std::stoul(detail.substr(detail.find(before) + before.size()));
    return much - (size - limit) + 1;
}

} // namespace

BOOST_AUTO_TEST_SUITE(request_size)

BOOST_AUTO_TEST_CASE(each_kind_is_sent_up_to_the_limit_and_refused_above_it)
{
    lock_scene s;
    s.admin.create("/service");
    for (const std::string chroot : {"", "/service"}) {
        // The same data, counted by a client that would send nothing at all of that size, and by one that sends
        // one byte too much.
        auto& c = s.connect({.chroot = chroot});
        auto& too_bold = s.connect({.chroot = chroot, .max_request_size = 0x100000});
        for (const auto& each : kinds) {
            BOOST_TEST_CONTEXT(each.name << " in " << chroot)
            {
                const auto above = least_refused(s, c, each);
                BOOST_TEST(each.send(s, c, above) == errc::request_too_large);
                BOOST_TEST(c.last_error_detail().find("1048576 bytes") != std::string::npos);
                BOOST_TEST(each.send(s, c, above - 1) == error_code{});
                BOOST_TEST(each.send(s, too_bold, above - 1) == error_code{});
                BOOST_TEST(each.send(s, too_bold, above) == zookeeper_errc::connection_loss);
            }
        }
        BOOST_TEST(c.stats().connections == 1U); // for all of it
    }
}

BOOST_AUTO_TEST_CASE(other_requests_on_the_connection_go_on)
{
    lock_scene s;
    auto& c = s.connect();
    auto held = s.hold(c);
    outcome<> synced;
    c.async_sync("/", synced.handler());
    BOOST_TEST(kinds.front().send(s, c, 5'000'000) == errc::request_too_large);
    BOOST_TEST(code_of(s.io, synced) == error_code{});
    BOOST_TEST(bool(held));
    BOOST_TEST(s.unlock(held) == error_code{});
    BOOST_TEST(c.stats().connections == 1U);
}

BOOST_AUTO_TEST_CASE(a_lock_whose_node_does_not_fit_fails)
{
    lock_scene s;
    auto& c = s.connect({.max_request_size = 500});
    BOOST_TEST(code_of(s.io, s.start_lock(c, {.owner_data = std::string(500, 'x')})) ==
               errc::request_too_large);
    auto held = s.hold(c, {.owner_data = "short"});
    BOOST_TEST(s.unlock(held) == error_code{});
    outcome<permit> o;
    semaphore{c, s.directory + "/s", 100}.async_acquire(50, o.handler());
    BOOST_TEST(code_of(s.io, o) == errc::invalid_option); // which says how many fit
    s.check_nothing_left();
}

// With a server that takes more than ZooKeeper does by default.
BOOST_AUTO_TEST_CASE(the_limit_holds_for_owner_data_where_it_is_raised)
{
    const hostile_server server;
    asio::io_context io;
    client c{io, {.hosts = server.connect_string(), .max_request_size = 4 << 20}};
    outcome<> connected;
    c.async_connect(connected.handler());
    BOOST_REQUIRE(code_of(io, connected) == error_code{});
    const auto lock_with = [&](std::size_t size) {
        mutex m{c, "/lock-" + std::to_string(size), {.owner_data = std::string(size, 'x')}};
        outcome<unique_lock> o;
        m.async_lock(o.handler());
        return code_of(io, o);
    };
    BOOST_TEST(lock_with(3 << 20) == error_code{});
    BOOST_TEST(lock_with(4 << 20) == errc::request_too_large);
}

BOOST_AUTO_TEST_CASE(a_credential_that_does_not_fit_is_refused)
{
    asio::io_context io;
    client c{io, link_client({.hosts = link_hosts(common_server()),
                              .credentials = {{"digest", "me:" + std::string(0xfffff, 'x')}}})};
    outcome<> connected;
    c.async_connect(connected.handler());
    BOOST_TEST(code_of(io, connected) == errc::request_too_large);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::request_size_test
