#include "private_network.hpp"

#include <exception>
#include <sstream>

namespace colock::test {

namespace {

constexpr std::size_t space_before = 0;
constexpr std::size_t space_here = 1;
constexpr std::size_t first_host = 2;

std::string name_of(lan which)
{
    return which == lan::clients ? "clients" : "peers";
}

// The end of a host's cable at the switch.
std::string port_of(std::size_t host, lan which)
{
    return name_of(which) + std::to_string(host);
}

std::string address_of(std::size_t host, lan which)
{
    return std::string("10.0.") + (which == lan::clients ? "1." : "2.") + std::to_string(host + 1);
}

} // namespace

std::string private_network::obstacle()
{
    try {
        private_network const trial(1);
        return {};
    } catch (std::exception const& e) {
        return e.what();
    }
}

private_network::private_network(std::size_t hosts)
{
    spaces_.emplace_back();
    try {
        spaces_.push_back(network_namespace::enter_new());
        std::ostringstream ours;
        ours << "link set lo up\n";
        for (auto const which : {lan::clients, lan::peers})
            ours << "link add " << name_of(which) << " type bridge\n"
                 << "link set " << name_of(which) << " up\n";
        ours << "address add 10.0.1.254/24 dev " << name_of(lan::clients) << "\n";
        for (std::size_t host = 0; host < hosts; ++host) {
            spaces_.push_back(network_namespace::make());
            std::ostringstream its;
            its << "link set lo up\n";
            for (auto const which : {lan::clients, lan::peers}) {
                ours << "link add " << port_of(host, which) << " type veth peer name "
                     << name_of(which) << " netns " << spaces_.back().path() << "\n"
                     << "link set " << port_of(host, which) << " up master " << name_of(which)
                     << "\n";
                its << "address add " << address_of(host, which) << "/24 dev " << name_of(which)
                    << "\n"
                    << "link set " << name_of(which) << " up\n";
            }
            spaces_[space_here].configure(ours.str());
            spaces_.back().configure(its.str());
            ours.str({});
        }
    } catch (...) {
        spaces_[space_before].enter();
        throw;
    }
}

private_network::~private_network()
{
    spaces_[space_before].enter();
}

std::vector<server_place> private_network::places() const
{
    std::vector<server_place> all;
    for (std::size_t host = 0; first_host + host < spaces_.size(); ++host)
        all.push_back({address_of(host, lan::clients), address_of(host, lan::peers),
                       spaces_[first_host + host].launcher()});
    return all;
}

std::vector<std::string> private_network::launcher() const
{
    return spaces_[space_here].launcher();
}

// A port that belongs to no switch has a carrier still, and is deaf and dumb.
void private_network::cut(std::size_t host, lan where)
{
    spaces_[space_here].configure("link set " + port_of(host, where) + " nomaster\n");
}

void private_network::restore(std::size_t host, lan where)
{
    spaces_[space_here].configure("link set " + port_of(host, where) + " master " + name_of(where) +
                                  "\n");
}

} // namespace colock::test
