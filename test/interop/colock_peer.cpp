// A process of colock's that speaks the language of peers/README.md, so that a test can put processes of both
// kinds into one queue and tell them the same.
//
//   colock_peer LAYOUT HOSTS SESSION_TIMEOUT_MS
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

colock::layout layout_of(const std::string& name)
{
    if (name == "curator") {
        return colock::curator_layout();
    }
    if (name == "kazoo") {
        return colock::kazoo_layout();
    }
    if (name == "go-zookeeper") {
        return colock::go_zookeeper_layout();
    }
    if (name == "zookeeper-recipe") {
        return colock::zookeeper_recipe_layout();
    }
    throw std::runtime_error("there is no layout " + name);
}

colock::client_options options_of(const std::string& hosts, std::chrono::milliseconds timeout)
{
    colock::client_options o{.hosts = hosts, .session_timeout = timeout};
#ifdef COLOCK_PEER_KNOWS_SASL // an earlier colock does not
    if (const char* const known = std::getenv("COLOCK_PEER_SASL")) {
        const std::string who = known;
        const auto colon = who.find(':');
        o.sasl.mechanism = colon == who.npos ? who : "DIGEST-MD5";
        if (colon != who.npos) {
            o.sasl.user = who.substr(0, colon);
            o.sasl.secret = [password = who.substr(colon + 1)] { return password; };
        }
        o.acl = colock::creator_acl();
    }
#endif
    return o;
}

// Waits, while the context runs in a thread of its own: heartbeats go on between commands.
template <class T>
T get(std::future<T> result)
{
    return result.get();
}

class peer {
public:
    peer(const std::string& name, const std::string& hosts, std::chrono::milliseconds timeout)
        : client_{io_, options_of(hosts, timeout)}, exclusive_{layout_of(name)},
          shared_{name == "kazoo" ? colock::kazoo_layout() : colock::curator_shared_layout()}
    {
        get(client_.async_connect(asio::use_future));
    }

    ~peer()
    {
        writing_.clear();
        reading_.clear();
        permits_.clear();
        get(client_.async_close(asio::use_future));
        busy_.reset();
        runner_.join();
    }

    std::string carry_out(const std::string& line)
    {
        std::istringstream words{line};
        std::string what, path;
        words >> what >> path;
        if (what == "lock" || what == "lock-revocable") {
            return locked(path, get(mutex_of(path).async_lock(asio::use_future)));
        }
        if (what == "try") {
            return locked(path, get(mutex_of(path).async_try_lock_for(milliseconds(words),
                                                                      asio::use_future)));
        }
        if (what == "recursive-lock") {
            colock::recursive_mutex m{client_, path};
            return locked(path, get(m.async_lock(owner_, asio::use_future)));
        }
        if (what == "single-lock") {
            colock::single_node_mutex m{client_, path};
            return locked(path, get(m.async_lock(asio::use_future)));
        }
        if (what == "write-lock") {
            return locked(path, get(shared_mutex_of(path).async_lock(asio::use_future)));
        }
        if (what == "try-write") {
            return locked(path, get(shared_mutex_of(path).async_try_lock_for(milliseconds(words),
                                                                             asio::use_future)));
        }
        if (what == "read-lock") {
            return locked(path, get(shared_mutex_of(path).async_lock_shared(asio::use_future)));
        }
        if (what == "try-read") {
            return locked(path, get(shared_mutex_of(path).async_try_lock_shared_for(
                                    milliseconds(words), asio::use_future)));
        }
        if (what == "downgrade") {
            return locked(path, get(shared_mutex_of(path).async_downgrade(
                                    std::move(writing_.at(path)), asio::use_future)));
        }
        if (what == "unlock" || what == "write-unlock") {
            return unlocked(writing_, path);
        }
        if (what == "read-unlock") {
            return unlocked(reading_, path);
        }
        if (what == "await-revocation") {
            auto asked = writing_.at(path).async_wait_revoked(asio::use_future);
            if (asked.wait_for(milliseconds(words)) != std::future_status::ready) {
                return "not asked";
            }
            asked.get();
            return "asked";
        }
        if (what == "revoke") {
            get(async_revoke(client_, path, asio::use_future));
            return "revoked";
        }
        if (what == "queue") {
            auto answer = what;
            for (const auto& each :
                 get(async_view_queue(client_, path, exclusive_, asio::use_future)).entries) {
                answer += ' ' + each.path;
            }
            return answer;
        }
        if (what == "acquire" || what == "try-acquire") {
            std::int64_t permits = 0, count = 0;
            words >> permits >> count;
            colock::semaphore s{client_, path, permits};
            auto held =
                what == "acquire"
                    ? get(s.async_acquire(count, asio::use_future))
                    : get(s.async_try_acquire_for(count, milliseconds(words), asio::use_future));
            if (!held) {
                return "busy";
            }
            permits_[path].push_back(std::move(held));
            return "acquired";
        }
        if (what == "acquire-counted") {
            std::string counter;
            std::int64_t count = 0;
            words >> counter >> count;
            colock::semaphore s{client_, path, colock::counter_node{counter}};
            permits_[path].push_back(get(s.async_acquire(count, asio::use_future)));
            return "acquired";
        }
        if (what == "release") { // one acquisition
            get(permits_.at(path).back().async_release(asio::use_future));
            permits_.at(path).pop_back();
            return "released";
        }
        if (what == "latch") {
            std::string id;
            words >> id;
            latch(path, id);
            return "latched";
        }
        if (what == "unlatch") {
            const auto node = latches_.extract(path);
            asio::post(io_, [c = node.mapped()] { c->stop.emit(asio::cancellation_type::total); });
            node.mapped()->ended.get_future().get();
            return "unlatched";
        }
        if (what == "is-leader") {
            return latches_.at(path)->comes_to_lead(std::chrono::milliseconds{0}) ? "yes" : "no";
        }
        if (what == "await-leader") {
            return latches_.at(path)->comes_to_lead(milliseconds(words)) ? "leading"
                                                                         : "not leading";
        }
        if (what == "leader") {
            const auto id = get(election_at(path).async_leader(asio::use_future));
            return id ? what + ' ' + *id : what;
        }
        if (what == "participants") {
            auto answer = what;
            for (const auto& id : get(election_at(path).async_participants(asio::use_future))) {
                answer += ' ' + id;
            }
            return answer;
        }
        if (what == "await-change") {
            std::string seen;
            words >> seen;
            const auto id = get(election_at(path).async_wait_change(
                seen.empty() ? std::optional<std::string>{} : seen, asio::use_future));
            return id ? "leader " + *id : "leader";
        }
        if (what == "turns" || what == "rw-turns") {
            int count = 0;
            std::string counter;
            words >> count >> counter;
            for (int i = 0; i != count; ++i) {
                take_turn(path, counter, what == "rw-turns");
            }
            return "done " + std::to_string(count);
        }
        throw std::runtime_error("unknown command " + what);
    }

private:
    // Leads until it is told to stop.
    struct candidate {
        bool comes_to_lead(std::chrono::milliseconds limit)
        {
            std::unique_lock lock{mutex};
            return changed.wait_for(lock, limit, [this] { return leading; });
        }
        void set_leading(bool now)
        {
            const std::lock_guard lock{mutex};
            leading = now;
            changed.notify_all();
        }

