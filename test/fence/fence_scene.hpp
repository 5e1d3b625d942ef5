// Programs of examples/fence that write to a store under one lock, while some of them are stopped.
#ifndef COLOCK_TEST_FENCE_SCENE_HPP
#define COLOCK_TEST_FENCE_SCENE_HPP

#include <support/admin_session.hpp>
#include <support/wait_until.hpp>
#include <support/zookeeper_server.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <integration/example_scene.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

// Ends this program: the store is not there.
[[noreturn]] inline void skip(const std::string& what)
{
    std::cout << "skipped: " << what << "; ./dev test fence installs it" << std::endl;
    std::_Exit(77);
}

// A program that writes a note. It asks for the text; most then say what the note says until now, and ask once more.
class writer : public example {
public:
    writer(const std::string& program, std::vector<std::string> arguments)
        : example{program, std::move(arguments), {.open_input = true}}
    {
    }

    // It has the lock then. Most have not looked at the store yet; the others say what is there.
    void wait_for_question()
    {
        const auto asked = line();
        BOOST_REQUIRE_MESSAGE(asked.ends_with("hat shall the note say?") ||
                                  asked.ends_with("'; what shall it say?"),
                              asked);
        if (asked.starts_with("it says ")) {
            old_ = quoted(asked);
        }
    }
    // Goes on until it may write.
    void wait_for_second_question() { old_ = quoted(line_after("instead of ")); }
    void answer(const std::string& text) { BOOST_REQUIRE(write_input(text + '\n')); }
    void expect_written()
    {
        line_after("written");
        BOOST_TEST(wait().success());
    }
    void expect_refused()
    {
        const auto why = line_after("refused: ");
        BOOST_TEST(why.find("the store refuses this token: a later holder") != std::string::npos,
                   why);
        BOOST_TEST(wait().code == 1);
    }

    // All of it.
    void writes(const std::string& text)
    {
        wait_for_question();
        answer(text);
        if (!old_) {
            wait_for_second_question();
            answer("");
        }
        expect_written();
    }

    // What the note said before.
    const std::string& old() const { return old_.value(); }

private:
    static std::string quoted(const std::string& text)
    {
        const auto begin = text.find('\'') + 1;
        return text.substr(begin, text.rfind('\'') - begin);
    }

    std::optional<std::string> old_;
};

struct fence_scene {
    fence_scene(std::string example_name, const std::string& package, std::string store = {})
        : program{std::move(example_name)}
    {
        const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
        if (!std::filesystem::exists(here / program)) {
            skip(program + " was not built, for want of " + package);
        }
        if (!store.empty()) {
            arguments.push_back(std::move(store));
        }
        arguments.push_back(server.connect_string());
    }

    writer start() const { return writer{program, arguments}; }

    // What the note says at last.
    std::string reads() const
    {
        auto last = start();
        last.writes("the end");
        return last.old();
    }

    // An operator takes the lock from whoever has it.
    void take_lock_away()
    {
        admin_session admin{server.connect_string()};
        const auto nodes = admin.children("/locks/note");
        BOOST_REQUIRE(!nodes.empty());
        const auto first = std::ranges::min_element(
            nodes, {}, [](const std::string& node) { return node.substr(node.size() - 10); });
        admin.remove("/locks/note/" + *first);
    }

    // A holder is stopped for longer than its session lasts, before it writes.
    void write_late(writer& stale)
    {
        stale.wait_for_question();
        BOOST_REQUIRE(stale.stop());
        auto next = start();
        next.writes("good news"); // when the session of the first one is over

        stale.answer("old news");
        stale.resume();
    }
    void late_write_is_refused()
    {
        auto stale = start();
        write_late(stale);
        stale.expect_refused();
        BOOST_TEST(reads() == "good news");
    }

    // It is stopped when it has presented its token and has read, and keeps nothing locked in the store.
    void write_after_reading_is_refused()
    {
        auto stale = start();
        stale.wait_for_question();
        stale.answer("old news");
        stale.wait_for_second_question();
        BOOST_REQUIRE(stale.stop());
        take_lock_away();
        start().writes("good news");

        stale.answer("");
        stale.resume();
        stale.expect_refused();
        BOOST_TEST(reads() == "good news");
    }

    // Sessions end soon.
    zookeeper_server server{{.tick_time = 500ms, .max_session_timeout = 4s}};
    const std::string program;
    std::vector<std::string> arguments;
};

// A holder is within its transaction, and the next one has been granted the lock.
struct open_transaction {
    explicit open_transaction(fence_scene& scene) : stale{scene.start()}
    {
        stale.wait_for_question();
        next.emplace(scene.program, scene.arguments);
        admin_session admin{scene.server.connect_string()};
        BOOST_REQUIRE(wait_until([&] { return admin.children("/locks/note").size() == 2; }, 30s));
        stale.answer("old news");
        stale.wait_for_second_question();
        BOOST_REQUIRE(stale.stop());
        scene.take_lock_away();
        next->wait_for_question();
        next->answer("good news");
        asked = std::chrono::steady_clock::now();
    }

    double waited() const
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
    }

    writer stale;
    std::optional<writer> next;
    std::chrono::steady_clock::time_point asked;
};

// The database ends the transaction of a holder that stays stopped.
inline void a_stopped_transaction_is_ended(fence_scene& scene, const std::string& store)
{
    scene.start().writes("first news");
    open_transaction t{scene};
    t.next->wait_for_second_question();
    std::cout << "figure: " << store << ": the next holder waited " << t.waited()
              << " s for a transaction that was stopped; at most 3 s, or it is refused by the "
                 "database"
              << std::endl;
    BOOST_TEST(t.next->old() == "first news");
    t.next->answer("");
    t.next->expect_written();

    t.stale.answer("");
    t.stale.resume();
    t.stale.line_after("failed: ");
    BOOST_TEST(t.stale.wait().code == 1);
    BOOST_TEST(scene.reads() == "good news");
}

// It goes on before that: its commit comes before the next one reads.
inline void a_transaction_that_goes_on_comes_first(fence_scene& scene)
{
    scene.start().writes("first news");
    open_transaction t{scene};
    t.stale.answer("");
    t.stale.resume();
    const auto end = t.stale.line();
    t.next->wait_for_second_question();
    // On a busy machine the database may have ended it before.
    BOOST_TEST((end == "written" || end.starts_with("failed: ")), end);
    BOOST_TEST(t.next->old() == (end == "written" ? "old news" : "first news"));
    t.next->answer("");
    t.next->expect_written();
    BOOST_TEST(scene.reads() == "good news");
}

} // namespace colock::test

#endif
