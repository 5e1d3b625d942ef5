// Neither the secrets of credentials nor the password of a session get into a log line, the words for a failure, or
// memory that is freed.
#include <colock/lock_root.hpp>
#include <support/lock_scene.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/test/unit_test.hpp>

#include <malloc.h>
#include <string.h> // explicit_bzero

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

// What freed blocks are searched for. Fixed memory: the search must not allocate.
struct wanted {
    std::array<char, 64> text{};
    std::atomic<std::size_t> size{0};
    std::atomic<unsigned> found{0};
};
std::array<wanted, 2> in_freed_memory;

void search(const void* block) noexcept
{
    const std::string_view all{static_cast<const char*>(block),
                               ::malloc_usable_size(const_cast<void*>(block))};
    for (auto& each : in_freed_memory) {
        const auto size = each.size.load(std::memory_order_acquire);
        if (size != 0 && all.find({each.text.data(), size}) != all.npos) {
            ++each.found;
        }
    }
}

void look_for(wanted& w, std::string_view text)
{
    std::ranges::copy(text.substr(0, w.text.size()), w.text.begin());
    w.size.store(std::min(text.size(), w.text.size()), std::memory_order_release);
}

} // namespace

// Without what ZooKeeper's C client has left in it.
void* operator new(std::size_t size)
{
    void* const block = std::malloc(std::max<std::size_t>(size, 1));
    if (block == nullptr) {
        throw std::bad_alloc{};
    }
    std::memset(block, 0, ::malloc_usable_size(block));
    return block;
}

void operator delete(void* block) noexcept
{
    if (block != nullptr) {
        search(block);
        std::free(block);
    }
}
void operator delete(void* block, std::size_t) noexcept
{
    operator delete(block);
}

using namespace colock;
using namespace colock::test;

namespace {

const std::string marker = "s3cr3t";
const std::string long_secret = "orders:" + marker + "-that-does-not-fit-into-a-short-string";
const std::string short_secret = "u:" + marker;
constexpr const char* short_secret_of_worker = "w:s3cr3t";
constexpr const char* long_secret_of_worker = "worker:s3cr3t-that-is-a-long-one-as-well";

std::string hexadecimal(std::string_view bytes, const char* digits)
{
    std::string text;
    for (const char each : bytes) {
        const auto c = static_cast<unsigned char>(each);
        text += {digits[c >> 4U], digits[c & 0xfU]};
    }
    return text;
}

// Without the last group, which depends on what follows.
std::string base64(std::string_view bytes)
{
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i + 3 <= bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (const char each : bytes.substr(i, 3)) {
            group = group << 8U | static_cast<unsigned char>(each);
        }
        for (const auto shift : {18U, 12U, 6U, 0U}) {
            text += digits[group >> shift & 63U];
        }
    }
    return text;
}

// In whatever form somebody might print them.
std::vector<std::string> forms_of(const std::string& secret)
{
    return {secret, hexadecimal(secret, "0123456789abcdef"),
            hexadecimal(secret, "0123456789ABCDEF"), base64(secret)};
}

struct told {
    std::vector<std::string> lines;
    diagnostics why;

    void note(client& zk)
    {
        lines.push_back(why.message());
        lines.push_back(zk.last_error_detail());
    }
    void check_without(const std::string& secret) const
    {
        for (const auto& form : forms_of(secret)) {
            for (const auto& line : lines) {
                BOOST_TEST(line.find(form) == std::string::npos, "a line has a secret: " << line);
            }
        }
    }
};

client_options with_secrets(const std::string& hosts, const std::shared_ptr<told>& all)
{
    client_options options{.hosts = hosts, .session_timeout = 4s, .tick = 500ms};
    options.credentials.push_back({"digest", long_secret});
    options.credentials.push_back({"digest", short_secret});
    options.acl = creator_acl();
    options.log = [all](log_level, std::string_view line) { all->lines.emplace_back(line); };
    options.log_threshold = log_level::debug;
    return options;
}

// A client that is busy, and fails in many ways.
struct busy_scene : lock_scene {
    busy_scene() : zk{std::make_unique<client>(io, with_secrets(proxy.connect_string(), all))} {}

    template <class T, class Initiate>
    error_code outcome_of(Initiate initiate)
    {
        outcome<T> o;
        initiate(bind_diagnostics(all->why, o.handler()));
        const auto ec = code_of(io, o);
        all->note(*zk);
        return ec;
    }
    using none = std::monostate;

    void note_password() { passwords.push_back(password_of(*zk)); }