        std::mutex mutex;
        std::condition_variable changed;
        bool leading = false;
        asio::cancellation_signal stop; // on the context
        std::promise<void> ended;
    };

    colock::election election_at(const std::string& path, std::string id = {})
    {
        return {client_, path, std::move(id)};
    }

    // Returns when it stands in the queue.
    void latch(const std::string& path, const std::string& id)
    {
        const auto c = latches_[path] = std::make_shared<candidate>();
        asio::post(io_, [this, c, path, id] {
            election_at(path, id).async_lead(
                [c](const colock::unique_lock&) { return lead(c); },
                asio::bind_cancellation_slot(c->stop.slot(),
                                             [c](std::exception_ptr) { c->ended.set_value(); }));
        });
        const auto stands = [&] {
            const auto found = get(
                async_view_queue(client_, path, colock::curator_latch_layout(), asio::use_future));
            return std::ranges::any_of(
                found.entries, [&](const auto& e) { return e.session == client_.session_id(); });
        };
        while (!stands()) { // each look is a round trip
        }
    }

    static asio::awaitable<void> lead(std::shared_ptr<candidate> c)
    {
        // Any type of cancellation stops it.
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        asio::steady_timer timer{co_await asio::this_coro::executor,
                                 asio::steady_timer::time_point::max()};
        c->set_leading(true);
        boost::system::error_code ec;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        c->set_leading(false);
    }

    static std::chrono::milliseconds milliseconds(std::istream& words)
    {
        int ms = 0;
        words >> ms;
        return std::chrono::milliseconds{ms};
    }

    colock::mutex mutex_of(const std::string& path)
    {
        return {client_, path, {.layout = exclusive_}};
    }
    colock::shared_mutex shared_mutex_of(const std::string& path)
    {
        return {client_, path, {.layout = shared_}};
    }

    void take_turn(const std::string& path, const std::string& counter, bool of_shared)
    {
        auto held = of_shared ? get(shared_mutex_of(path).async_lock(asio::use_future))
                              : get(mutex_of(path).async_lock(asio::use_future));
        const auto read = get(client_.async_get(counter, asio::use_future));
        get(client_.async_set(counter, std::to_string(std::stol(read.data) + 1),
                              colock::any_version, asio::use_future));
        get(held.async_unlock(asio::use_future));
    }

    std::string locked(const std::string& path, colock::unique_lock held)
    {
        if (!held) {
            return "busy";
        }
        auto answer = "locked " + held.node();
        writing_[path] = std::move(held);
        return answer;
    }
    std::string locked(const std::string& path, colock::shared_lock held)
    {
        if (!held) {
            return "busy";
        }
        auto answer = "locked " + held.node();
        reading_[path] = std::move(held);
        return answer;
    }
    template <class Guard>
    std::string unlocked(std::map<std::string, Guard>& all, const std::string& path)
    {
        get(all.at(path).async_unlock(asio::use_future));
        all.erase(path);
        return "unlocked";
    }

    asio::io_context io_{1};
    asio::executor_work_guard<asio::io_context::executor_type> busy_{io_.get_executor()};
    std::thread runner_{[this] { io_.run(); }};
    colock::client client_;
    const colock::layout exclusive_;
    const colock::layout shared_;
    colock::lock_owner owner_;
    std::map<std::string, colock::unique_lock> writing_;
    std::map<std::string, std::shared_ptr<candidate>> latches_;
    std::map<std::string, colock::shared_lock> reading_;
    std::map<std::string, std::vector<colock::permit>> permits_;
};

} // namespace

int main(int argc, char** argv)
{
    if (argc != 4) {
        return 2;
    }
    peer p{argv[1], argv[2], std::chrono::milliseconds{std::stoi(argv[3])}};
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line) && line != "quit";) {
        try {
            std::cout << p.carry_out(line) << std::endl;
        } catch (const std::exception& e) {
            std::cout << "error " << e.what() << std::endl;
        }
    }
}
