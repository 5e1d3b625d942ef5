// The leader: it brings the others up to date, then decides what happens, and in which order.
#include "preparation.hpp"
#include "server.hpp"
#include "session_tracker.hpp"
#include "stage.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace colock::simulated {

namespace {

using namespace std::chrono_literals;

constexpr session_tracker::owner itself = 0;
constexpr auto between_removals = 6ms; // of containers

// The connection of a follower.
struct learner {
    session_tracker::owner id = 0;
    std::size_t index = 0;
    std::shared_ptr<stream> link;
    bool introduced = false;
    bool has_accepted_epoch = false;
    bool waits = false;         // to be synchronised
    std::int64_t last_zxid = 0; // of its history when it came
    bool follows = false;       // is sent what is proposed
    bool accepted = false;      // has the leader's history on its disk
    std::int64_t logged = 0;
    std::chrono::milliseconds heard{};
};

using shared_learner = std::shared_ptr<learner>;

class leading : public role, public upstream, public std::enable_shared_from_this<leading> {
public:
    explicit leading(server& of)
        : server_{of}, disk_{of.store()}, preparation_{disk_.applied, of.options().extended_types,
                                                       of.options().actual},
          prepare_{of.host(), of.chance().branch(), of.options().threads,
                   [this](asked a) { prepare(std::move(a)); }}
    {
    }

    void start() override;
    void end() override;
    peer_message::doing doing() const noexcept override { return peer_message::doing::leading; }
    front* clients() noexcept override { return clients_.get(); }
    std::int64_t epoch() const noexcept override { return epoch_; }
    void accept_follower(std::shared_ptr<stream> link) override;
    void flushed(std::int64_t zxid) override;
    bool by_hand(operation c) override;
    bool end_session(std::int64_t id) override;

    // ---- of its own clients

    void process(shared_request r) override;
    bool touch(std::int64_t session, std::chrono::milliseconds timeout) override;
    void count(std::int64_t session, std::chrono::milliseconds timeout);
    void revalidate(std::int64_t session, std::chrono::milliseconds timeout) override;
    [[nodiscard]] observer* told() const noexcept override { return server_.shared().told; }
    void applied(const transaction& t) override;

private:
    enum class phase { discovery, synchronisation, established };
    struct asked {
        shared_request request;
        session_tracker::owner who;
    };

    void send(const learner& to, peer_message m) { to.link->send(to_message(std::move(m))); }
    void received(const shared_learner& from, const peer_message& m);
    void drop(const shared_learner& whom);
    [[nodiscard]] std::size_t count(bool learner::*what) const;

    void introduce(const shared_learner& l, std::int64_t accepted_epoch);
    void epoch_accepted(const shared_learner& l, const peer_message& m);
    void begin_synchronisation();
    void synchronise(learner& l);
    void accepted(const shared_learner& l, std::int64_t logged);
    void establish();

    [[nodiscard]] std::int64_t since_1970() const
    {
        return (server_.options().actual.since_1970 + server_.clock()).count();
    }
    void half_tick();
    void expire_sessions();
    void look_for_containers();
    void remove_next_container();

    void prepare(asked a);
    void propose(transaction&& t);
    void try_to_commit();
    void answer_sync(session_tracker::owner to);

    template <class Function>
    void after(std::chrono::nanoseconds delay, Function what)
    {
        server_.host().after(delay, [weak = weak_from_this(), what] {
            if (const auto self = weak.lock(); self && !self->over_) {
                what(*self);
            }
        });
    }

    server& server_;
    disk& disk_;
    bool over_ = false;
    phase phase_ = phase::discovery;
    std::chrono::milliseconds began_{};
    std::int64_t epoch_ = 0; // not known yet
    std::uint64_t half_ticks_ = 0;

    std::uint64_t last_learner_ = itself;
    std::vector<shared_learner> learners_;
    std::map<std::size_t, std::int64_t> promised_; // epochs, by server, while there is no new one

