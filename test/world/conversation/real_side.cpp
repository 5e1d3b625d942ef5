// Sessions of ZooKeeper's C client.
#include <support/admin_session.hpp>

#include "ground.hpp"
#include "zk/handle.hpp"
#include "zk/wire.hpp"

#include <boost/asio/io_context.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

namespace world::conversation {

namespace {

using namespace std::chrono_literals;
using colock::zk::handle;
using steady = std::chrono::steady_clock;

class over_c_client : public real_side {
public:
    over_c_client(std::unique_ptr<ground> servers, const counters& from)
        : ground_{std::move(servers)}
    {
        if (ground_->addresses().size() > 1) {
            for (std::size_t i = 0; i != ground_->addresses().size(); ++i) {
                open(first_waker + i, i, {}, {});
            }
            return;
        }
        if (from.empty()) {
            return;
        }
        open(0, 0, {}, {});
        for (const auto& [path, counter] : from) {
            ask(0, {{.op = colock::zk::opcode::create, .path = path, .acl = colock::open_acl()}},
                0);
        }
        close(0);
        static_cast<void>(take());
        ground_->set_counters(from);
    }

    std::string name() const override { return ground_->name(); }
    std::size_t servers() const override { return ground_->addresses().size(); }

    bool open(std::size_t session, std::size_t server,
              const std::vector<colock::credential>& credentials,
              const colock::zk::session_identity& as) override
    {
        auto& s = sessions_[session];
        s = std::make_unique<session_state>(*this, session);
        s->way = colock::zk::make_plain_wire(strand_, ground_->addresses()[server]);
        s->connection = std::make_unique<handle>(*s->way, "", session_timeout, as, credentials, *s);
        wait(
            [&] { return !s->connection || s->connection->state() != handle::status::connecting; });
        if (s->connection && s->connection->state() == handle::status::connected) {
            s->identity = s->connection->session();
            return true;
        }
        return false;
    }

    void ask(std::size_t session, const std::vector<colock::zk::call>& calls,
             std::size_t number) override
    {
        auto& s = *sessions_[session];
        for (const auto& c : calls) {
            auto to = std::make_unique<receiver>(*this, session, number++);
            ++awaited_;
            const auto error =
                s.connection ? s.connection->send(c, *to) : colock::zookeeper_errc::connection_loss;
            if (error) {
                to->answered({.error = error});
            }
            s.receivers.push_back(std::move(to));
        }
        wait([this] { return awaited_ == 0; });
        s.receivers.clear();
    }

    void close(std::size_t session) override
    {
        auto& s = *sessions_[session];
        const int descriptor = s.connection ? s.connection->next_interest().descriptor : -1;
        if (descriptor < 0 || !s.connection->send_close()) {
            throw std::runtime_error{"a session cannot be closed"};
        }
        char bytes[256];
        const auto end = steady::now() + 20s;
        for (;;) {
            pollfd wanted{descriptor, POLLIN, 0};
            static_cast<void>(::poll(&wanted, 1, 100));
            const auto count = ::recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
            if (count == 0) {
                break;
            }
            if (steady::now() > end) {
                throw std::runtime_error{"the server does not close a connection"};
            }
        }
        s.connection.reset();
    }

    void drop(std::size_t session) override { sessions_[session]->connection.reset(); }

    void pass(std::chrono::milliseconds time) override
    {
        const auto end = steady::now() + time;
        while (steady::now() < end) {
            pump(std::chrono::ceil<std::chrono::milliseconds>(end - steady::now()));
        }
    }

    colock::zk::session_identity identity(std::size_t session) const override
    {
        return sessions_.at(session)->identity;
    }

    void begin_operator() override
    {
        operator_.emplace(ground_->addresses().front());
        operator_->add_auth(operators_credential.scheme, operators_credential.secret);
        operator_->ping();
    }

    colock::zk::reply set_acl(const std::string& path, const colock::access_control_list& acl,
                              std::int32_t version) override
    {
        std::vector<colock::test::admin_session::acl_entry> list;
        for (const auto& each : acl) {
            list.push_back({each.permissions, each.scheme, each.id});
        }
        colock::zk::reply r;
        try {
            const auto s = operator_->set_acl(path, list, version);
            r.stat = {.czxid = s.czxid,
                      .mzxid = s.mzxid,
                      .ctime = s.ctime,
                      .mtime = s.mtime,
                      .version = s.version,
                      .cversion = s.cversion,
                      .aversion = s.aversion,
                      .ephemeral_owner = s.ephemeral_owner,
                      .data_length = s.data_length,
                      .num_children = s.num_children,
                      .pzxid = s.pzxid};
        } catch (const colock::test::admin_error& e) {
            r.error = static_cast<colock::zookeeper_errc>(e.code());
        }
        return r;
    }

