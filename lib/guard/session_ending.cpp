#include "guard/session_ending.hpp"

#include "report/boot_clock.hpp"
#include "zk/tls_terms.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace colock::guard {

using namespace std::chrono_literals;

namespace {

// A server that has gone refuses at once; one that is cut off says nothing. Each pass has twice the patience of the one
// before: a server that is slow to resume the session has renewed it each time.
constexpr auto patience = 1s;
constexpr auto patience_to_end = 4s; // once the session is resumed
constexpr auto first_pause = 20ms;
constexpr auto longest_pause = 1s;

} // namespace

void end_sessions(const asio::any_io_executor& executor, std::vector<ending> all,
                  const std::function<void()>& done)
{
    const zk::strand_type strand{zk::strand_base{executor}};
    const auto left = std::make_shared<std::size_t>(all.size());
    for (auto& each : all) {
        const auto ended = [left, done] {
            if (--*left == 0) {
                done();
            }
        };
        auto context = each.session.tls ? context_of_material(each.tls.text) : nullptr;
        if (each.session.tls && !context) {
            ended();
            continue;
        }
        std::make_shared<session_ending>(executor, strand, std::move(each.session),
                                         std::move(context))
            ->start(each.until, ended);
    }
}

session_ending::session_ending(const asio::any_io_executor& executor, const zk::strand_type& strand,
                               guarded_session session, std::shared_ptr<asio::ssl::context> context)
    : strand_{strand}, session_{std::move(session)}, context_{std::move(context)},
      servers_{std::make_shared<zk::address_book>(executor, strand)}, timer_{strand}
{
}

void session_ending::start(std::chrono::nanoseconds last, std::function<void()> done)
{
    last_ = last;
    done_ = std::move(done);
    servers_->assign(zk::parse_hosts(session_.hosts).hosts);
    begin_pass();
}

bool session_ending::is_too_late() const
{
    return detail::boot_clock::now() >= last_;
}

void session_ending::begin_pass()
{
    servers_->refresh([self = shared_from_this()] {
        if (self->done_ && self->left_.empty() && !self->connection_) {
            self->left_ = self->servers_->addresses(); // a name is known
            self->try_next();
        }
    });
    left_ = servers_->addresses();
    try_next();
}

void session_ending::try_next()
{
    drop();
    while (!left_.empty() && !is_too_late()) {
        const auto address = std::move(left_.back());
        left_.pop_back();
        if (open(address)) {
            after(patience * (1U << std::min(passes_, 4U)), [this] { try_next(); });
            return;
        }
        connection_.reset();
    }
    if (is_too_late()) {
        finish();
        return;
    }
    after(std::min<std::chrono::nanoseconds>(longest_pause,
                                             first_pause * (1U << std::min(passes_, 10U))),
          [this] { begin_pass(); });
    ++passes_;
}

bool session_ending::open(const std::string& address)
{
    zk::server to{.address = address};
    if (context_) {
        to.tls = zk::terms_of(context_, servers_->names_of(address), session_.tls_server_name,
                              session_.tls_verify);
    }
    connection_ = zk::make_connection(strand_, shared_from_this(), *this, wakeups_);
    return connection_->open(to, {}, session_.timeout, session_.identity, session_.credentials,
                             *this);
}

template <class Then>
void session_ending::after(std::chrono::nanoseconds time, Then then)
{
    timer_.expires_after(std::min(time, last_ - detail::boot_clock::now()));
    timer_.async_wait([self = shared_from_this(), mine = ++turn_, then](const error_code& ec) {
        if (!ec && mine == self->turn_ && self->done_) {
            then();
        }
    });
}

void session_ending::established()
{
    if (is_too_late()) { // this process was stopped
        finish();
        return;
    }
    after(patience_to_end, [this] { try_next(); });
    connection_->end_session([self = shared_from_this()](bool confirmed) {
        self->connection_.reset();
        // If it was not confirmed, the next server says whether the session is over.
        confirmed ? self->finish() : self->try_next();
    });
}

void session_ending::broken(zk::handle::status why)
{
    if (why == zk::handle::status::expired) {
        finish();
        return;
    }
    asio::post(strand_, [self = shared_from_this(), mine = turn_] {
        if (mine == self->turn_ && self->done_) {
            self->try_next();
        }
    });
}

void session_ending::drop() noexcept
{
    ++turn_;
    timer_.cancel();
    if (const auto connection = std::exchange(connection_, nullptr)) {
        connection->close();
    }
}

void session_ending::finish()
{
    drop();
    left_.clear();
    servers_->cancel();
    if (const auto done = std::exchange(done_, nullptr)) {
        done();
    }
}

} // namespace colock::guard
