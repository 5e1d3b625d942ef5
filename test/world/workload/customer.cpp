#include "customer.hpp"

#include <algorithm>

namespace world::workload {

using namespace std::chrono_literals;

namespace {

// From most to a millionth of it, each order of magnitude as likely as the others.
std::chrono::nanoseconds drawn(random& chance, std::chrono::nanoseconds most)
{
    auto upper = most;
    for (auto steps = chance.below(6); steps > 0; --steps) {
        upper /= 10;
    }
    return chance.between(0ns, upper);
}

} // namespace

std::chrono::nanoseconds some_time(random& chance, std::chrono::nanoseconds most)
{
    return drawn(chance, most);
}

bool is_known(const scene& in, std::int64_t session)
{
    return std::ranges::any_of(in.customers, [session](const customer* each) {
        return each->zk && each->zk->session_id() == session;
    });
}

customer::customer(scene& in, process& on, std::shared_ptr<const check::life> of,
                   check::journal::actor name, random r)
    : all{in}, home{on}, life{std::move(of)}, who{name}, chance{r},
      foreign{in.guarded && chance.per_mille(200)}, done_{on.context()}
{
    colock::client_options options;
    options.hosts = all.hosts;
    options.session_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(
        chance.between(all.least_timeout, all.most_timeout));
    options.tick = draw_tick(options.session_timeout);
    options.connect_timeout = chance.per_mille(500) ? std::chrono::milliseconds::max() : 10s;
    options.close_timeout = std::chrono::milliseconds{chance.between(100, 5000)};
    if (chance.per_mille(300)) {
        chroot_ = all.chroot;
        options.chroot = chroot_;
    }
    if (all.guarded && !foreign) {
        options.credentials = {{"digest", "program:secret"}};
        options.acl = colock::creator_acl();
    } else if (foreign && chance.per_mille(500)) {
        options.credentials = {{"digest", "stranger:secret"}};
    }
    if (all.rare == rarity::permissions) {
        // Only errors: other lines come from timers and reads that the world would not have without a log.
        options.log_threshold = colock::log_level::error;
        // A client that was destroyed may log while it ends its session, when the customer is gone, too.
        options.log = [this, alive = std::weak_ptr{alive_}](colock::log_level,
                                                            std::string_view text) {
            if (!alive.expired() && zk &&
                text.find("a node may remain until the session ends") != text.npos) {
                all.may_leave_nodes.insert(zk->session_id());
            }
        };
    }
    if (home.find_guard) {
        options.session_guard.helper = "guard";
    }
    zk.emplace(home.context(), options);
    all.customers.insert(this);
    draw_lock_options();
    lines_.resize(all.places.size());
}

// Some clients believe that the servers' ticks are longer than they are, by as much as their session leaves room for.
std::chrono::milliseconds customer::draw_tick(std::chrono::milliseconds session)
{
    if (all.too_small_ticks) {
        return all.tick / chance.between(8, 16);
    }
    if (!chance.per_mille(250)) {
        return all.tick;
    }
    // What attainable() of session/validity.hpp leaves of the session is to be longer than each lead. A server may
    // grant the shortest session instead of the one that the client asks for.
    const auto sure = std::min(session, all.surest_timeout);
    const auto most = (sure * 65 / 100 - longest_lead()) * 4 / 5;
    return most <= all.tick
               ? all.tick
               : std::chrono::milliseconds{chance.between(all.tick.count(), most.count())};
}

std::chrono::milliseconds customer::longest_lead() const
{
    return all.least_timeout / 5;
}

void customer::draw_lock_options()
{
    for (const auto& p : all.places) {
        colock::lock_options o;
        o.layout = p.layout;
        if (p.kind == lock_kind::semaphore || p.kind == lock_kind::single_node_mutex) {
            o.layout.reset(); // they have names of their own
        }
        constexpr std::uint64_t grants[] = {0, 1, 2, 64};
        o.max_local_grants = grants[chance.below(4)];
        o.max_local_time = std::chrono::milliseconds{1 + chance.below(200)};
        const bool queue = p.kind == lock_kind::mutex || p.kind == lock_kind::recursive_mutex ||
                           p.kind == lock_kind::shared_mutex;
        if (queue && o.max_local_grants > 0 && chance.per_mille(500)) {
            o.linger = std::chrono::milliseconds{chance.between(1, 1000)};
            o.max_linger = o.linger * chance.between(1, 5);
        }
        o.rejoin_on_expiry = chance.per_mille(700);
        if (chance.per_mille(300) && !all.too_small_ticks) {
            o.safety_margin = std::chrono::milliseconds{chance.between(1, longest_lead().count())};
        }
        o.cancel_when_revoked = chance.per_mille(500) && p.kind != lock_kind::semaphore;
        if (chance.per_mille(300)) {
            o.owner_data = std::string(chance.below(100), 'x');
        }
        options_.push_back(std::move(o));
    }
}

std::string customer::path(const std::string& whole) const
{
    return whole.substr(chroot_.size());
}

asio::awaitable<void> customer::pause(std::chrono::nanoseconds least, std::chrono::nanoseconds most)
{
    asio::steady_timer timer{home.context(), chance.between(least, most)};
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

void customer::remark(std::string_view text) const
{
    all.journal.note(check::deed::remark, who, 0, [&] { return std::string{text}; });
}

void customer::ended(const char* what, colock::error_code ec) const
{
    using colock::errc;
    all.journal.note(check::deed::refused, who, ec.value(),
                     [&] { return std::string{what} + ": " + ec.message(); });
    constexpr errc surprises[] = {
        errc::invalid_path,     errc::invalid_hosts,       errc::invalid_option,
        errc::unknown_host,     errc::no_chroot,           errc::conflicting_use,
        errc::conflicting_kind, errc::sequence_exhausted,  errc::duplicate_sequence,
        errc::owner_waits,      errc::too_many_permits,    errc::conflicting_maximum,
        errc::invalid_counter,  errc::path_twice,          errc::several_clients,
        errc::nothing_to_lock,  errc::not_ephemeral,       errc::request_too_large,
        errc::cannot_guard,     errc::unlock_out_of_order, errc::session_full};
    // What those without credentials create is open to all.
    if (ec == colock::zookeeper_errc::no_auth && !foreign && all.rare != rarity::permissions) {
        all.found.add("errors", std::string{what} + " of " + all.journal.name_of(who) +
                                    " ends with \"" + ec.message() + "\", with credentials");
    }
    const auto is_it = [&](errc e) { return ec == e; };
    if (std::ranges::any_of(surprises, is_it) && std::ranges::none_of(all.expected, is_it)) {
        all.found.add("errors", std::string{what} + " of " + all.journal.name_of(who) +
                                    " ends with \"" + ec.message() +
                                    "\": " + (zk ? zk->last_error_detail() : ""));
    }
}

customer::limited customer::begin_limited(std::chrono::nanoseconds limit) const
{
    return {limit, all.time.now(), home.on().stops()};
}

void customer::ended_limited(const char* what, const limited& of, colock::error_code ec) const
{
    const auto took = all.time.now() - of.since;
    if (ec == asio::error::operation_aborted) {
        return; // a total cancellation lasts until the node is gone, whatever the limit was
    }
    // One whose limit passes before it begins asks a server once. Clocks differ by a hundredth.
    if (of.limit > 10ms && took > of.limit + of.limit / 50 + 1ms && of.stops == home.on().stops()) {
        all.found.add("deadline", std::string{what} + " of " + all.journal.name_of(who) +
                                      " has a limit of " + check::text_of(of.limit) +
                                      " s, and ends after " + check::text_of(took));
    }
}

std::uint64_t customer::stand_in_line(std::size_t place)
{
    lines_[place].insert(++came_);
    return came_;
}

void customer::leave_line(std::size_t place, std::uint64_t number, bool granted)
{
    auto& line = lines_[place];
    if (granted && *line.begin() != number && options_[place].max_local_grants > 0) {
        all.found.add("G2 local order", all.journal.name_of(who) + " grants " + at(place).path +
                                            " to a waiter before one that came earlier");
    }
    line.erase(number);
}

void customer::engage(asio::awaitable<void> user)
{
    ++users_;
    asio::co_spawn(home.context(), std::move(user),
                   [self = shared_from_this()](std::exception_ptr e) {
                       if (e) {
                           std::rethrow_exception(e);
                       }
                       if (--self->users_ == 0) {
                           self->done_.cancel();
                       }
                   });
}

asio::awaitable<void> customer::all_done()
{
    while (users_ > 0) {
        done_.expires_after(std::chrono::hours{1});
        co_await done_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

// ---- canceller

struct canceller::state {
    explicit state(asio::io_context& context) : timer{context} {}

    asio::cancellation_signal signal;
    asio::steady_timer timer;
    std::optional<instant> ended; // by a type that does not wait
};

canceller::canceller(customer& of, random& chance)
    : of_{of}, chance_{chance}, state_{std::make_shared<state>(of.home.context())}
{
}

void canceller::after(std::chrono::nanoseconds delay, asio::cancellation_type type)
{
    state_->timer.expires_after(delay);
    state_->timer.async_wait([s = state_, type, &time = of_.all.time](colock::error_code ec) {
        if (!ec) {
            if (type != asio::cancellation_type::total) {
                s->ended = time.now();
            }
            s->signal.emit(type);
        }
    });
}

void canceller::perhaps(unsigned per_mille)
{
    if (chance_.per_mille(per_mille)) {
        constexpr asio::cancellation_type types[] = {
            asio::cancellation_type::terminal, asio::cancellation_type::partial,
            asio::cancellation_type::total, asio::cancellation_type::all};
        after(some_time(chance_, 3s), types[chance_.below(4)]);
    }
}

void canceller::completed(const char* what) const
{
    if (state_->ended && of_.all.time.now() != *state_->ended) {
        of_.all.found.add("cancellation", std::string{what} + " of " +
                                              of_.all.journal.name_of(of_.who) +
                                              " was cancelled at " +
                                              check::text_of(*state_->ended) + ", and goes on");
    }
}

asio::cancellation_slot canceller::slot()
{
    return state_->signal.slot();
}

} // namespace world::workload
