// A server that follows a leader: it forwards what its clients ask for, and carries out what is decided.
#include "server.hpp"
#include "stage.hpp"

#include <utility>

namespace colock::simulated {

namespace {

using namespace std::chrono_literals;

constexpr int most_attempts = 5; // to connect

class following : public role, public upstream, public std::enable_shared_from_this<following> {
public:
    following(server& of, std::size_t leader)
        : server_{of}, leader_{leader}, forward_{
                                            of.host(), of.chance().branch(), of.options().threads,
                                            [this](shared_request r) { forward(std::move(r)); }}
    {
    }

    void start() override
    {
        began_ = heard_ = server_.clock();
        connect();
        watch_leader();
    }

    void end() override
    {
        over_ = true;
        if (clients_) {
            clients_->end();
        }
        if (link_) {
            link_->close();
        }
    }

    peer_message::doing doing() const noexcept override { return peer_message::doing::following; }
    front* clients() noexcept override { return clients_.get(); }
    std::int64_t epoch() const noexcept override { return server_.store().accepted_epoch; }

    void flushed(std::int64_t zxid) override
    {
        if (accepted_ && zxid > reported_) {
            reported_ = zxid;
            send({.what = peer_message::kind::logged, .zxid = zxid});
        }
    }

    // ---- of its clients

    void process(shared_request r) override
    {
        if (!over_) {
            forward_.put(std::move(r));
        }
    }

    bool touch(std::int64_t, std::chrono::milliseconds) override { return true; }

    void revalidate(std::int64_t session, std::chrono::milliseconds timeout) override
    {
        send({.what = peer_message::kind::revalidate, .session = session, .timeout = timeout});
    }

    [[nodiscard]] observer* told() const noexcept override { return server_.shared().told; }
    void applied(const transaction&) override {}

private:
    void send(peer_message m)
    {
        if (link_) {
            link_->send(to_message(std::move(m)));
        }
    }

    void connect()
    {
        const auto weak = weak_from_this();
        link_ = server_.shared().net.connect(
            server_.host(), server_.peer_address(leader_),
            {.connected =
                 [weak] {
                     if (const auto self = weak.lock(); self && !self->over_) {
                         self->connected_ = true;
                         self->send({.what = peer_message::kind::follower_info,
                                     .from = self->server_.index(),
                                     .epoch = self->server_.store().accepted_epoch});
                     }
                 },
             .received =
                 [weak](message&& m) {
                     if (const auto self = weak.lock(); self && !self->over_) {
                         self->received(*std::get<std::shared_ptr<const peer_message>>(m));
                     }
                 },
             .ended =
                 [weak] {
                     if (const auto self = weak.lock(); self && !self->over_) {
                         self->lost();
                     }
                 }});
    }

    // A leader that has been elected needs a moment to become one.
    void lost()
    {
        if (connected_ || ++attempts_ == most_attempts) {
            server_.look();
            return;
        }
        server_.host().after(100ms, [weak = weak_from_this()] {
            if (const auto self = weak.lock(); self && !self->over_) {
                self->link_->close();
                self->connect();
            }
        });
    }

    void watch_leader()
    {
        const auto now = server_.clock();
        const auto& o = server_.options();
        if (now - heard_ > o.sync_limit * o.tick ||
            (!clients_ && now - began_ > o.init_limit * o.tick)) {
            server_.look();
            return;
        }
        server_.host().after(o.tick / 2, [weak = weak_from_this()] {
            if (const auto self = weak.lock(); self && !self->over_) {
                self->watch_leader();
            }
        });
    }

    void received(const peer_message& m)
    {
        heard_ = server_.clock();
        auto& disk = server_.store();
        switch (m.what) {
        case peer_message::kind::leader_info: promise(m.epoch); break;
        case peer_message::kind::synchronise: synchronise(m); break;
        case peer_message::kind::new_leader:
            disk.current_epoch = m.epoch;
            disk.flushed(disk.last_zxid());
            reported_ = disk.last_zxid();
            accepted_ = true;
            send({.what = peer_message::kind::new_leader_accepted, .zxid = reported_});
            break;
        case peer_message::kind::proposal:
            if (m.proposed->zxid > disk.last_zxid()) {
                disk.append(m.proposed);
                server_.flush();
            }
            break;
        case peer_message::kind::commit:
            decided_ = m.zxid;
            if (clients_) {
                clients_->commit(m.zxid);
            }
            break;
        case peer_message::kind::up_to_date: serve(); break;
        case peer_message::kind::ping:
            send({.what = peer_message::kind::pong,
                  .touched = clients_ ? clients_->take_touched() : touches{}});
            break;
        case peer_message::kind::revalidated:
            if (clients_) {
                clients_->revalidated(m.session, m.valid);
            }
            break;
        case peer_message::kind::synced:
            if (clients_) {
                clients_->synced();
            }
            break;
        default: break;
        }
    }

    // Not to follow an older leader from here on.
    void promise(std::int64_t epoch)
    {
        auto& disk = server_.store();
        if (epoch < disk.accepted_epoch) {
            server_.look();
            return;
        }
        const bool is_new = epoch > disk.accepted_epoch;
        disk.accepted_epoch = epoch;
        send({.what = peer_message::kind::epoch_accepted,
              .epoch = disk.current_epoch,
              .zxid = disk.last_zxid(),
              .valid = is_new});
    }

    void synchronise(const peer_message& m)
    {
        auto& disk = server_.store();
        if (m.snapshot) {
            disk.replace(*m.snapshot);
        } else {
            disk.truncate(m.keep);
        }
        for (const auto& t : m.records) {
            disk.append(t);
        }
        decided_ = m.zxid;
    }

    void serve()
    {
        if (clients_) {
            return;
        }
        clients_ = std::make_shared<front>(server_.host(), server_.index(), server_.options(),
                                           server_.chance().branch(), server_.shared().origins,
                                           server_.store(), *this, true);
        server_.serves();
        clients_->start(decided_);
    }

    // The request is put behind what its session has asked for before it is sent.
    void forward(shared_request r)
    {
        if (over_) {
            return;
        }
        clients_->enqueue(r);
        if (!r->throttled && (r->is_write() || r->is_sync())) {
            send({.what = peer_message::kind::request, .request = std::move(r)});
        }
    }

    server& server_;
    std::size_t leader_;
    bool over_ = false;
    bool connected_ = false;
    bool accepted_ = false; // the leader
    int attempts_ = 0;
    std::shared_ptr<stream> link_;
    std::chrono::milliseconds began_{};
    std::chrono::milliseconds heard_{}; // when the leader was heard last
    std::int64_t decided_ = 0;
    std::int64_t reported_ = 0; // as logged
    stage<shared_request> forward_;
    std::shared_ptr<front> clients_;
};

} // namespace

std::shared_ptr<role> make_following(server& of, std::size_t leader)
{
    return std::make_shared<following>(of, leader);
}

} // namespace colock::simulated
