#include "program/failure.hpp"

#include <colock/log.hpp>

namespace colock::cli {

namespace {

struct advice {
    exit_status status;
    std::string_view what_to_do;
};

advice advice_for(const error_code& ec)
{
    if (ec == errc::unknown_host || ec == errc::no_server || ec == errc::connect_timeout ||
        ec == errc::disconnected || ec == errc::not_connected ||
        ec == zookeeper_errc::connection_loss) {
        return {no_zookeeper, "check --servers (or COLOCK_SERVERS) and the network; "
                              "`colock doctor` tells more"};
    }
    if (ec == errc::tls_failed) {
        return {no_zookeeper, "check --tls-ca, --tls-cert, --tls-server-name and the port"};
    }
    if (ec == errc::no_chroot) {
        return {refused, "create the node that --servers names behind the last server"};
    }
    if (ec == zookeeper_errc::auth_failed) {
        return {refused, "check the file of --auth"};
    }
    if (ec == zookeeper_errc::no_auth) {
        return {refused, "use --auth with an identity that may, or change the access control list"};
    }
    if (ec == errc::conflicting_kind) {
        return {refused, "use the kind of lock that the others use, or another path"};
    }
    if (ec == errc::conflicting_maximum) {
        return {refused, "use the number of permits that the others use"};
    }
    if (ec == condition::lock_lost) {
        return {lost, {}};
    }
    if (ec == errc::invalid_path || ec == errc::invalid_hosts || ec == errc::invalid_option ||
        ec == errc::too_many_permits) {
        return {usage, {}};
    }
    if (ec.category() == boost::system::system_category() ||
        ec.category() == boost::system::generic_category()) {
        return {usage, {}}; // this machine, such as too many open files
    }
    return {refused, {}};
}

} // namespace

failure failure_of(const error_code& ec, std::string_view detail)
{
    const auto [status, what_to_do] = advice_for(ec);
    auto line = printable(detail.empty() ? ec.message() : std::string{detail});
    if (!what_to_do.empty()) {
        line += "; ";
        line += what_to_do;
    }
    return {status, line};
}

} // namespace colock::cli
