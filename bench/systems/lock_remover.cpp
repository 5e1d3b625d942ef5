#include "systems/lock_remover.hpp"

#include <support/subprocess.hpp>

#include "systems/coroutines.hpp"
#include "systems/peer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace bench {

namespace {

// The first line that the program prints.
std::string first_line(std::vector<std::string> command)
{
    colock::test::subprocess program{std::move(command),
                                     {.environment = {"ETCDCTL_API=3"}, .capture_output = true}};
    const auto line = program.read_line(std::chrono::seconds{5});
    program.wait();
    return line.value_or("");
}

std::string etcdctl(const std::string& hosts, std::vector<std::string> what)
{
    what.insert(what.begin(), {"etcdctl", "--endpoints=" + hosts});
    return first_line(std::move(what));
}

bool remove_etcd_key(const std::string& hosts, const std::string& path)
{
    const auto key =
        etcdctl(hosts, {"get", path, "--prefix", "--sort-by=CREATE", "--limit=1", "--keys-only"});
    return !key.empty() && etcdctl(hosts, {"del", key}) == "1";
}

bool remove_redis_key(const std::string& hosts, const std::string& path)
{
    const auto colon = hosts.find(':');
    return first_line({"redis-cli", "-h", hosts.substr(0, colon), "-p", hosts.substr(colon + 1),
                       "del", path}) == "1";
}

} // namespace

struct lock_remover::session {
    explicit session(const std::string& hosts)
        : zk{io.context(), colock::client_options{.hosts = hosts}}
    {
        zk.async_connect(asio::use_future).get();
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() { zk.async_close(asio::use_future).wait(); }

    bool remove_first_node(const std::string& path)
    {
        auto names = zk.async_children(path, asio::use_future).get().names;
        // They end in ten digits, the number of the turn.
        std::erase_if(names, [](const std::string& n) { return n.size() < 10; });
        const auto first = std::ranges::min_element(
            names, {}, [](const std::string& n) { return n.substr(n.size() - 10); });
        if (first == names.end()) {
            return false;
        }
        zk.async_remove(path + '/' + *first, asio::use_future).get();
        return true;
    }

    background io;
    colock::client zk;
};

lock_remover::lock_remover(std::function<std::string(server_kind)> hosts)
    : hosts_{std::move(hosts)}, session_{std::make_unique<session>(hosts_(server_kind::zookeeper))}
{
}

lock_remover::~lock_remover() = default;

void lock_remover::remove_holder(server_kind kind, const std::string& path)
{
    const bool removed = kind == server_kind::etcd    ? remove_etcd_key(hosts_(kind), path)
                         : kind == server_kind::redis ? remove_redis_key(hosts_(kind), path)
                                                      : session_->remove_first_node(path);
    if (!removed) {
        throw peer_failed{"there is nothing at " + path + " that could be deleted"};
    }
}

} // namespace bench
