#include "zk/name_lookup.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <utility>

namespace colock::zk {

namespace {

found_addresses resolve(const std::string& name)
{
    using asio::ip::tcp;
    asio::io_context own; // Asio has no resolver without one; nothing runs in it
    tcp::resolver resolver{own};
    found_addresses all;
    for (const auto& found :
         resolver.resolve(name, "0", asio::ip::resolver_base::numeric_service, all.error)) {
        all.addresses.push_back(found.endpoint().address().to_string());
    }
    return all;
}

} // namespace

std::shared_ptr<name_lookup> look_up(const strand_type& strand, std::string name,
                                     name_lookup::answer then)
{
    return name_lookup::start(
        strand,
        [name = std::move(name)](const error_code& failed) {
            return failed ? found_addresses{failed, {}} : resolve(name);
        },
        std::move(then));
}

} // namespace colock::zk
