#include "tcp_proxy.hpp"

#include "blocking_socket.hpp"
#include "tcp_proxy_impl.hpp"

#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

namespace colock::test {

namespace {

constexpr std::size_t log_size = 10'000;

tcp::endpoint resolve(std::string_view target)
{
    auto const hosts = parse_hosts(target);
    if (hosts.size() != 1)
        throw std::invalid_argument("tcp_proxy: one target, not \"" + std::string(target) + "\"");
    error_code error;
    auto const address = asio::ip::make_address(hosts[0].host, error);
    if (error)
        throw std::invalid_argument("tcp_proxy: the target \"" + std::string(target) +
                                    "\" is not a numeric address");
    return {address, hosts[0].port};
}

} // namespace

void tcp_proxy::impl::listen()
{
    tcp::endpoint const here(asio::ip::address_v4::loopback(), port.number());
    acceptor.open(here.protocol());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind(here);
    acceptor.listen();
    ++listening;
    accept();
}

void tcp_proxy::impl::accept()
{
    acceptor.async_accept([this, time = listening](error_code error, tcp::socket socket) {
        if (!acceptor.is_open() || time != listening) {
            if (!error)
                close_with_reset(socket);
            return;
        }
        if (!error) {
            ++accepted;
            if (closing_at_once) {
                close_with_reset(socket);
            } else {
                links.push_back(std::make_shared<link>(*this, std::move(socket), accepted));
                links.back()->resume();
            }
        }
        accept();
    });
}

void tcp_proxy::impl::resume_all()
{
    // A copy: a link that has come to its end takes itself out of the list.
    auto const all = links;
    for (auto const& each : all)
        each->resume();
}

void tcp_proxy::impl::forget(link const* gone)
{
    std::erase_if(links, [&](auto const& each) { return each.get() == gone; });
}

void tcp_proxy::impl::record(std::size_t number, direction going, frame const& f, char const* fate)
{
    if (!logging)
        return;
    std::chrono::duration<double, std::milli> const age = clock::now() - born;
    char head[160];
    std::snprintf(head, sizeof head, "%10.3f ms  #%zu %s %s", age.count(), number,
                  going == direction::to_server ? "->" : "<-",
                  f.kind ? colock::test::name_of(*f.kind) : "unknown");
    std::string line = head;
    if (f.kind != opcode::connect)
        line += " xid " + std::to_string(f.xid);
    if (going == direction::to_client && f.kind != opcode::connect)
        line += " error " + std::to_string(f.error);
    if (!f.path.empty())
        line += " " + f.path;
    if (*fate)
        line += std::string(": ") + fate;
    log.push_back(std::move(line));
    if (log.size() > log_size)
        log.pop_front();
}

std::shared_ptr<tcp_proxy::rule_state> tcp_proxy::impl::choose(direction going, frame const& f)
{
    std::shared_ptr<rule_state> chosen;
    for (auto const& rule : rules) {
        auto const& details = rule->details;
        bool const exhausted = details.times != 0 && rule->chosen == details.times;
        if (exhausted || !rule->matches(going, f) || ++rule->seen < details.nth || chosen)
            continue;
        ++rule->chosen;
        chosen = rule;
    }
    return chosen;
}

std::size_t tcp_proxy::impl::count(direction going, opcode_set const& which)
{
    std::size_t sum = 0;
    for (auto const& [kind, number] : delivered[going == direction::to_server ? 0 : 1])
        if (which.contains(kind))
            sum += number;
    return sum;
}

bool tcp_proxy::rule::wait(std::chrono::milliseconds timeout, unsigned count) const
{
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, timeout, [&] { return state_->fired >= count; });
}

unsigned tcp_proxy::rule::fired() const
{
    std::lock_guard lock(state_->mutex);
    return state_->fired;
}

void tcp_proxy::rule::release()
{
    auto const owner = state_->owner.lock();
    if (!owner)
        return;
    owner->call([&] {
        state_->ended = true;
        owner->resume_all();
    });
}

tcp_proxy::tcp_proxy(std::string_view target)
    : tcp_proxy(std::make_shared<impl>(resolve(target), proxy_contexts()))
{
}

tcp_proxy::tcp_proxy(std::string_view target, proxy_tls const& tls)
    : tcp_proxy(std::make_shared<impl>(resolve(target), *tls.contexts_))
{
}