    void work()
    {
        BOOST_TEST(!outcome_of<none>([&](auto h) { zk->async_connect(h); }));
        note_password();
        BOOST_TEST(!outcome_of<none>([&](auto h) { async_ensure_lock_root(*zk, directory, h); }));
        admin.create("/other" + directory.substr(1));
        BOOST_TEST(outcome_of<none>([&](auto h) {
                       async_ensure_lock_root(*zk, "/other" + directory.substr(1), h);
                   }) == errc::unprotected);

        // Credentials: good ones, refused ones, bad ones.
        for (const auto* secret : {short_secret_of_worker, long_secret_of_worker}) {
            BOOST_TEST(
                !outcome_of<none>([&](auto h) { zk->async_add_credentials("digest", secret, h); }));
        }
        BOOST_TEST(outcome_of<none>([&](auto h) {
                       zk->async_add_credentials("unheard of", std::string{marker}, h);
                   }) == errc::credentials_refused);
        BOOST_TEST(outcome_of<none>([&](auto h) {
                       zk->async_add_credentials("digest", std::string{marker}, h);
                   }) == errc::invalid_option);

        // Locks that are granted, waited for, refused and lost.
        const auto path = directory + "/lock";
        mutex m{*zk, path};
        outcome<unique_lock> first;
        m.async_lock(first.handler());
        auto held = value_of(io, first);
        BOOST_TEST(!outcome_of<unique_lock>([&](auto h) { m.async_try_lock_for(10ms, h); }));
        admin.create("/closed" + directory.substr(1), "", admin_session::mode::persistent,
                     {{permission_read, "world", "anyone"}});
        BOOST_TEST(outcome_of<unique_lock>([&](auto h) {
                       mutex{*zk, "/closed" + directory.substr(1)}.async_lock(h);
                   }) == zookeeper_errc::no_auth);
        proxy.cut();
        BOOST_TEST(!outcome_of<none>([&](auto h) { zk->async_sync("/", h); }));
        BOOST_TEST(!kill_session(server.connect_string(), zk->session_id(), password_of(*zk)));
        BOOST_TEST(until([&] { return held.loss_reason() == errc::session_expired; }));
        BOOST_TEST(until([&] {
            return zk->stats().sessions == 2 && zk->state() == connection_state::connected;
        }));
        held = {};
        note_password();
        bool thrown = false;
        asio::co_spawn(
            io,
            [](mutex closed) -> asio::awaitable<void> {
                co_await closed.async_with_lock(
                    [](const unique_lock&) -> asio::awaitable<void> { co_return; });
            }(mutex{*zk, "/closed" + directory.substr(1)}),
            [&](std::exception_ptr e) {
                thrown = true;
                try {
                    std::rethrow_exception(e);
                } catch (const std::exception& failure) {
                    all->lines.emplace_back(failure.what());
                }
            });
        BOOST_TEST(until([&] { return thrown; }));
        outcome<none> closed;
        zk->async_close(closed.handler());
        value_of(io, closed);
    }

    const std::shared_ptr<told> all = std::make_shared<told>();
    tcp_proxy proxy{server.connect_string()};
    std::vector<std::string> passwords;
    std::unique_ptr<client> zk;
};

} // namespace

BOOST_AUTO_TEST_SUITE(secrets)

BOOST_AUTO_TEST_CASE(none_is_in_a_line_of_the_log_or_the_words_for_a_failure)
{
    busy_scene s;
    s.work();
    BOOST_TEST(s.all->lines.size() > 20U);
    s.all->check_without(marker);
    BOOST_TEST(s.passwords.size() == 2U);
    for (const auto& each : s.passwords) {
        BOOST_TEST(each.size() == 16U);
        s.all->check_without(each);
    }
}

// Straight to the server, because the proxy has copies of all that passes. What ZooKeeper's C client copies it frees by
// free(), which is not looked at.
BOOST_AUTO_TEST_CASE(none_is_in_memory_that_the_client_frees)
{
    asio::io_context io;
    const auto all = std::make_shared<told>();
    std::optional<client> zk{std::in_place, io,
                             with_secrets(common_server().connect_string(), all)};
    const auto run_it = [&](auto initiate) {
        outcome<> o;
        initiate(o.handler());
        return code_of(io, o);
    };
    look_for(in_freed_memory[0], marker);
    BOOST_TEST(!run_it([&](auto h) { zk->async_connect(h); }));
    auto password = password_of(*zk);
    look_for(in_freed_memory[1], password);
    ::explicit_bzero(password.data(), password.size());

    for (const auto* secret :
         {short_secret_of_worker, long_secret_of_worker, short_secret_of_worker}) {
        BOOST_TEST(!run_it([&](auto h) { zk->async_add_credentials("digest", secret, h); }));
    }
    // Refused, so that the client connects anew; and bad.
    for (const auto* secret : {short_secret_of_worker, long_secret_of_worker}) {
        BOOST_TEST(run_it([&](auto h) { zk->async_add_credentials("unheard of", secret, h); }) ==
                   errc::credentials_refused);
    }
    BOOST_TEST(run_it([&](auto h) { zk->async_add_credentials("digest", "s3cr3t", h); }) ==
               errc::invalid_option);
    BOOST_TEST(!run_it([&](auto h) { zk->async_sync("/", h); }));
    BOOST_TEST(!run_it([&](auto h) { zk->async_close(h); }));
    zk.reset();
    BOOST_TEST(run_to_the_end(io));
    for (auto& each : in_freed_memory) {
        each.size = 0;
    }
    BOOST_TEST(in_freed_memory[0].found == 0U);
    BOOST_TEST(in_freed_memory[1].found == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