    std::int64_t zxid_ = 0;
    std::int64_t decided_ = 0;
    std::int64_t logged_ = 0; // by itself
    std::deque<shared_transaction> outstanding_;
    std::multimap<std::int64_t, session_tracker::owner> syncs_; // behind which transaction
    preparation preparation_;
    stage<asked> prepare_;
    std::unique_ptr<session_tracker> sessions_;
    std::shared_ptr<front> clients_;
    std::deque<std::string> removals_;
};

void leading::start()
{
    began_ = server_.clock();
    promised_[server_.index()] = disk_.accepted_epoch;
    if (server_.shared().quorum() == 1) {
        epoch_ = disk_.accepted_epoch = disk_.accepted_epoch + 1;
        begin_synchronisation();
    }
    if (!over_) {
        half_tick();
    }
}

void leading::end()
{
    over_ = true;
    if (clients_) {
        clients_->end();
    }
    for (const auto& l : std::exchange(learners_, {})) {
        l->link->close();
    }
}

void leading::accept_follower(std::shared_ptr<stream> link)
{
    auto l = std::make_shared<learner>();
    l->id = ++last_learner_;
    l->link = std::move(link);
    l->heard = server_.clock();
    const auto weak = weak_from_this();
    const std::weak_ptr<learner> of = l;
    l->link->handle({.connected = {},
                     .received =
                         [weak, of](message&& m) {
                             const auto self = weak.lock();
                             const auto from = of.lock();
                             if (self && from && !self->over_) {
                                 self->received(from,
                                                *std::get<std::shared_ptr<const peer_message>>(m));
                             }
                         },
                     .ended =
                         [weak, of] {
                             const auto self = weak.lock();
                             const auto whom = of.lock();
                             if (self && whom && !self->over_) {
                                 self->drop(whom);
                             }
                         }});
    learners_.push_back(std::move(l));
}

void leading::drop(const shared_learner& whom)
{
    whom->link->close();
    std::erase(learners_, whom);
}

// With the leader itself.
std::size_t leading::count(bool learner::*what) const
{
    std::vector<bool> counted(server_.options().servers);
    counted[server_.index()] = true;
    for (const auto& l : learners_) {
        if (*l.*what) {
            counted[l->index] = true;
        }
    }
    return static_cast<std::size_t>(std::ranges::count(counted, true));
}

void leading::received(const shared_learner& from, const peer_message& m)
{
    from->heard = server_.clock();
    switch (m.what) {
    case peer_message::kind::follower_info:
        from->index = m.from;
        introduce(from, m.epoch);
        break;
    case peer_message::kind::epoch_accepted: epoch_accepted(from, m); break;
    case peer_message::kind::new_leader_accepted: accepted(from, m.zxid); break;
    case peer_message::kind::logged:
        from->logged = std::max(from->logged, m.zxid);
        try_to_commit();
        break;
    case peer_message::kind::pong:
        if (sessions_) {
            for (const auto& [session, timeout] : m.touched) {
                sessions_->touch(session, timeout, server_.clock());
            }
        }
        break;
    case peer_message::kind::request:
        if (clients_) {
            prepare_.put({m.request, from->id});
        }
        break;
    case peer_message::kind::revalidate: {
        // Not behind the requests that wait to be prepared.
        const bool valid = sessions_ && touch(m.session, m.timeout);
        if (valid) {
            sessions_->set_owner(m.session, from->id);
            count(m.session, m.timeout);
        }
        send(*from,
             {.what = peer_message::kind::revalidated, .session = m.session, .valid = valid});
        break;
    }
    default: break;
    }
}

// A new epoch, higher than any that a majority has promised to follow.
void leading::introduce(const shared_learner& l, std::int64_t accepted_epoch)
{
    l->introduced = true;
    promised_[l->index] = accepted_epoch;
    if (epoch_ != 0) {
        send(*l, {.what = peer_message::kind::leader_info, .epoch = epoch_});
    } else if (promised_.size() >= server_.shared().quorum()) {
        for (const auto& [index, epoch] : promised_) {
            epoch_ = std::max(epoch_, epoch + 1);
        }
        disk_.accepted_epoch = epoch_;
        for (const auto& other : learners_) {
            if (other->introduced) {
                send(*other, {.what = peer_message::kind::leader_info, .epoch = epoch_});
            }
        }
    }
}

void leading::epoch_accepted(const shared_learner& l, const peer_message& m)
{
    l->last_zxid = m.zxid;
    l->has_accepted_epoch = m.valid;
    if (phase_ == phase::discovery) {
        if (std::tuple{m.epoch, m.zxid} > std::tuple{disk_.current_epoch, disk_.last_zxid()}) {
            server_.look(); // that one knows more
            return;
        }
        l->waits = true;
        if (count(&learner::has_accepted_epoch) >= server_.shared().quorum()) {
            begin_synchronisation();
        }
    } else {
        synchronise(*l);
    }
}

void leading::begin_synchronisation()
{
    phase_ = phase::synchronisation;
    disk_.current_epoch = epoch_;
    disk_.flushed(disk_.last_zxid());
    decided_ = logged_ = disk_.last_zxid(); // when a majority has it
    for (const auto& l : learners_) {
        if (l->waits) {
            synchronise(*l);
        }
    }
    if (server_.shared().quorum() == 1) {
        establish();
    }
}

void leading::synchronise(learner& l)
{
    peer_message m{.what = peer_message::kind::synchronise, .zxid = decided_};
    if (!disk_.difference(l.last_zxid, decided_, m.keep, m.records)) {
        m.snapshot = std::make_shared<const tree>(disk_.applied);
        m.records.clear();
        for (const auto& t : disk_.undecided()) {
            if (t->zxid <= decided_) {
                m.records.push_back(t);
            }
        }
    }
    send(l, std::move(m));
    send(l, {.what = peer_message::kind::new_leader, .epoch = epoch_});
    for (const auto& t : outstanding_) {
        send(l, {.what = peer_message::kind::proposal, .proposed = t});
    }
    l.follows = true;
}

void leading::accepted(const shared_learner& l, std::int64_t logged)
{
    l->accepted = true;
    l->logged = std::max(l->logged, logged);
    if (phase_ == phase::established) {
        send(*l, {.what = peer_message::kind::up_to_date});
        try_to_commit();
    } else if (count(&learner::accepted) >= server_.shared().quorum()) {
        establish();
    }
}

void leading::establish()
{
    phase_ = phase::established;
    for (const auto& t : disk_.undecided()) {
        server_.shared().decide(*t);
    }
    zxid_ = std::max(epoch_ << 32, server_.options().actual.first_transaction);
    clients_ = std::make_shared<front>(server_.host(), server_.index(), server_.options(),
                                       server_.chance().branch(), server_.shared().origins, disk_,
                                       *this, false);
    sessions_ = std::make_unique<session_tracker>(server_.options().tick, server_.clock());
    server_.serves();
    clients_->start(decided_);
    // A whole time-out for each: nobody knows when it was heard of last.
    for (const auto& [session, timeout] : disk_.applied.sessions()) {
        sessions_->track(session, timeout, server_.clock());
    }
    for (const auto& l : learners_) {
        if (l->accepted) {
            send(*l, {.what = peer_message::kind::up_to_date});
        }
    }
    after(server_.options().container_check, [](leading& self) { self.look_for_containers(); });
    expire_sessions();
}

void leading::half_tick()
{
    const auto& o = server_.options();
    const auto now = server_.clock();
    for (const auto& l : std::vector<shared_learner>{learners_}) {
        if (now - l->heard > o.sync_limit * o.tick) {
            drop(l);
        }
    }
    const bool late = now - began_ > o.init_limit * o.tick;
    if (phase_ != phase::established
            ? late
            : half_ticks_ % 2 == 0 && count(&learner::accepted) < server_.shared().quorum()) {
        server_.look();
        return;
    }
    ++half_ticks_;
    for (const auto& l : learners_) {
        if (l->accepted) {
            send(*l, {.what = peer_message::kind::ping});
        }
    }
    after(o.tick / 2, [](leading& self) { self.half_tick(); });
}

void leading::expire_sessions()
{
    for (const auto session : sessions_->expire(server_.clock())) {
        end_session(session);
    }
    after(sessions_->next() - server_.host().clock(),
          [](leading& self) { self.expire_sessions(); });
}

bool leading::end_session(std::int64_t id)
{
    if (!clients_) {
        return false;
    }
    process(std::make_shared<const submitted>(submitted{.what = submitted::kind::close_session,
                                                        .origin = ++server_.shared().origins,
                                                        .session = id,
                                                        .expired = true}));
    return true;
}

void leading::look_for_containers()
{
    const auto now = since_1970();
    if (removals_.empty()) {
        for (const auto& path : disk_.applied.containers()) {
            const auto* n = disk_.applied.find(path);
            if (n->children.empty() && n->counter > 0) {
                removals_.push_back(path);
            }
        }
        for (const auto& path : disk_.applied.with_ttl()) {
            const auto* n = disk_.applied.find(path);
            if (n->children.empty() && now - n->mtime > (n->owner & 0xff'ffff'ffff)) {
                removals_.push_back(path);
            }
        }
        remove_next_container();
    }
    after(server_.options().container_check, [](leading& self) { self.look_for_containers(); });
}

void leading::remove_next_container()
{
    if (removals_.empty()) {
        return;
    }
    process(std::make_shared<const submitted>(
        submitted{.what = submitted::kind::tidy,
                  .origin = ++server_.shared().origins,
                  .call = {.path = std::move(removals_.front())}}));
    removals_.pop_front();
    after(between_removals, [](leading& self) { self.remove_next_container(); });
}

bool leading::by_hand(operation c)
{
    if (!clients_) {
        return false;
    }
    static const auto everything = std::make_shared<const identities>(identities{{"super", ""}});
    process(std::make_shared<const submitted>(submitted{.what = submitted::kind::by_hand,
                                                        .origin = ++server_.shared().origins,
                                                        .call = std::move(c),
                                                        .who = everything}));
    return true;
}

void leading::process(shared_request r)
{
    if (!over_) {
        prepare_.put({std::move(r), itself});
    }
}

bool leading::touch(std::int64_t session, std::chrono::milliseconds timeout)
{
    return sessions_->touch(session, timeout, server_.clock());
}

void leading::count(std::int64_t session, std::chrono::milliseconds timeout)
{
    if (auto* const o = told()) {
        o->counted(session, timeout);
    }
}

void leading::revalidate(std::int64_t session, std::chrono::milliseconds timeout)
{
    const bool valid = touch(session, timeout);
    if (valid) {
        sessions_->set_owner(session, itself);
        count(session, timeout);
    }
    clients_->revalidated(session, valid);
}

void leading::applied(const transaction& t)
{
    preparation_.applied(t.zxid);
    if (t.what == transaction::kind::close_session && sessions_) {
        sessions_->remove(t.session);
    }
}

void leading::prepare(asked a)
{
    if (over_) {
        return;
    }
    const auto& r = *a.request;
    const bool own = a.who == itself;
    if (r.is_sync() && !own) {
        // Behind all that is being decided.
        if (outstanding_.empty()) {
            answer_sync(a.who);
        } else {
            syncs_.emplace(outstanding_.back()->zxid, a.who);
        }
        return;
    }
    const bool of_session = r.what == submitted::kind::call || r.what == submitted::kind::ping;
    const auto error = of_session && !r.throttled ? sessions_->check(r.session, a.who) : status{};
    if (!r.is_write() || r.throttled) {
        clients_->enqueue(std::move(a.request), error);
        return;
    }
    auto t = preparation_.prepare(r, ++zxid_, since_1970(), error);
    if (r.what == submitted::kind::open_session) {
        sessions_->track(r.session, r.timeout, server_.clock());
        sessions_->set_owner(r.session, a.who);
    } else if (r.what == submitted::kind::close_session) {
        sessions_->set_closing(r.session);
    }
    if (own) {
        clients_->enqueue(std::move(a.request));
    }
    propose(std::move(t));
}

void leading::propose(transaction&& t)
{
    outstanding_.push_back(std::make_shared<const transaction>(std::move(t)));
    const auto& proposed = outstanding_.back();
    disk_.append(proposed);
    const auto m = to_message({.what = peer_message::kind::proposal, .proposed = proposed});
    for (const auto& l : learners_) {
        if (l->follows) {
            l->link->send(message{m});
        }
    }
    server_.flush();
}

void leading::flushed(std::int64_t zxid)
{
    logged_ = std::max(logged_, zxid);
    try_to_commit();
}

void leading::try_to_commit()
{
    if (outstanding_.empty()) {
        return;
    }
    std::vector<std::int64_t> logged(server_.options().servers);
    logged[server_.index()] = logged_;
    for (const auto& l : learners_) {
        if (l->accepted) {
            logged[l->index] = std::max(logged[l->index], l->logged);
        }
    }
    std::ranges::sort(logged, std::greater{});
    const auto by_majority = logged[server_.shared().quorum() - 1];
    while (!over_ && !outstanding_.empty() && outstanding_.front()->zxid <= by_majority) {
        const auto t = std::move(outstanding_.front());
        outstanding_.pop_front();
        decided_ = t->zxid;
        server_.shared().decide(*t);
        const auto m = to_message({.what = peer_message::kind::commit, .zxid = decided_});
        for (const auto& l : learners_) {
            if (l->follows) {
                l->link->send(message{m});
            }
        }
        clients_->commit(decided_);
        const auto [first, last] = syncs_.equal_range(decided_);
        for (auto at = first; at != last; ++at) {
            answer_sync(at->second);
        }
        syncs_.erase(first, last);
    }
}

void leading::answer_sync(session_tracker::owner to)
{
    for (const auto& l : learners_) {
        if (l->id == to) {
            send(*l, {.what = peer_message::kind::synced});
        }
    }
}

} // namespace

std::shared_ptr<role> make_leading(server& of)
{
    return std::make_shared<leading>(of);
}

} // namespace colock::simulated