tcp_proxy::tcp_proxy(std::shared_ptr<impl> made) : impl_(std::move(made))
{
    impl_->listen();
    // Signals are for the threads of the program, this one must not take any from them.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    impl_->thread = std::thread([proxy = impl_.get()] { proxy->run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

tcp_proxy::~tcp_proxy()
{
    {
        std::lock_guard lock(impl_->lifecycle);
        impl_->closed = true;
        asio::post(impl_->io, [proxy = impl_.get()] {
            auto const all = proxy->links;
            for (auto const& each : all)
                each->cut(cut_kind::reset);
            proxy->io.stop();
        });
    }
    impl_->thread.join();
}

std::uint16_t tcp_proxy::port() const
{
    return impl_->port.number();
}

std::string tcp_proxy::connect_string() const
{
    return impl_->port.address();
}

void tcp_proxy::set_target(std::string_view target)
{
    auto const resolved = resolve(target);
    impl_->call([&] { impl_->target = resolved; });
}

void tcp_proxy::set_delay(std::chrono::microseconds one_way)
{
    if (one_way.count() < 0)
        throw std::invalid_argument("tcp_proxy: a delay cannot be negative");
    impl_->call([&] { impl_->delay = one_way; });
}

std::size_t tcp_proxy::cut(cut_kind how)
{
    std::size_t number = 0;
    impl_->call([&] {
        auto const all = impl_->links;
        for (auto const& each : all) {
            number += each->live();
            each->cut(how);
        }
    });
    return number;
}

void tcp_proxy::refuse(bool on, refusal how)
{
    error_code failed;
    impl_->call([&] {
        bool const listens = !on || how == refusal::close_at_once;
        impl_->closing_at_once = on && how == refusal::close_at_once;
        if (!listens) {
            error_code ignored;
            impl_->acceptor.close(ignored);
        } else if (!impl_->acceptor.is_open()) {
            try {
                impl_->listen();
            } catch (boost::system::system_error const& failure) {
                failed = failure.code();
            }
        }
    });
    if (failed)
        throw std::runtime_error("tcp_proxy: cannot listen on " + connect_string() +
                                 " again: " + failed.message());
}

void tcp_proxy::stall(bool on)
{
    impl_->call([&] {
        impl_->stalled[0] = impl_->stalled[1] = on;
        impl_->resume_all();
    });
}

void tcp_proxy::stall(bool on, direction which)
{
    impl_->call([&] {
        impl_->stalled[which == direction::to_server ? 0 : 1] = on;
        impl_->resume_all();
    });
}

tcp_proxy::rule tcp_proxy::on_request(opcode_set which, reaction what, rule_options details)
{
    if (what == reaction::deliver_and_cut)
        throw std::invalid_argument(
            "tcp_proxy: a request that is delivered and then cut may be lost "
            "all the same; drop its reply instead");
    if (what == reaction::replace)
        throw std::invalid_argument("tcp_proxy: only replies can be replaced");
    return add_rule(direction::to_server, std::move(which), what, std::move(details));
}

tcp_proxy::rule tcp_proxy::on_reply(opcode_set which, reaction what, rule_options details)
{
    return add_rule(direction::to_client, std::move(which), what, std::move(details));
}

tcp_proxy::rule tcp_proxy::add_rule(direction where, opcode_set which, reaction what,
                                    rule_options details)
{
    auto state = std::make_shared<rule_state>();
    state->owner = impl_;
    state->where = where;
    state->which = std::move(which);
    state->what = what;
    state->details = std::move(details);
    impl_->call([&] { impl_->rules.push_back(state); });
    return rule(std::move(state));
}

void tcp_proxy::clear_rules()
{
    impl_->call([&] {
        for (auto const& each : impl_->rules)
            each->ended = true;
        impl_->rules.clear();
        impl_->resume_all();
    });
}

std::size_t tcp_proxy::accepted() const
{
    std::size_t number = 0;
    impl_->call([&] { number = impl_->accepted; });
    return number;
}

std::size_t tcp_proxy::live() const
{
    std::ptrdiff_t number = 0;
    impl_->call([&] {
        number = std::count_if(impl_->links.begin(), impl_->links.end(),
                               [](auto const& each) { return each->live(); });
    });
    return static_cast<std::size_t>(number);
}

std::size_t tcp_proxy::requests(opcode_set which) const
{
    std::size_t number = 0;
    impl_->call([&] { number = impl_->count(direction::to_server, which); });
    return number;
}

std::size_t tcp_proxy::replies(opcode_set which) const
{
    std::size_t number = 0;
    impl_->call([&] { number = impl_->count(direction::to_client, which); });
    return number;
}

std::uint64_t tcp_proxy::bytes() const
{
    std::uint64_t number = 0;
    impl_->call([&] { number = impl_->bytes; });
    return number;
}

std::vector<session_identity> tcp_proxy::sessions() const
{
    std::vector<session_identity> all;
    impl_->call([&] { all = impl_->sessions; });
    return all;
}

void tcp_proxy::log_frames(bool on)
{
    impl_->call([&] { impl_->logging = on; });
}

std::vector<std::string> tcp_proxy::frame_log() const
{
    std::vector<std::string> lines;
    impl_->call([&] { lines.assign(impl_->log.begin(), impl_->log.end()); });
    return lines;
}

} // namespace colock::test
