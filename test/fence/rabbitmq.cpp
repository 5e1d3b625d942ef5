// A consumer behind RabbitMQ refuses what an earlier holder sends too late. The broker itself compares nothing.
#include <support/loopback_port.hpp>
#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>

#include "../../examples/fence/amqp.hpp"
#include "store_server.hpp"

#include <csignal>
#include <filesystem>

using namespace colock::test;

namespace {

// Debian's program in PATH is for root and for the system's broker.
std::string rabbitmq_program()
{
    std::error_code none;
    for (const auto& version : std::filesystem::directory_iterator{"/usr/lib/rabbitmq/lib", none}) {
        if (auto program = version.path() / "sbin/rabbitmq-server"; exists(program)) {
            return program;
        }
    }
    skip("rabbitmq-server is missing");
}

// It shares nothing with another one: no file, no port, no registry of names (epmd).
struct rabbitmq : store_server {
    rabbitmq()
    {
        const auto& own = directory();
        const auto program = rabbitmq_program();
        const std::vector<std::string> environment{
            "env",
            "HOME=" + own, // of the cookie, too
            "ERL_EPMD_ADDRESS=127.0.0.1",
            "ERL_EPMD_PORT=" + std::to_string(registry_.number()),
            "RABBITMQ_CONF_ENV_FILE=" + own + "/none",
            "RABBITMQ_CONFIG_FILE=" + own + "/none",
            "RABBITMQ_ADVANCED_CONFIG_FILE=" + own + "/none",
            "RABBITMQ_ENABLED_PLUGINS_FILE=" + own + "/none",
            "RABBITMQ_MNESIA_BASE=" + own,
            "RABBITMQ_LOG_BASE=" + own,
            "RABBITMQ_PID_FILE=" + own + "/pid",
            "RABBITMQ_NODENAME=colock@localhost",
            "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
            "RABBITMQ_NODE_PORT=" + port(),
            "RABBITMQ_DIST_PORT=" + std::to_string(distribution_.number()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
            "RUNNING_UNDER_SYSTEMD=true"}; // the script becomes the broker
        const auto start_with = [&](const std::string& what) {
            auto command = environment;
            command.push_back(what);
            start(std::move(command), SIGTERM);
        };
        // The broker would start one that outlives it.
        start_with("epmd");
        BOOST_REQUIRE(wait_until([&] { return registry_.occupied(); }, 30s));
        start_with(program);
        BOOST_REQUIRE(wait_until([&] { return listens(); }, 120s));
    }

private:
    loopback_port registry_;
    loopback_port distribution_;
};

struct in_rabbitmq : rabbitmq {
    const temporary_directory notes;
    fence_scene scene{"fenced_rabbitmq", "librabbitmq-dev", port()};
    example consumer{"fenced_rabbitmq_consumer", {port(), notes.path() + "/note.txt"}};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fence_rabbitmq, in_rabbitmq)

BOOST_AUTO_TEST_CASE(late_messages_are_refused)
{
    scene.late_write_is_refused();
    consumer.skip_to("refused: ");
    scene.write_after_reading_is_refused();
    consumer.skip_to("refused: ");
}

BOOST_AUTO_TEST_CASE(a_message_may_come_twice)
{
    const std::string earlier = "00000000000000070000000000000001";
    const std::string later = "00000000000000070000000000000002";
    amqp::connection broker{port(), amqp::answers};
    const auto answers = [&](const amqp::message& question, const std::string& type,
                             const std::string& text) {
        const auto answer = broker.ask(question);
        BOOST_TEST(answer.type == type);
        BOOST_TEST(answer.text == text);
    };
    for (int time = 0; time != 2; ++time) {
        answers({.type = "write", .text = "good news", .token = later}, "accepted", "good news");
    }
    // Nobody waits for an answer.
    broker.send(amqp::questions, {.type = "write", .text = "old news", .token = earlier});
    consumer.skip_to("refused: a later holder than " + earlier);
    answers({.type = "write", .text = "no token"}, "refused", "good news");
    answers({.type = "read", .token = later}, "accepted", "good news");
}

BOOST_AUTO_TEST_SUITE_END()
