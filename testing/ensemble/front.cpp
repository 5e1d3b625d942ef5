#include "front.hpp"

#include "password.hpp"

#include <algorithm>
#include <variant>

namespace colock::simulated {

namespace {

using namespace std::chrono_literals;

// A connection that has been silent for its session's time-out is closed; looked after so often.
constexpr auto idle_check = 10s;

std::chrono::milliseconds clock_of(const machine& m)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(m.clock());
}

std::chrono::milliseconds idle_end(const machine& m, std::chrono::milliseconds timeout)
{
    return ((clock_of(m) + timeout) / idle_check + 1) * idle_check;
}

} // namespace

// Debian's 3.8.0 does it, and the others from 3.8.4 and 3.9.2 on: an event is for those who may read the node.
void connection::notify(colock::watch_event_type type, const std::string& path,
                        const colock::access_control_list& acl)
{
    if (link_ && may(colock::permission_read, acl, *who_)) {
        link_->send(event{{type, path}, at_->applying_});
        if (auto* const o = at_->role_.told()) {
            o->woken(session_, type, path);
        }
    }
}

front::front(machine& host, std::size_t index, const ensemble_options& options, random chance,
             std::uint64_t& origins, disk& store, upstream& role, bool follows)
    : host_{host}, options_{options}, random_{chance}, origins_{origins}, disk_{store}, role_{role},
      follows_{follows}, next_session_{static_cast<std::int64_t>(index + 1) << 56 |
                                       ((clock_of(host).count() + 1) & 0xff'ffff'ffff) << 16},
      apply_{host, random_.branch(), options.threads, [this](std::int64_t zxid) {
                 if (zxid == sync_answered) {
                     answer_sync();
                 } else {
                     apply(zxid);
                 }
             }}
{
}

front::~front()
{
    end();
}

void front::start(std::int64_t decided)
{
    apply(decided);
    look_for_idle();
}

void front::end()
{
    over_ = true;
    for (const auto& c : std::exchange(connections_, {})) {
        watches_.drop(*c);
        if (const auto link = std::exchange(c->link_, nullptr)) {
            link->close();
        }
    }
}

void front::accept(std::shared_ptr<stream> link)
{
    if (over_) {
        link->close();
        return;
    }
    auto c = std::make_shared<connection>();
    c->at_ = this;
    c->link_ = std::move(link);
    c->idle_until_ = idle_end(host_, c->timeout_);
    c->who_ = std::make_shared<const identities>(identities{{"ip", c->link_->there().name()}});
    const std::weak_ptr<front> self = weak_from_this();
    const std::weak_ptr<connection> weak = c;
    c->link_->handle({.connected = {},
                      .received =
                          [self, weak](message&& m) {
                              if (const auto f = self.lock()) {
                                  if (const auto to = weak.lock()) {
                                      f->received(to, std::move(m));
                                  }
                              }
                          },
                      .ended =
                          [self, weak] {
                              const auto f = self.lock();
                              const auto of = weak.lock();
                              if (f && of) {
                                  if (of->receiving_) {
                                      f->close(of);
                                  } else {
                                      of->end_unread_ = true;
                                  }
                              }
                          }});
    connections_.push_back(std::move(c));
}

void front::received(const shared_connection& c, message&& m)
{
    c->idle_until_ = idle_end(host_, c->timeout_);
    if (!c->receiving_) {
        c->unread_.push_back(std::move(m));
    } else if (c->link_) {
        handle(c, std::move(m));
    }
}

void front::handle(const shared_connection& c, message&& m)
{
    if (auto* asked = std::get_if<request>(&m); asked != nullptr && c->asked_) {
        submit(c, submitted::kind::call, asked->number, std::move(asked->call));
    } else if (std::holds_alternative<ping_request>(m) && c->asked_) {
        submit(c, submitted::kind::ping, 0, {});
    } else if (std::holds_alternative<close_request>(m) && c->asked_) {
        submit(c, submitted::kind::close_session, 0, {});
    } else if (const auto* auth = std::get_if<auth_request>(&m); auth != nullptr && c->asked_) {
        auto known = *c->who_;
        if (authenticate(auth->credential, c->link_->there().name(), known)) {
            c->who_ = std::make_shared<const identities>(std::move(known));
            c->link_->send(auth_reply{});
        } else {
            c->link_->send(auth_reply{colock::zookeeper_errc::auth_failed});
            close(c);
        }
    } else if (const auto* hello = std::get_if<connect_request>(&m);
               hello != nullptr && !c->asked_) {
        connect(c, *hello);
    } else {
        close(c);
    }
}

