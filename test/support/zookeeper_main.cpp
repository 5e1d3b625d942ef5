// private_zookeeper: a private server or ensemble on free loopback ports, for as long as it runs.
#include "certificates.hpp"
#include "tcp_proxy.hpp"
#include "zookeeper_server.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace colock::test;

namespace {

constexpr char const help[] = R"(private_zookeeper: a private ZooKeeper on free loopback ports

usage: private_zookeeper [options]

  -n 1|3        one server (default), or an ensemble of three
  --delay MS    put a proxy in front that adds MS milliseconds to each round trip
  --proxy       put a proxy in front also without a delay
  --tick MS     ZooKeeper's tickTime (default 2000)
  --tls DIR     speak TLS, too, at ports of its own, beside the plain ones; DIR is made, and gets the
                authority (ca.pem) and a certificate for a client (client.pem, client.key). With a
                proxy, that stands before the secure ports
  --fsync       keep the data on a disk and wait for it at each write
  --fast        let the JVM optimise (for benchmarks; starts a little slower)
  --until-eof   end at the end of the standard input, too
  --help

Prints "connect string: HOST:PORT[,...]", with TLS "secure connect string: HOST:PORT[,...]", and with
a proxy "through the proxy: HOST:PORT[,...]", then runs until SIGINT or SIGTERM. Everything is removed at the end, also the data.
With a proxy, SIGUSR1 cuts all its connections once, SIGUSR2 makes it refuse new ones, or accept
them again.
)";

struct bad_usage : std::runtime_error {
    using runtime_error::runtime_error;
};

struct arguments {
    int servers = 1;
    bool proxy = false;
    bool until_eof = false;
    bool help = false;
    std::string tls; // where its files go
    std::chrono::microseconds one_way{0};
    zookeeper_options options;
};

double number(std::string const& option, char const* text, double least, double most)
{
    char* end = nullptr;
    double const value = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most)) {
        char range[64];
        std::snprintf(range, sizeof range, " takes a number from %g to %g", least, most);
        throw bad_usage(option + range + ", not \"" + text + "\"");
    }
    return value;
}

