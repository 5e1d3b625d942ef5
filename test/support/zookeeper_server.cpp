#include "zookeeper_server.hpp"

#include "blocking_socket.hpp"
#include "certificates.hpp"
#include "loopback_port.hpp"
#include "subprocess.hpp"
#include "temporary_directory.hpp"
#include "tls_question.hpp"
#include "wait_until.hpp"
#include "zookeeper_membership.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace colock::test {

using namespace std::chrono_literals;

namespace {

std::string class_path(bool netty)
{
    if (char const* const chosen = std::getenv("COLOCK_TEST_ZOOKEEPER_CLASSPATH"))
        return chosen;
    // Debian's jar names those that it needs in its manifest; slf4j-simple is for the log.
    std::string const jar = "/usr/share/java/zookeeper.jar";
    if (::access(jar.c_str(), R_OK) != 0)
        throw std::runtime_error("zookeeper_server: there is no " + jar +
                                 "; install libzookeeper-java, or set "
                                 "COLOCK_TEST_ZOOKEEPER_CLASSPATH");
    auto path = jar + ":/usr/share/java/slf4j-simple.jar";
    if (!netty)
        return path;
    // Its manifest leaves out what Netty needs of itself.
    for (std::string const each : {"codec", "resolver", "transport-native-unix-common"}) {
        path += ":/usr/share/java/netty-" + each + ".jar";
        if (::access(path.c_str() + path.rfind(':') + 1, R_OK) != 0)
            throw std::runtime_error("zookeeper_server: Netty is missing; install libnetty-java");
    }
    return path;
}

std::string java()
{
    char const* const home = std::getenv("JAVA_HOME");
    auto const found = find_program(home && *home ? std::string(home) + "/bin/java" : "java");
    if (found.empty())
        throw std::runtime_error("zookeeper_server: there is no java" +
                                 std::string(home && *home ? " in JAVA_HOME" : "") +
                                 "; install default-jre-headless");
    return found;
}

std::vector<std::string> command_line(zookeeper_options const& options,
                                      std::string const& directory)
{
    std::vector<std::string> line{java(), "-Xshare:auto", "-XX:+UseSerialGC",
                                  // Its file in /tmp would stay behind when the server is killed.
                                  "-XX:-UsePerfData", "-Djava.io.tmpdir=" + directory,
                                  "-XX:ErrorFile=" + directory + "/crash.log",
                                  "-Djava.net.preferIPv4Stack=true"};
    if (options.optimising_jvm)
        line.insert(line.end(), {"-Xms256m", "-Xmx1g"});
    else
        line.insert(line.end(), {"-Xmx256m", "-XX:TieredStopAtLevel=1"});
    auto const log = std::string("-Dorg.slf4j.simpleLogger.");
    line.insert(line.end(), {log + "showDateTime=true", log + "dateTimeFormat=HH:mm:ss.SSS",
                             log + "showShortLogName=true",
                             // One line for each connection and administrative command.
                             log + "log.org.apache.zookeeper.server.NIOServerCnxn=warn",
                             log + "log.org.apache.zookeeper.server.NettyServerCnxn=warn"});
    line.push_back(std::string("-Dzookeeper.forceSync=") + (options.force_sync ? "yes" : "no"));
    if (options.container_check_interval)
        line.push_back("-Dznode.container.checkIntervalMs=" +
                       number(*options.container_check_interval));
    if (options.extended_types)
        line.push_back("-Dzookeeper.extendedTypesEnabled=true");
    if (options.snap_count)
        line.push_back("-Dzookeeper.snapCount=" + std::to_string(*options.snap_count));
    bool const netty = options.netty || options.tls;
    if (netty)
        line.push_back("-Dzookeeper.serverCnxnFactory="
                       "org.apache.zookeeper.server.NettyServerCnxnFactory");
    // See zookeeper_classes.cpp. Where it does not fit the machine, that does without.
    auto const classes = std::string(COLOCK_TEST_CLASSES) + (netty ? "/netty.jsa" : "/nio.jsa");
    if (::access(classes.c_str(), R_OK) == 0)
        line.push_back("-XX:SharedArchiveFile=" + classes);
    line.insert(line.end(), options.jvm_flags.begin(), options.jvm_flags.end());
    line.insert(line.end(),
                {"-cp", class_path(netty), "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                 directory + "/zoo.cfg"});
    return line;
}

std::vector<std::string> lines_of(std::string const& text)
{
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        if (!line.empty() && line.back() == '\r')
            line.pop_back();
        lines.push_back(std::move(line));
    }
    return lines;
}

// "0x1000..." to a session id; 0 when it is none.
std::int64_t session_id(std::string const& text)
{
    auto const begin = text.find("0x");
    if (begin == text.npos)
        return 0;
    return static_cast<std::int64_t>(std::strtoull(text.c_str() + begin, nullptr, 16));
}

// Whether the line is nothing but a session id, as in dump: "0x1000..." or, from the leader's
// tracker, "0x1000...\t30000ms".
bool starts_with_session(std::string const& line)
{
    auto const begin = line.find_first_not_of(" \t");
    return begin != line.npos && line.compare(begin, 2, "0x") == 0;
}

std::int64_t field(std::map<std::string, std::string> const& values, std::string const& name)
{
    auto const found = values.find(name);
    if (found == values.end())
        throw std::runtime_error("zookeeper_server: mntr does not tell " + name);
    return std::stoll(found->second);
}

} // namespace

struct zookeeper_server::impl {
    impl(zookeeper_options chosen, storage where) : options(std::move(chosen)), directory(where) {}