void front::connect(const shared_connection& c, const connect_request& m)
{
    c->asked_ = true;
    const auto least =
        options_.least_session.count() > 0 ? options_.least_session : 2 * options_.tick;
    const auto& own = options_.most_sessions; // the machines of the servers are the first ones
    const auto most = host_.number() < own.size()         ? own[host_.number()]
                      : options_.most_session.count() > 0 ? options_.most_session
                                                          : 20 * options_.tick;
    c->timeout_ = std::clamp(m.timeout, least, std::max(least, most));
    c->idle_until_ = idle_end(host_, c->timeout_);
    c->receiving_ = false;
    if (m.subject) {
        c->who_ =
            std::make_shared<const identities>(identities{c->who_->front(), {"x509", *m.subject}});
    }
    if (m.session.id == 0) {
        if (options_.old_session) {
            c->session_ = options_.old_session(static_cast<std::size_t>(next_session_ >> 56) - 1);
            close_session_of(c->session_);
        }
        if (c->session_ == 0) {
            c->session_ = next_session_++;
        }
        by_session_[c->session_] = c;
        role_.process(
            std::make_shared<const submitted>(submitted{.what = submitted::kind::open_session,
                                                        .origin = ++origins_,
                                                        .session = c->session_,
                                                        .timeout = c->timeout_,
                                                        .from = c}));
        return;
    }
    close_session_of(m.session.id);
    c->session_ = m.session.id;
    by_session_[c->session_] = c;
    if (m.session.password == password_of(c->session_, options_.actual.secret)) {
        revalidating_[c->session_] = c;
        role_.revalidate(c->session_, c->timeout_);
    } else {
        finish_session(c, false);
    }
}

void front::revalidated(std::int64_t session, bool valid)
{
    const auto at = revalidating_.find(session);
    if (at == revalidating_.end()) {
        return;
    }
    const auto c = at->second.lock();
    revalidating_.erase(at);
    if (c && c->link_) {
        finish_session(c, valid);
    }
}

void front::finish_session(const shared_connection& c, bool valid)
{
    if (!valid) {
        c->link_->send(connect_reply{});
        close(c);
        return;
    }
    c->link_->send(connect_reply{{c->session_, password_of(c->session_, options_.actual.secret)},
                                 c->timeout_});
    c->receiving_ = true;
    while (c->receiving_ && c->link_ && !c->unread_.empty()) {
        auto m = std::move(c->unread_.front());
        c->unread_.pop_front();
        handle(c, std::move(m));
    }
    if (c->receiving_ && c->end_unread_) {
        close(c);
    }
}

void front::submit(const shared_connection& c, submitted::kind what, std::int32_t number,
                   operation&& call)
{
    if (!role_.touch(c->session_, c->timeout_)) {
        return;
    }
    if (follows_ && !c->touched_) {
        c->touched_ = true;
        touched_.emplace_back(c->session_, c->timeout_);
        touched_connections_.push_back(c);
    }
    auto made = std::make_shared<submitted>();
    made->what = what;
    made->origin = ++origins_;
    made->session = c->session_;
    made->number = number;
    made->call = std::move(call);
    made->who = c->who_;
    made->throttled = what == submitted::kind::call && options_.throttled != 0 &&
                      random_.per_mille(options_.throttled);
    made->from = c;
    role_.process(std::move(made));
}

std::vector<std::pair<std::int64_t, std::chrono::milliseconds>> front::take_touched()
{
    for (const auto& c : touched_connections_) {
        c->touched_ = false;
    }
    touched_connections_.clear();
    return std::exchange(touched_, {});
}

void front::close(const shared_connection& c)
{
    const auto link = std::exchange(c->link_, nullptr);
    if (!link) {
        return;
    }
    link->close();
    watches_.drop(*c);
    if (const auto at = by_session_.find(c->session_);
        at != by_session_.end() && at->second.lock() == c) {
        by_session_.erase(at);
    }
    std::erase(connections_, c);
}

void front::close_session_of(std::int64_t session)
{
    if (const auto at = by_session_.find(session); at != by_session_.end()) {
        const auto c = at->second.lock();
        by_session_.erase(at);
        if (c) {
            close(c);
        }
    }
}

void front::look_for_idle()
{
    const auto now = clock_of(host_);
    std::vector<shared_connection> idle;
    std::ranges::copy_if(connections_, std::back_inserter(idle),
                         [now](const auto& c) { return c->idle_until_ <= now; });
    for (const auto& c : idle) {
        close(c);
    }
    host_.after((now / idle_check + 1) * idle_check - host_.clock(), [weak = weak_from_this()] {
        if (const auto self = weak.lock(); self && !self->over_) {
            self->look_for_idle();
        }
    });
}

} // namespace colock::simulated
