// Text that others have written, or that a careless program passes on, reaches the log and the words for a failure in one
// line of printable characters, however long it was.
#include <colock/lock_root.hpp>
#include <support/lock_scene.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test::hostile_text_test {

namespace {

// Escape sequences that clear the screen and set the title, lines that look like the log's own, what turns the direction of
// the text, bytes that are no UTF-8, quotes.
const std::string hostile =
    "\x1b[2J\x1b]0;title\x07\nerror: all is lost\r\xc2\x9b\xe2\x80\xae\xff\xc0\x8a\"'`$(x)";

// What ZooKeeper takes in the name of a node.
const std::string hostile_name = "\xe2\x80\xae\"'`$(x)\xe2\x80\x8b";

bool is_clean(std::string_view line)
{
    for (const char character : line) {
        const auto c = static_cast<unsigned char>(character);
        if (c < 0x20 || c == 0x7f || c >= 0xf8) {
            return false;
        }
    }
    return line.size() < 20'000 && line.find("\xe2\x80") == line.npos &&
           line.find('\x9b') == line.npos && line.find('\xff') == line.npos;
}

struct scene : lock_scene {
    client& listening(client_options options = {})
    {
        options.log = [lines = lines](log_level, std::string_view line) {
            lines->emplace_back(line);
        };
        options.log_threshold = log_level::debug;
        return connect(std::move(options));
    }

    /// The outcome of an operation, whose words are checked.
    template <class T = std::monostate, class Initiate>
    error_code told(client& c, Initiate initiate)
    {
        outcome<T> o;
        initiate(bind_diagnostics(why, o.handler()));
        const auto ec = code_of(io, o);
        BOOST_TEST(!why.message().empty());
        BOOST_TEST(is_clean(why.message()), printable(why.message()));
        BOOST_TEST(is_clean(c.last_error_detail()), printable(c.last_error_detail()));
        return ec;
    }

    void check_lines(std::size_t least)
    {
        BOOST_TEST(lines->size() >= least);
        for (const auto& line : *lines) {
            BOOST_TEST(is_clean(line), printable(line));
        }
    }

    const std::shared_ptr<std::vector<std::string>> lines =
        std::make_shared<std::vector<std::string>>();
    diagnostics why;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(hostile_text, scene)

BOOST_AUTO_TEST_CASE(in_the_data_of_a_holder)
{
    auto& zk = listening();
    for (const auto& data : {hostile, std::string("host=") + hostile + " pid=1 program=" + hostile,
                             "host=h pid=1 program=" + std::string(900'000, '\x1b'),
                             std::string(1'000'000, '\xff'), std::string(1'000'000, '\n')}) {
        auto held = hold(connect(), {.owner_data = data});
        // The client may not have read the data by then.
        for (auto limit = 20ms; limit < 20s; limit *= 2) {
            const auto ec = told<unique_lock>(zk, [&](auto h) {
                mutex{zk, directory}.async_try_lock_for(limit, h);
            });
            BOOST_TEST((!ec || ec == errc::no_answer)); // a megabyte takes a slow server its time
            if (why.message().find("held by ") != std::string::npos) {
                break;
            }
        }
        BOOST_TEST(why.message().find("held by ") != std::string::npos);
        BOOST_TEST(!unlock(held));
    }
    check_lines(10);
}

BOOST_AUTO_TEST_CASE(in_the_names_of_nodes)
{
    auto& zk = listening();
    admin.create(directory);
    admin.create(directory + "/" + hostile_name + "-lock-", "",
                 admin_session::mode::ephemeral_sequential,
                 {{permission_delete, "world", "anyone"}});
    BOOST_TEST(told<unique_lock>(zk, [&](auto h) {
                   mutex{zk, directory}.async_lock(h);
               }) == zookeeper_errc::no_auth);
    BOOST_TEST(why.message().find("lacks READ on " + directory + "/\\xe2\\x80\\xae\"'`$(x)") !=
               std::string::npos);
    const auto elsewhere = "/" + hostile_name + directory.substr(1);
    admin.create(elsewhere, "", admin_session::mode::persistent,
                 {{permission_read, "world", "anyone"}});
    BOOST_TEST(told<unique_lock>(zk, [&](auto h) {
                   mutex{zk, elsewhere}.async_lock(h);
               }) == zookeeper_errc::no_auth);
    BOOST_TEST(told<permit>(zk, [&](auto h) {
                   semaphore{zk, elsewhere, 1}.async_acquire(h);
               }) == zookeeper_errc::no_auth);
    BOOST_TEST(told<create_result>(zk, [&](auto h) { zk.async_create(elsewhere + "/a", "", h); }) ==
               zookeeper_errc::no_auth);
    BOOST_TEST(told(zk, [&](auto h) { async_ensure_lock_root(zk, elsewhere, creator_acl(), h); }) ==
               zookeeper_errc::invalid_acl);
    check_lines(2);
}

BOOST_AUTO_TEST_CASE(in_what_a_program_passes_on)
{
    auto& zk = listening();
    for (const auto& path : {"/" + hostile, hostile, "/" + std::string(1'000'000, '\x1b')}) {
        BOOST_TEST(told<get_result>(zk, [&](auto h) { zk.async_get(path, h); }) ==
                   errc::invalid_path);
        BOOST_TEST(told<unique_lock>(zk, [&](auto h) {
                       mutex{zk, path}.async_lock(h);
                   }) == errc::invalid_path);
        BOOST_TEST(told<permit>(zk, [&](auto h) {
                       semaphore{zk, path, 1}.async_acquire(h);
                   }) == errc::invalid_path);
        BOOST_TEST(told(zk, [&](auto h) { async_revoke(zk, path, h); }) == errc::invalid_path);
        BOOST_TEST(told(zk, [&](auto h) { async_ensure_lock_root(zk, path, creator_acl(), h); }) ==
                   errc::invalid_path);
        BOOST_TEST(told<queue_view>(zk, [&](auto h) {
                       async_view_queue(zk, path, curator_layout(), h);
                   }) == errc::invalid_path);
    }
    const lock_options odd{.layout = layout{hostile, hostile}};
    BOOST_TEST(told<unique_lock>(zk, [&](auto h) {
                   mutex{zk, directory, odd}.async_lock(h);
               }) == errc::invalid_option);
    BOOST_TEST(told(zk, [&](auto h) { zk.async_add_credentials(hostile, hostile, h); }) ==
               errc::credentials_refused);
    check_lines(2);
}

BOOST_AUTO_TEST_CASE(in_the_options_of_a_client)
{
    const auto connecting = [&](client_options options) {
        options.log = [lines = lines](log_level, std::string_view line) {
            lines->emplace_back(line);
        };
        options.log_threshold = log_level::debug;
        client zk{io, std::move(options)};
        return told(zk, [&](auto h) { zk.async_connect(h); });
    };
    BOOST_TEST(connecting({.hosts = hostile}) == errc::invalid_hosts);
    BOOST_TEST(connecting({.hosts = "localhost:" + hostile}) == errc::invalid_hosts);
    BOOST_TEST(connecting({.hosts = server.connect_string(), .chroot = "/" + hostile}) ==
               errc::invalid_path);
    BOOST_TEST(connecting({.hosts = server.connect_string(), .chroot = "/" + hostile_name}) ==
               errc::no_chroot);
    for (const auto& line : *lines) {
        BOOST_TEST(is_clean(line), printable(line));
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::hostile_text_test