    void end_operator() override { operator_.reset(); }

    std::vector<heard> take() override { return std::exchange(heard_, {}); }

    bool exists_needs_read() const override { return ground_->exists_needs_read(); }

private:
    struct receiver final : colock::zk::receiver {
        receiver(over_c_client& o, std::size_t s, std::size_t n) : owner{o}, session{s}, number{n}
        {
        }

        void answered(colock::zk::reply&& r) noexcept override
        {
            owner.heard_.push_back({session, answer{number, std::move(r)}});
            --owner.awaited_;
        }

        over_c_client& owner;
        std::size_t session;
        std::size_t number;
    };
    struct session_state final : colock::zk::watch_receiver {
        session_state(over_c_client& o, std::size_t n) : owner{o}, number{n} {}

        void watch_fired(colock::watch_event&& event) noexcept override
        {
            owner.heard_.push_back({number, std::move(event)});
        }

        over_c_client& owner;
        std::size_t number;
        std::vector<std::unique_ptr<receiver>> receivers; // behind the connection
        std::unique_ptr<colock::zk::wire> way;
        std::unique_ptr<handle> connection;
        colock::zk::session_identity identity;
    };

    // A server of 3.8.0 may forget a request until the next one comes (ZOOKEEPER-4537).
    void wake_servers()
    {
        for (std::size_t i = 0; i != servers(); ++i) {
            const auto at = sessions_.find(first_waker + i);
            if (at != sessions_.end() && at->second->connection &&
                at->second->connection->state() == handle::status::connected) {
                static_cast<void>(at->second->connection->send(
                    {.op = colock::zk::opcode::exists, .path = "/"}, nobody_));
            }
        }
    }

    // All connections, once.
    void pump(std::chrono::milliseconds longest)
    {
        if (operator_ && steady::now() > ping_) {
            operator_->ping();
            ping_ = steady::now() + 1s;
        }
        std::vector<pollfd> wanted;
        std::vector<handle*> of;
        for (const auto& [number, s] : sessions_) {
            if (s->connection && s->connection->state() > handle::status::connected) {
                s->connection.reset(); // some requests are answered by this only
            }
            if (!s->connection) {
                continue;
            }
            const auto next = s->connection->next_interest();
            if (next.descriptor >= 0) {
                if (!s->way->is_attached() && !s->way->attach(next.descriptor)) {
                    throw std::runtime_error{"no descriptor is left"};
                }
                wanted.push_back(
                    {next.descriptor,
                     static_cast<short>((next.read ? POLLIN : 0) | (next.write ? POLLOUT : 0)), 0});
                of.push_back(s->connection.get());
            }
            longest = std::min(longest, std::chrono::ceil<std::chrono::milliseconds>(next.timeout));
        }
        static_cast<void>(::poll(wanted.data(), static_cast<nfds_t>(wanted.size()),
                                 static_cast<int>(std::max(longest, 0ms).count())));
        for (std::size_t i = 0; i != wanted.size(); ++i) {
            if ((wanted[i].revents & (POLLOUT | POLLERR | POLLHUP)) != 0) {
                of[i]->process_write();
            }
            if ((wanted[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0) {
                while (of[i]->process_read()) {
                }
            }
        }
    }

    template <class Condition>
    void wait(Condition until)
    {
        const auto end = steady::now() + 20s;
        auto wake = steady::now() + 300ms;
        while (!until()) {
            if (servers() > 1 && steady::now() > wake) {
                wake = steady::now() + 300ms;
                wake_servers();
            }
            if (steady::now() > end) {
                throw std::runtime_error{"the server does not answer"};
            }
            pump(100ms);
        }
    }

    static constexpr std::size_t first_waker = 1000; // sessions with one of the servers each
    struct : colock::zk::receiver {
        void answered(colock::zk::reply&&) noexcept override {}
    } nobody_;

    boost::asio::io_context io_; // that nobody runs: poll() waits
    colock::zk::strand_type strand_{
        colock::zk::strand_base{boost::asio::any_io_executor{io_.get_executor()}}};
    std::unique_ptr<ground> ground_;
    std::optional<colock::test::admin_session> operator_;
    steady::time_point ping_{};
    std::size_t awaited_ = 0;
    std::vector<heard> heard_;
    std::map<std::size_t, std::unique_ptr<session_state>> sessions_;
};

} // namespace

std::unique_ptr<real_side> make_side_on(std::unique_ptr<ground> servers, const counters& from)
{
    return std::make_unique<over_c_client>(std::move(servers), from);
}

} // namespace world::conversation
