// `colock run` on a terminal: what a user sees, types, stops and closes.
#include <support/admin_session.hpp>
#include <support/one_server.hpp>
#include <support/pseudo_terminal.hpp>
#include <support/tcp_proxy.hpp>
#include <support/wait_until.hpp>

#include "colock_process.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

namespace colock::test::cli_run_terminal_test {

using namespace std::chrono_literals;

namespace {

constexpr auto patience = 60s;

struct scene {
    std::string path = own_node() + "/lock";
    std::string servers = one_server::get().connect_string();
    temporary_directory files;

    std::vector<std::string> words(const std::string& line)
    {
        return {COLOCK_PROGRAM, "run", path, "--", "sh", "-c", line};
    }
    std::vector<std::string> environment() { return {"COLOCK_SERVERS=" + servers, "PS1=$ "}; }
    bool queue_has(std::size_t number)
    {
        admin_session admin{servers};
        return wait_until([&] { return queue_length(admin, path) == number; }, patience);
    }
    // Holds the lock until `release()`. It starts no process: a shell that is stopped between vfork() and exec() of one never
    // counts as stopped.
    std::string holding()
    {
        const auto pipe = files.path() + "/enough";
        ::mkfifo(pipe.c_str(), 0600);
        return "read -r line <" + pipe;
    }
    void release() { std::ofstream{files.path() + "/enough"} << "enough\n"; }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cli_run_terminal, scene, *boost::unit_test::fixture<one_server>())

BOOST_AUTO_TEST_CASE(a_wait_shows_the_place_and_the_holder_and_then_goes)
{
    colock_process holder{servers, {"run", "--name", "nightly", path, "--", "sh", "-c", holding()}};
    BOOST_REQUIRE(queue_has(1));
    colock_process second{servers, {"run", "-q", path, "--", "true"}};
    BOOST_REQUIRE(queue_has(2));
    pseudo_terminal waiter{words("echo it is my turn"), environment(), {.columns = 200}};
    BOOST_TEST(waiter.wait_for("\033[Kwaiting "), waiter.output());
    BOOST_TEST(waiter.wait_for(" s for " + path.substr(0, 20)), waiter.output());
    BOOST_TEST(waiter.wait_for("2 before this one; held by"), waiter.output());
    BOOST_TEST(waiter.wait_for("\r\033[Kwaiting "), waiter.output()); // the next second
    release();
    BOOST_TEST(waiter.wait_for("\r\033[Kit is my turn"), waiter.output());
    BOOST_TEST(waiter.wait_for_exit()->success());
    BOOST_TEST(holder.status() == 0);
    BOOST_TEST(second.status() == 0);
    BOOST_TEST(second.err() == "");
}

// The line does not go on to name a holder, of whom nobody knows then.
BOOST_AUTO_TEST_CASE(a_wait_in_an_outage_shows_that_no_server_answers)
{
    colock_process holder{servers, {"run", path, "--", "sh", "-c", holding()}};
    BOOST_REQUIRE(queue_has(1));
    tcp_proxy proxy{servers};
    pseudo_terminal waiter{
        words("true"), {"COLOCK_SERVERS=" + proxy.connect_string()}, {.columns = 200}};
    BOOST_REQUIRE(waiter.wait_for("next in the queue; held by"));
    proxy.refuse(true, refusal::close_at_once);
    proxy.cut();
    BOOST_TEST(waiter.wait_for("\r\033[K"
                               "no server answers for "),
               waiter.output());
    BOOST_TEST(waiter.wait_for("; waiting for /"), waiter.output());
    proxy.refuse(false);
    BOOST_TEST(waiter.wait_for("\r\033[Kwaiting "), waiter.output());
    release();
    BOOST_TEST(waiter.wait_for_exit()->success());
    BOOST_TEST(holder.status() == 0);
}

// A permit has its node since it was granted.
BOOST_AUTO_TEST_CASE(the_holder_of_a_permit_stands_in_no_queue)
{
    colock_process holder{servers,
                          {"run", "--permits", "1/1", path, "--", "sh", "-c",
                           "touch " + files.path() + "/runs; " + holding()}};
    BOOST_REQUIRE(wait_until([&] { return ::access((files.path() + "/runs").c_str(), F_OK) == 0; },
                             patience));
    pseudo_terminal waiter{{COLOCK_PROGRAM, "run", "--permits", "1/1", path, "--", "true"},
                           environment(),
                           {.columns = 200}};
    BOOST_TEST(waiter.wait_for("; held by "), waiter.output());
    BOOST_TEST(waiter.wait_for(", for "), waiter.output());
    BOOST_TEST(waiter.output().find("in the queue for") == std::string::npos, waiter.output());
    release();
    BOOST_TEST(waiter.wait_for_exit()->success());
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_CASE(a_narrow_terminal_shows_the_end_of_the_path)
{
    colock_process holder{servers, {"run", path, "--", "sh", "-c", holding()}};
    BOOST_REQUIRE(queue_has(1));
    pseudo_terminal waiter{words("true"), environment(), {.columns = 72}};
    BOOST_TEST(waiter.wait_for("...ath/lock: next in the queue; held by "), waiter.output());
    release();
    BOOST_TEST(holder.status() == 0);
    BOOST_TEST(waiter.wait_for_exit()->success());
}

BOOST_AUTO_TEST_CASE(the_command_reads_from_the_terminal)
{
    pseudo_terminal terminal{words("printf 'name? '; read -r name; echo hello $name"),
                             environment()};
    BOOST_REQUIRE(terminal.wait_for("name? "));
    terminal.send("world\r");
    BOOST_TEST(terminal.wait_for("hello world"), terminal.output());
    BOOST_TEST(terminal.wait_for_exit()->success());
}

BOOST_AUTO_TEST_CASE(ctrl_c_goes_to_the_command)
{
    pseudo_terminal terminal{
        words("trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.01; done"),
        environment()};
    BOOST_REQUIRE(terminal.wait_for("ready"));
    terminal.send("\x03");
    BOOST_TEST(terminal.wait_for("caught"), terminal.output());
    const auto ended = terminal.wait_for_exit();
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST(ended->code == 5);
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_CASE(ctrl_c_ends_a_wait)
{
    colock_process holder{servers, {"run", path, "--", "sh", "-c", holding()}};
    BOOST_REQUIRE(queue_has(1));
    pseudo_terminal waiter{words("true"), environment()};
    BOOST_REQUIRE(queue_has(2));
    waiter.send("\x03");
    const auto ended = waiter.wait_for_exit();
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST(ended->signal == SIGINT);
    BOOST_TEST(queue_has(1));
    release();
    BOOST_TEST(holder.status() == 0);
}

// A loop of a shell ends, as it does without colock.
BOOST_AUTO_TEST_CASE(ctrl_c_ends_the_loop_of_a_script)
{
    pseudo_terminal shell{
        {"bash", "-c",
         "for i in 1 2 3; do " COLOCK_PROGRAM " run " + path +
             " -- sh -c 'echo turn'\" $i\"'; exec sleep 1000'; done; echo not here"},
        environment()};
    BOOST_REQUIRE(shell.wait_for("turn 1"));
    shell.send("\x03");
    const auto ended = shell.wait_for_exit();
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST(!ended->success());
    BOOST_TEST(shell.output().find("turn 2") == std::string::npos);
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_CASE(ctrl_c_in_a_wait_ends_the_loop_of_a_script)
{
    colock_process holder{servers, {"run", path, "--", "sh", "-c", "trap '' TERM; " + holding()}};
    BOOST_REQUIRE(queue_has(1));
    const auto interrupted = [&](const std::string& what, auto waits) {
        pseudo_terminal shell{{"bash", "-c",
                               "for i in 1 2 3; do echo turn $i; " COLOCK_PROGRAM " " + what +
                                   "; done; echo not here"},
                              environment()};
        BOOST_REQUIRE(waits(shell));
        shell.send("\x03");
        const auto ended = shell.wait_for_exit();
        BOOST_REQUIRE(ended.has_value());
        BOOST_TEST(!ended->success());
        BOOST_TEST(shell.output().find("turn 2") == std::string::npos, shell.output());
    };
    interrupted("run " + path + " -- true", [&](auto&) { return queue_has(2); });
    interrupted("revoke --wait 1h " + path, [](auto& shell) { return shell.wait_for("asked "); });
    release();
    BOOST_TEST(holder.status() == 0);
}

// Where nothing can name the group of the script, a command that was given the terminal could not give it back.
BOOST_AUTO_TEST_CASE(a_pid_namespace_in_a_script_needs_another_input)
{
    const std::string apart = "unshare --map-root-user --pid --fork --kill-child --mount-proc ";
    subprocess possible{{"sh", "-c", apart + "true"}};
    if (!possible.wait().success()) {
        BOOST_TEST_MESSAGE("no PID namespaces here");
        return;
    }
    pseudo_terminal script{{"sh", "-c",
                            apart + COLOCK_PROGRAM " run " + path +
                                " -- echo done </dev/null; read -r x; echo got $x"},
                           environment()};
    BOOST_REQUIRE(script.wait_for("done"));
    BOOST_REQUIRE(queue_has(0));
    script.send("more\r");
    BOOST_TEST(script.wait_for("got more"), script.output());
    BOOST_TEST(script.wait_for_exit()->success());
}

// Whoever types it while the command is being ended wants no other one.
BOOST_AUTO_TEST_CASE(ctrl_c_during_a_loss_is_no_retry)
{
    tcp_proxy proxy{servers};
    pseudo_terminal terminal{{COLOCK_PROGRAM, "run", "--servers", proxy.connect_string(), "--retry",
                              "1", "--release-timeout", "1s", path, "--", "sh", "-c",
                              "trap 'echo told' TERM; echo begun; while :; do sleep 0.01; done"},
                             environment()};
    BOOST_REQUIRE(terminal.wait_for("begun"));
    proxy.stall(true);
    BOOST_REQUIRE(terminal.wait_for("told"));
    terminal.send("\x03");
    BOOST_TEST(terminal.wait_for("do not rely on what it did"), terminal.output());
    const auto ended = terminal.wait_for_exit();
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST(ended->signal == SIGINT); // as the command
    BOOST_TEST(terminal.output().find("retry 1") == std::string::npos, terminal.output());
}

// Such as a program that asks whether it shall save its work first: only a signal ends a loop of a shell, without colock, too.
BOOST_AUTO_TEST_CASE(a_number_is_no_signal)
{
    pseudo_terminal shell{{"bash", "-c",
                           "for i in 130 131; do " COLOCK_PROGRAM " run " + path +
                               " -- sh -c \"exit $i\"; echo status $?; done"},
                          environment()};
    BOOST_TEST(shell.wait_for("status 130"), shell.output());
    BOOST_TEST(shell.wait_for("status 131"), shell.output());
    const auto ended = shell.wait_for_exit();
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST(ended->success());
}

BOOST_AUTO_TEST_CASE(a_shell_can_stop_it_and_go_on)
{
    pseudo_terminal shell{{"bash", "--norc", "-i"}, environment()};
    BOOST_REQUIRE(shell.wait_for("$ "));
    shell.send(COLOCK_PROGRAM " run " + path +
               " -- sh -c 'echo be''gun; read -r x; echo got $x'\r");
    BOOST_REQUIRE(shell.wait_for("begun"));
    shell.send("\x1a");
    BOOST_TEST(shell.wait_for("unless it goes on within"), shell.output());
    BOOST_TEST(shell.wait_for("Stopped"), shell.output());
    BOOST_TEST(shell.wait_for("$ "));
    shell.send("fg\r");
    BOOST_TEST(shell.wait_for("got $x'"), shell.output()); // the shell says what goes on
    shell.send("more\r");
    BOOST_TEST(shell.wait_for("got more"), shell.output());
    shell.send("echo status $?\r");
    BOOST_TEST(shell.wait_for("status 0"), shell.output());
    BOOST_TEST(queue_has(0));
}

// The shell has the terminal then: one from which it was taken would end.
BOOST_AUTO_TEST_CASE(a_job_in_the_background_does_not_take_the_terminal)
{
    pseudo_terminal shell{{"bash", "--norc", "-i"}, environment()};
    BOOST_REQUIRE(shell.wait_for("$ "));
    shell.send(COLOCK_PROGRAM " run " + path + " -- sh -c 'echo be''gun; " + holding() + "'\r");
    BOOST_REQUIRE(shell.wait_for("begun"));
    shell.send("\x1a");
    BOOST_REQUIRE(shell.wait_for("Stopped"));
    // One that waits for the first one.
    shell.send(COLOCK_PROGRAM " run " + path + " -- sh -c 'echo se''cond'\r");
    BOOST_REQUIRE(queue_has(2));
    BOOST_REQUIRE(shell.wait_for("\033[Kwaiting "));
    shell.send("\x1a");
    BOOST_REQUIRE(shell.wait_for("Stopped"));
    shell.send("bg 1; bg 2\r");
    release();
    BOOST_TEST(shell.wait_for("second"), shell.output());
    shell.send("wait; echo al''ive\r");
    BOOST_TEST(shell.wait_for("alive"), shell.output());
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_CASE(a_wait_in_the_background_is_not_drawn)
{
    colock_process holder{servers, {"run", path, "--", "sh", "-c", holding()}};
    BOOST_REQUIRE(queue_has(1));
    pseudo_terminal shell{{"bash", "--norc", "-i"}, environment()};
    BOOST_REQUIRE(shell.wait_for("$ "));
    shell.send(COLOCK_PROGRAM " run --events " + files.path() + "/events " + path +
               " -- sh -c 'echo se''cond' &\r");
    BOOST_REQUIRE(wait_until(
        [&] {
            return file_text(files.path() + "/events").find("\"position\":1") != std::string::npos;
        },
        patience)); // it has looked
    release();
    BOOST_TEST(shell.wait_for("second"), shell.output());
    BOOST_TEST(shell.output().find("\033[Kwaiting ") == std::string::npos, shell.output());
    BOOST_TEST(holder.status() == 0);
}

// A supervisor that is stopped would lose the lock, and could not act on a loss.
BOOST_AUTO_TEST_CASE(a_job_in_the_background_is_not_stopped_for_what_it_says)
{
    pseudo_terminal shell{{"bash", "--norc", "-i"}, environment()};
    BOOST_REQUIRE(shell.wait_for("$ "));
    shell.send("stty tostop; " COLOCK_PROGRAM " run " + path + " -- sh -c 'touch " + files.path() +
               "/runs; " + holding() + "' &\r");
    BOOST_REQUIRE(wait_until([&] { return ::access((files.path() + "/runs").c_str(), F_OK) == 0; },
                             patience));
    BOOST_TEST(run_colock(servers, {"break", "--yes", path}).status == 0);
    BOOST_TEST(shell.wait_for("do not rely on what it did"), shell.output());
    shell.send("wait %1; echo status $?\r");
    BOOST_TEST(shell.wait_for("status 120"), shell.output());
}

BOOST_AUTO_TEST_CASE(a_job_of_the_background_gets_the_terminal_by_fg)
{
    pseudo_terminal shell{{"bash", "--norc", "-i"}, environment()};
    BOOST_REQUIRE(shell.wait_for("$ "));
    shell.send(COLOCK_PROGRAM " run " + path +
               " -- sh -c 'echo be''gun; read -r x; echo got $x' &\r");
    BOOST_REQUIRE(shell.wait_for("begun"));
    // A shell that does not know yet that the job has stopped does not continue it, whatever the job is.
    shell.send("until [ -n \"$(jobs -s)\" ]; do sleep 0.01; done; fg\r");
    BOOST_REQUIRE(shell.wait_for("got $x'")); // the shell says what goes on
    shell.send("more\r");
    BOOST_TEST(shell.wait_for("got more"), shell.output());
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_CASE(a_pipeline_shares_the_terminal)
{
    pseudo_terminal shell{{"bash", "--norc", "-i"}, environment()};
    BOOST_REQUIRE(shell.wait_for("$ "));
    const std::string run = COLOCK_PROGRAM " run " + path + " -- sh -c ";
    shell.send(run + "'echo be''gun' | sh -c 'cat; read -r x </dev/tty; echo pager got $x'\r");
    BOOST_REQUIRE(shell.wait_for("begun"));
    shell.send("a\r");
    BOOST_TEST(shell.wait_for("pager got a"), shell.output());
    shell.send(run + "'echo be''gun; read -r x; echo reader got $x' | cat\r");
    BOOST_REQUIRE(shell.wait_for("begun"));
    shell.send("b\r");
    BOOST_TEST(shell.wait_for("reader got b"), shell.output());
    shell.send("echo in | " + run +
               "'cat; echo be''gun; read -r x </dev/tty; echo asker got $x'\r");
    BOOST_REQUIRE(shell.wait_for("begun"));
    shell.send("c\r");
    BOOST_TEST(shell.wait_for("asker got c"), shell.output());
}

BOOST_AUTO_TEST_CASE(ctrl_z_stops_a_script_with_it)
{
    std::ofstream{files.path() + "/script"}
        << COLOCK_PROGRAM " run " + path + " -- sh -c 'echo begun; read -r x; echo got $x'\n";
    pseudo_terminal shell{{"bash", "--norc", "-i"}, environment()};
    BOOST_REQUIRE(shell.wait_for("$ "));
    shell.send("sh " + files.path() + "/script\r");
    BOOST_REQUIRE(shell.wait_for("begun"));
    shell.send("\x1a");
    BOOST_REQUIRE(shell.wait_for("Stopped"));
    BOOST_REQUIRE(shell.wait_for("$ "));
    shell.send("fg\r");
    BOOST_REQUIRE(shell.wait_for("/script")); // the shell says what goes on
    shell.send("more\r");
    BOOST_TEST(shell.wait_for("got more"), shell.output());
}

// A wait after a loss is a wait like the first one.
BOOST_AUTO_TEST_CASE(ctrl_z_stops_a_wait_behind_a_retry)
{
    pseudo_terminal shell{{"bash", "--norc", "-i"}, environment()};
    BOOST_REQUIRE(shell.wait_for("$ "));
    shell.send(COLOCK_PROGRAM " run --retry 1 " + path + " -- sh -c 'echo te''rm; " + holding() +
               "'\r");
    BOOST_REQUIRE(shell.wait_for("term"));
    colock_process second{servers, {"run", path, "--", "sh", "-c", holding()}};
    BOOST_REQUIRE(queue_has(2));
    BOOST_TEST(run_colock(servers, {"break", "--yes", path}).status == 0);
    BOOST_REQUIRE(shell.wait_for("\033[Kwaiting "));
    shell.send("\x1a");
    BOOST_TEST(shell.wait_for("Stopped"), shell.output());
    shell.send("fg\r");
    release();
    BOOST_TEST(second.status() == 0);
    BOOST_TEST(shell.wait_for("term"), shell.output());
    release();
    BOOST_TEST(queue_has(0));
}

// As below `ssh -t`: the kernel would not stop the command either.
BOOST_AUTO_TEST_CASE(ctrl_z_stops_nothing_that_no_shell_could_continue)
{
    pseudo_terminal terminal{words("echo begun; read -r x; echo got $x"), environment()};
    BOOST_REQUIRE(terminal.wait_for("begun"));
    terminal.send("\x1a");
    BOOST_REQUIRE(terminal.wait_for("colock run: stopped"));
    terminal.send("more\r");
    BOOST_TEST(terminal.wait_for("got more"), terminal.output());
    BOOST_TEST(terminal.wait_for_exit()->success());
}

// Ctrl-S stops what is shown, and nothing else: not the heartbeats of the session, nor the command, nor the end.
BOOST_AUTO_TEST_CASE(a_stopped_terminal_delays_nothing)
{
    colock_process holder{servers, {"run", path, "--", "sh", "-c", holding()}};
    BOOST_REQUIRE(queue_has(1));
    const auto run = [&](const std::string& mark) {
        return "exec " COLOCK_PROGRAM " run --session-timeout 4s --tick 500ms --grace 100ms " +
               path + " -- sh -c 'echo " + mark + " >>" + files.path() + "/have_run'";
    };
    pseudo_terminal stopped{{"sh", "-c", "stty ixon; echo ready; read -r x; " + run("stopped")},
                            environment()};
    BOOST_REQUIRE(stopped.wait_for("ready"));
    stopped.send("\x13\r");
    BOOST_REQUIRE(queue_has(2));
    // Another waiter with such a session, which sends no heartbeats from the moment at which both show that they wait.
    pseudo_terminal other{{"sh", "-c", run("other")}, environment()};
    BOOST_REQUIRE(queue_has(3));
    BOOST_REQUIRE(other.wait_for("\033[Kwaiting "));
    other.send_signal(SIGSTOP);
    BOOST_TEST(queue_has(2)); // its session has ended
    other.send_signal(SIGCONT);
    BOOST_TEST(other.wait_for("new place"), other.output());
    release();
    BOOST_TEST(holder.status() == 0);
    const auto ended = stopped.wait_for_exit();
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST(ended->success());
    BOOST_TEST(other.wait_for_exit()->success());
    BOOST_TEST(file_text(files.path() + "/have_run") == "stopped\nother\n");
}

BOOST_AUTO_TEST_CASE(a_killed_command_leaves_the_terminal_as_it_was)
{
    pseudo_terminal terminal{{"sh", "-c",
                              COLOCK_PROGRAM " run " + path +
                                  " -- sh -c 'stty raw -echo; kill -9 $$'; echo en''ded; cat"},
                             environment()};
    BOOST_REQUIRE(terminal.wait_for("ended"));
    BOOST_TEST(terminal.is_in_line_mode());
    terminal.send("\x04");
    BOOST_TEST(terminal.wait_for_exit().has_value());
}

BOOST_AUTO_TEST_CASE(a_terminal_that_goes_away_leaves_nothing)
{
    pseudo_terminal terminal{words("echo $$ >" + files.path() + "/pid; exec sleep 1000"),
                             environment()};
    BOOST_REQUIRE(wait_until([&] { return !file_text(files.path() + "/pid").empty(); }, patience));
    terminal.hang_up();
    const auto ended = terminal.wait_for_exit();
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST(ended->code == 128 + SIGHUP);
    const auto pid = static_cast<pid_t>(std::stol(file_text(files.path() + "/pid")));
    BOOST_TEST(wait_until([&] { return ::kill(pid, 0) != 0; }, patience));
    BOOST_TEST(queue_has(0));
}

BOOST_AUTO_TEST_CASE(a_terminal_that_goes_away_ends_a_wait)
{
    colock_process holder{servers, {"run", path, "--", "sh", "-c", holding()}};
    BOOST_REQUIRE(queue_has(1));
    pseudo_terminal waiter{words("true"), environment()};
    BOOST_REQUIRE(queue_has(2));
    waiter.hang_up();
    BOOST_TEST(waiter.wait_for_exit().has_value());
    BOOST_TEST(queue_has(1));
    release();
    BOOST_TEST(holder.status() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::cli_run_terminal_test