arguments parse(int argc, char** argv)
{
    arguments parsed;
    for (int i = 1; i < argc; ++i) {
        std::string const option = argv[i];
        auto const value = [&]() -> char const* {
            if (++i == argc)
                throw bad_usage(option + " needs a value");
            return argv[i];
        };
        if (option == "-n") {
            std::string const text = value();
            if (text != "1" && text != "3")
                throw bad_usage("-n takes 1 or 3, not \"" + text + "\"");
            parsed.servers = text == "1" ? 1 : 3;
        } else if (option == "--delay") {
            auto const round_trip = number(option, value(), 0, 60'000);
            parsed.one_way = std::chrono::microseconds(std::lround(round_trip * 500));
            parsed.proxy = true;
        } else if (option == "--proxy") {
            parsed.proxy = true;
        } else if (option == "--tick") {
            auto const tick = number(option, value(), 10, 60'000);
            parsed.options.tick_time = std::chrono::milliseconds(std::lround(tick));
        } else if (option == "--tls") {
            parsed.tls = value();
            if (parsed.tls.empty())
                throw bad_usage("--tls needs a directory");
        } else if (option == "--fsync") {
            parsed.options.force_sync = true;
        } else if (option == "--fast") {
            parsed.options.optimising_jvm = true;
        } else if (option == "--until-eof") {
            parsed.until_eof = true;
        } else if (option == "--help" || option == "-h") {
            parsed.help = true;
        } else {
            throw bad_usage("there is no option \"" + option + "\"");
        }
    }
    return parsed;
}

// The servers and what stands in front of them.
class installation {
public:
    explicit installation(arguments const& wanted)
    {
        auto options = wanted.options;
        if (!wanted.tls.empty()) {
            std::filesystem::create_directories(wanted.tls);
            authority_ = std::make_shared<certificate_authority const>(
                "private_zookeeper", std::filesystem::absolute(wanted.tls));
            authority_->issue({.name = "client"});
            options.tls = authority_;
        }
        if (wanted.servers == 1)
            single_ = std::make_unique<zookeeper_server>(options);
        else
            ensemble_ = std::make_unique<zookeeper_ensemble>(options);
        if (!wanted.proxy)
            return;
        for (std::size_t i = 0; i < size(); ++i) {
            // It forwards what it does not understand, such as TLS.
            proxies_.push_back(std::make_unique<tcp_proxy>(
                authority_ ? member(i).secure_connect_string() : member(i).connect_string()));
            proxies_.back()->set_delay(wanted.one_way);
        }
    }

    void announce() const
    {
        std::printf("connect string: %s\n",
                    (single_ ? single_->connect_string() : ensemble_->connect_string()).c_str());
        if (authority_) {
            auto const& dir = authority_->directory();
            std::printf(
                "secure connect string: %s\n",
                (single_ ? single_->secure_connect_string() : ensemble_->secure_connect_string())
                    .c_str());
            std::printf("authority: %s/ca.pem\nclient: %s/client.pem, %s/client.key\n", dir.c_str(),
                        dir.c_str(), dir.c_str());
        }
        if (!proxies_.empty()) {
            std::string all;
            for (auto const& each : proxies_)
                all += (all.empty() ? "" : ",") + each->connect_string();
            std::printf("through the proxy: %s\n", all.c_str());
        }
        std::fflush(stdout);
    }

    void cut()
    {
        for (auto const& each : proxies_)
            each->cut();
    }

    void toggle_refusing()
    {
        refusing_ = !refusing_;
        for (auto const& each : proxies_)
            each->refuse(refusing_);
    }

    // A server that ended by itself; null when all run.
    zookeeper_server const* fallen()
    {
        for (std::size_t i = 0; i < size(); ++i)
            if (!member(i).running())
                return &member(i);
        return nullptr;
    }

private:
    std::size_t size() const { return single_ ? 1 : ensemble_->size(); }
    zookeeper_server& member(std::size_t i) { return single_ ? *single_ : (*ensemble_)[i]; }

    std::shared_ptr<certificate_authority const> authority_;
    std::unique_ptr<zookeeper_server> single_;
    std::unique_ptr<zookeeper_ensemble> ensemble_;
    std::vector<std::unique_ptr<tcp_proxy>> proxies_;
    bool refusing_ = false;
};

// Returns the exit code of the program.
int serve(installation& zookeeper, int signals, bool until_eof)
{
    for (;;) {
        pollfd ready[2] = {{signals, POLLIN, 0}, {until_eof ? STDIN_FILENO : -1, POLLIN, 0}};
        if (::poll(ready, 2, -1) < 0 && errno != EINTR)
            throw std::runtime_error(std::string("poll: ") + std::strerror(errno));
        if (ready[1].revents) {
            char ignored[4096];
            if (::read(STDIN_FILENO, ignored, sizeof ignored) <= 0)
                return 0;
        }
        signalfd_siginfo signal;
        if (!ready[0].revents || ::read(signals, &signal, sizeof signal) != sizeof signal)
            continue;
        switch (signal.ssi_signo) {
        case SIGUSR1: zookeeper.cut(); break;
        case SIGUSR2: zookeeper.toggle_refusing(); break;
        case SIGCHLD:
            if (auto const* fallen = zookeeper.fallen()) {
                std::fprintf(
                    stderr,
                    "private_zookeeper: the server at %s has ended; the end of its log:\n%s",
                    fallen->connect_string().c_str(), fallen->log_tail().c_str());
                return 1;
            }
            break;
        default: return 0;
        }
    }
}

} // namespace

int main(int argc, char** argv)
try {
    auto const wanted = parse(argc, argv);
    if (wanted.help) {
        std::fputs(help, stdout);
        return 0;
    }
    // Before there is any thread, so that all inherit it: signals come through the descriptor only,
    // also those that arrive while the servers start.
    sigset_t handled;
    ::sigemptyset(&handled);
    for (int each : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD})
        ::sigaddset(&handled, each);
    ::sigprocmask(SIG_BLOCK, &handled, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    int const signals = ::signalfd(-1, &handled, SFD_CLOEXEC);
    if (signals < 0)
        throw std::runtime_error(std::string("signalfd: ") + std::strerror(errno));

    installation zookeeper(wanted);
    zookeeper.announce();
    return serve(zookeeper, signals, wanted.until_eof);
} catch (bad_usage const& mistake) {
    std::fprintf(stderr, "private_zookeeper: %s; see --help\n", mistake.what());
    return 2;
} catch (std::exception const& failure) {
    std::fprintf(stderr, "private_zookeeper: %s\n", failure.what());
    return 1;
}
