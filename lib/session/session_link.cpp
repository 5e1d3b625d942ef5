#include "session/session_link.hpp"

#include "report/boot_clock.hpp"

#include <utility>

namespace colock::detail {

namespace session = protocol::session;

session_link::session_link(client_basics& basics)
    : basics_{basics}, addresses_{std::make_shared<zk::address_book>(basics.strand.executor(),
                                                                     *basics.strand)},
      tls_{basics.options.tls}
{
}

void session_link::read_hosts()
{
    addresses_->assign(zk::parse_hosts(basics_.options.hosts).hosts);
}

std::vector<session::address> session_link::addresses()
{
    std::vector<session::address> all;
    for (auto& each : addresses_->addresses()) {
        const bool unread = old_sockets_.is_open(each);
        all.push_back({std::move(each), unread});
    }
    return all;
}

zk::server session_link::server_at(const std::string& address) const
{
    const auto& o = basics_.options;
    zk::server to{.address = address};
    if (tls_) {
        to.tls = zk::terms_of(tls_, addresses_->names_of(address), o.tls_server_name, o.tls_verify);
    }
    if (!o.sasl.mechanism.empty()) {
        to.sasl = zk::make_sasl_mechanism(zk::terms_of(o.sasl, addresses_->names_of(address)));
    }
    return to;
}

std::optional<zk::connection::fault_report>
session_link::open(const std::string& address, std::chrono::nanoseconds timeout,
                   const std::vector<credential>& credentials, zk::connection::observer& told,
                   zk::watch_receiver& watches)
{
    began_ = boot_clock::now();
    write_lost_ = false;
    identity_demanded_ = false;
    basics_.count.connect_attempts.fetch_add(1, std::memory_order_relaxed);
    basics_.log.write(log_level::debug, "connecting to " + address);
    connection_ = zk::make_connection(*basics_.strand, basics_.strand.client().lock(), told,
                                      basics_.count.wakeups);
    if (!connection_->open(server_at(address), basics_.options.chroot,
                           std::chrono::duration_cast<std::chrono::milliseconds>(timeout),
                           basics_.session.identity(), credentials, watches)) {
        return std::exchange(connection_, nullptr)->fault();
    }
    return std::nullopt;
}

zk::connection::fault_report session_link::fault() const
{
    return connection_ ? connection_->fault() : zk::connection::fault_report{};
}

session::loss session_link::loss_of(zk::handle::status why, bool refused) const
{
    const auto known = fault();
    return why == zk::handle::status::expired ? session::loss::expired
           : refused                          ? session::loss::credentials_refused
           : identity_demanded_               ? session::loss::identity_demanded
           : known.of_identity                ? session::loss::credentials_refused
           : known.of_tls                     ? session::loss::tls_failed
           : known.lacks_descriptors          ? session::loss::no_descriptors
                                              : session::loss::broken;
}

void session_link::close(bool last_words)
{
    established_ = false;
    if (const auto connection = std::exchange(connection_, nullptr)) {
        connection->close(last_words);
    }
}

void session_link::discard(bool last_words) noexcept
{
    close(last_words);
    old_sockets_.clear();
    addresses_.reset();
}

} // namespace colock::detail