    zookeeper_options options;
    temporary_directory directory;
    std::optional<loopback_port> own_port, own_secure_port; // a member's belong to the ensemble
    std::uint16_t port = 0;
    std::uint16_t secure_port = 0;
    server_place place;
    std::unique_ptr<tls_questioner> over_tls;
    std::unique_ptr<subprocess> process;
    std::atomic<bool> stopped{false};

    // The server counts each four-letter word as a packet; see packets_received().
    std::atomic<std::int64_t> words_sent{0};

    host_and_port address() const { return {place.client_host, port}; }
    host_and_port secure_address() const { return {place.client_host, secure_port}; }

    // A four-letter word, at the secure port.
    std::string ask_over_tls(std::string_view word, std::chrono::milliseconds timeout)
    {
        auto answer = over_tls->ask(secure_address(), word, after(timeout));
        ++words_sent;
        return answer;
    }

    void configure(membership const* ensemble)
    {
        auto const tick = options.tick_time;
        auto const ticks = [tick](std::chrono::milliseconds least) {
            return static_cast<int>((least + tick - 1ms) / tick);
        };
        std::ostringstream config;
        config << "dataDir=" << directory.path() << "\n"
               << "clientPort=" << port << "\n"
               << "clientPortAddress=" << place.client_host << "\n"
               << "tickTime=" << tick.count() << "\n"
               << "admin.enableServer=false\n"
               << "4lw.commands.whitelist=*\n"
               << "maxClientCnxns=0\n";
        if (options.min_session_timeout)
            config << "minSessionTimeout=" << options.min_session_timeout->count() << "\n";
        if (options.max_session_timeout)
            config << "maxSessionTimeout=" << options.max_session_timeout->count() << "\n";
        if (ensemble) {
            config << "initLimit=" << std::max(10, ticks(20s)) << "\n"
                   << "syncLimit=" << options.sync_limit.value_or(std::max(5, ticks(3s))) << "\n";
            for (std::size_t each = 1; each <= ensemble->members.size(); ++each)
                if (!ensemble->gone.contains(each))
                    config << ensemble->line(each) << "\n";
            write_file(directory.path() + "/myid", std::to_string(ensemble->number) + "\n");
        }
        if (options.tls) {
            auto const own = options.tls_certificate
                                 ? *options.tls_certificate
                                 : issue_to_server(*options.tls, {}, {place.client_host});
            over_tls = std::make_unique<tls_questioner>(*options.tls);
            config << "secureClientPort=" << secure_port << "\n"
                   << "secureClientPortAddress=" << place.client_host << "\n"
                   << "ssl.keyStore.location=" << own.with_key << "\n"
                   << "ssl.trustStore.location=" << options.tls->certificate_file() << "\n"
                   << "ssl.clientAuth=need\n";
        }
        for (auto const& line : options.config_lines)
            config << line << "\n";
        write_file(directory.path() + "/zoo.cfg", config.str());
    }
};

zookeeper_server::zookeeper_server(zookeeper_options options)
    : impl_(std::make_unique<impl>(std::move(options),
                                   options.force_sync ? storage::disk : storage::memory))
{
    for (int attempt = 1;; ++attempt) {
        impl_->own_port.emplace();
        impl_->port = impl_->own_port->number();
        impl_->own_secure_port.emplace();
        impl_->secure_port = impl_->own_secure_port->number();
        impl_->configure(nullptr);
        try {
            start();
            return;
        } catch (std::exception const&) {
            kill();
            // The server does not tell in its exit code that a stranger took its port meanwhile.
            if (attempt == start_attempts ||
                !(impl_->own_port->occupied() || impl_->own_secure_port->occupied()))
                throw;
        }
    }
}

zookeeper_server::zookeeper_server(zookeeper_options options, membership const& place)
    : impl_(std::make_unique<impl>(std::move(options),
                                   options.force_sync ? storage::disk : storage::memory))
{
    impl_->port = place.members[place.number - 1].client.number();
    impl_->secure_port = place.members[place.number - 1].secure.number();
    impl_->place = place.places[place.number - 1];
    impl_->configure(&place);
}

zookeeper_server::~zookeeper_server() = default;

std::uint16_t zookeeper_server::port() const
{
    return impl_->port;
}

std::string zookeeper_server::connect_string() const
{
    return impl_->address().text();
}

std::uint16_t zookeeper_server::secure_port() const
{
    return impl_->secure_port;
}

std::string zookeeper_server::secure_connect_string() const
{
    return impl_->secure_address().text();
}

std::string const& zookeeper_server::directory() const
{
    return impl_->directory.path();
}

pid_t zookeeper_server::pid() const
{
    return running() ? impl_->process->pid() : -1;
}

bool zookeeper_server::running() const
{
    return impl_->process && impl_->process->running();
}

void zookeeper_server::start()
{
    launch();
    wait_until_serving();
}

void zookeeper_server::launch()
{
    if (running())
        throw std::runtime_error("zookeeper_server: it runs already");
    subprocess_options how;
    how.output_file = directory() + "/server.log";
    how.working_directory = directory();
    impl_->words_sent = 0;
    impl_->stopped = false;
    auto line = impl_->place.launcher;
    auto const server = command_line(impl_->options, directory());
    line.insert(line.end(), server.begin(), server.end());
    impl_->process = std::make_unique<subprocess>(std::move(line), how);
}

void zookeeper_server::wait_until_serving()
{
    auto const timeout = impl_->options.start_timeout;
    bool ended = false;
    // A question asked at the wrong moment of the start is never answered (the server runs into a
    // null pointer and forgets the connection): ask again soon, but not so soon that a slow machine
    // is never heard.
    auto patience = 50ms;
    auto const settled = [&] {
        auto const asked = std::chrono::steady_clock::now();
        if (serving(patience) && serving_over_tls(patience))
            return true;
        if (std::chrono::steady_clock::now() - asked >= patience)
            patience = std::min(2 * patience, 2000ms);
        return ended = !running();
    };
    bool const done = wait_until(settled, timeout);
    if (ended)
        throw std::runtime_error("zookeeper_server: the server at " + connect_string() +
                                 " ended while it was starting; the end of its log:\n" +
                                 log_tail());
    if (!done)
        throw std::runtime_error("zookeeper_server: the server at " + connect_string() +
                                 " does not serve after " + number(timeout) +
                                 " ms; the end of its log:\n" + log_tail());
}

void zookeeper_server::kill()
{
    if (impl_->process)
        impl_->process->kill();
}

void zookeeper_server::shutdown()
{
    if (!impl_->process)
        return;
    impl_->process->send_signal(SIGTERM);
    impl_->process->resume(); // a stopped process would not see the other signal
    if (!impl_->process->wait_for(5s))
        kill();
}

void zookeeper_server::restart()
{
    kill();
    start();
}

void zookeeper_server::stop_process()
{
    if (!impl_->process || !impl_->process->stop())
        throw std::runtime_error("zookeeper_server: there is no process to stop");
    impl_->stopped = true;
}

void zookeeper_server::continue_process()
{
    if (!running())
        throw std::runtime_error("zookeeper_server: there is no process to continue");
    impl_->stopped = false;
    impl_->process->resume();
}

bool zookeeper_server::stopped() const
{
    return impl_->stopped && running();
}

bool zookeeper_server::serving(std::chrono::milliseconds timeout) const
{
    return !mode(timeout).empty();
}

// The secure port is opened later than the plain one. And the first client there waits for long, until
// the server has loaded what it needs for TLS; so this is the first.
bool zookeeper_server::serving_over_tls(std::chrono::milliseconds timeout) const
{
    if (!impl_->options.tls)
        return true;
    try {
        // A question that is given up may have been counted.
        return impl_->ask_over_tls("srvr", std::max(timeout, 2000ms)).find("Mode: ") !=
               std::string::npos;
    } catch (std::runtime_error const&) {
        return false;
    }
}

std::string zookeeper_server::mode(std::chrono::milliseconds timeout) const
{
    if (!running() || stopped())
        return {};
    std::string answer;
    try {
        answer = four_letter_word("srvr", timeout);
    } catch (std::runtime_error const&) {
        return {};
    }
    std::string const label = "Mode: ";
    for (auto const& line : lines_of(answer))
        if (line.rfind(label, 0) == 0)
            return line.substr(label.size());
    return {};
}

std::string zookeeper_server::four_letter_word(std::string_view word,
                                               std::chrono::milliseconds timeout) const
{
    auto const until = after(timeout);
    blocking_socket socket(impl_->address(), until);
    ++impl_->words_sent;
    socket.send(word, until);
    return socket.receive_all(until);
}

std::map<std::string, std::string> zookeeper_server::mntr() const
{
    std::map<std::string, std::string> values;
    auto const answer = four_letter_word("mntr");
    for (auto const& line : lines_of(answer))
        if (auto const tab = line.find('\t'); tab != line.npos)
            values[line.substr(0, tab)] = line.substr(tab + 1);
    if (values.empty())
        throw std::runtime_error("zookeeper_server: mntr: " + answer);
    return values;
}

std::int64_t zookeeper_server::packets_received() const
{
    return field(mntr(), "zk_packets_received") - impl_->words_sent;
}

std::int64_t zookeeper_server::watch_count() const
{
    return field(mntr(), "zk_watch_count");
}

std::int64_t zookeeper_server::node_count() const
{
    return field(mntr(), "zk_znode_count");
}

std::map<std::string, std::set<std::int64_t>> zookeeper_server::watches() const
{
    // A path, then its watchers, one on each indented line.
    std::map<std::string, std::set<std::int64_t>> found;
    std::set<std::int64_t>* watchers = nullptr;
    for (auto const& line : lines_of(four_letter_word("wchp"))) {
        if (line.rfind('/', 0) == 0)
            watchers = &found[line];
        else if (watchers && starts_with_session(line))
            watchers->insert(session_id(line));
    }
    return found;
}

std::vector<server_connection> zookeeper_server::connections() const
{
    // " /127.0.0.1:41234[1](queued=0,recved=3,sent=3,sid=0x1...,lop=PING,...,to=30000,...)"
    // Each port tells of its own ones.
    auto all = four_letter_word("cons");
    if (impl_->options.tls)
        all += impl_->ask_over_tls("cons", 10s);
    std::vector<server_connection> found;
    for (auto const& line : lines_of(all)) {
        auto const slash = line.find('/');
        auto const bracket = line.find('[');
        auto const open = line.find('(');
        auto const close = line.rfind(')');
        if (slash == line.npos || bracket == line.npos || open == line.npos || close == line.npos)
            continue;
        server_connection one;
        one.address = line.substr(slash + 1, bracket - slash - 1);
        std::istringstream fields(line.substr(open + 1, close - open - 1));
        for (std::string item; std::getline(fields, item, ',');) {
            auto const equals = std::min(item.find('='), item.size() - 1);
            auto const name = item.substr(0, equals);
            auto const value = item.substr(equals + 1);
            if (name == "sid")
                one.session = session_id(value);
            else if (name == "to")
                one.timeout = std::chrono::milliseconds(std::stoll(value));
            else if (name == "queued")
                one.queued = std::stoll(value);
            else if (name == "recved")
                one.received = std::stoll(value);
            else if (name == "sent")
                one.sent = std::stoll(value);
            else if (name == "lop")
                one.last_operation = value;
        }
        if (one.session)
            found.push_back(std::move(one));
    }
    return found;
}

std::set<std::int64_t> zookeeper_server::sessions() const
{
    // The trackers' lists come first; behind this heading the same ids stand as owners.
    std::set<std::int64_t> found;
    for (auto const& line : lines_of(four_letter_word("dump"))) {
        if (line.find("ephemeral nodes dump") != line.npos)
            break;
        if (starts_with_session(line))
            found.insert(session_id(line));
    }
    return found;
}

std::map<std::int64_t, std::set<std::string>> zookeeper_server::ephemerals() const
{
    std::map<std::int64_t, std::set<std::string>> found;
    bool inside = false;
    std::set<std::string>* paths = nullptr;
    for (auto const& line : lines_of(four_letter_word("dump"))) {
        if (line.find("ephemeral nodes dump") != line.npos) {
            inside = true;
        } else if (line.find("Connections dump") != line.npos) {
            break;
        } else if (inside && starts_with_session(line)) {
            paths = &found[session_id(line)];
        } else if (auto const slash = line.find('/'); paths && slash != line.npos) {
            paths->insert(line.substr(slash));
        }
    }
    return found;
}

std::string zookeeper_server::log_tail(std::size_t lines) const
{
    std::ifstream file(directory() + "/server.log");
    std::deque<std::string> last;
    for (std::string line; std::getline(file, line);) {
        last.push_back(std::move(line));
        if (last.size() > lines)
            last.pop_front();
    }
    std::string text;
    for (auto const& line : last)
        text += line + "\n";
    return text.empty() ? "(the log is empty)\n" : text;
}

} // namespace colock::test
