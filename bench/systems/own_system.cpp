#include "own_system.hpp"

namespace bench {

void own_system::lock(const std::string&)
{
    throw not_supported{};
}

void own_system::unlock(const std::string&)
{
    throw not_supported{};
}

std::string own_system::work(const std::string&, const std::string&)
{
    throw not_supported{};
}

std::vector<cycle_time> own_system::cycles(const std::string&, int)
{
    throw not_supported{};
}

std::vector<clock::duration> own_system::reads(int)
{
    throw not_supported{};
}

long own_system::contend(const std::string&, contention)
{
    throw not_supported{};
}

long own_system::rw_contend(const std::string&, contention, int)
{
    throw not_supported{};
}

long own_system::many(const std::string&, int, int, std::chrono::milliseconds)
{
    throw not_supported{};
}

void own_system::queue_up(const std::string&, int)
{
    throw not_supported{};
}

clock::duration own_system::drain(const std::string&, int)
{
    throw not_supported{};
}

void own_system::share(const std::string&, int, int, const std::string&)
{
    throw not_supported{};
}

void own_system::leave()
{
    throw not_supported{};
}

std::unique_ptr<own_system> make(std::string_view name, const std::string& hosts,
                                 std::chrono::milliseconds timeout)
{
    constexpr struct {
        std::string_view name;
        make_own_system make;
    } known[] = {{"colock", &make_colock},
                 {"colock-tls", &make_colock_tls},
                 {"colock-guarded", &make_colock_guarded},
                 {"raw", &make_raw},
                 {"raw-tuned", &make_raw_tuned},
                 {"herd-children", &make_herd_children},
                 {"herd-holder", &make_herd_holder}};
    for (const auto& each : known) {
        if (each.name == name) {
            return each.make(hosts, timeout);
        }
    }
    throw std::runtime_error{"this program is no " + std::string{name}};
}

} // namespace bench
