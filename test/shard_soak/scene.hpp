// The server, the processes and the store of a run, and what is done to them.
#ifndef COLOCK_TEST_SHARD_SOAK_SCENE_HPP
#define COLOCK_TEST_SHARD_SOAK_SCENE_HPP

#include <support/subprocess.hpp>
#include <support/temporary_directory.hpp>
#include <support/zookeeper_server.hpp>

#include "history.hpp"
#include "plan.hpp"

#include <chaos/register.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <fault/own_helper.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace soak {

struct scene_settings {
    std::size_t shards = 512;
    std::size_t processes = 20;
    std::string worker;
};

inline constexpr std::chrono::milliseconds session{6000};
inline constexpr std::chrono::milliseconds tick{1000};

// One thread uses it.
class scene {
public:
    using clock = std::chrono::steady_clock;

    // Starts everything, and returns when all shards are owned, evenly. Throws std::runtime_error.
    explicit scene(const scene_settings& s);
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;

    // Begins it, and orders its end. Says what was done, and to whom; empty when there is nobody to do it to.
    std::string begin(const fault& f);
    // Carries out the actions that are due. The caller has to call it often.
    void go_on();
    // Returns when no fault is left, all processes run, and all shards are owned, evenly; or is late: false.
    bool calm_down(std::chrono::seconds limit);
    // Ends all processes in order. What is left of them, and at the server.
    std::vector<std::string> finish(std::chrono::seconds limit);

    // To be asked at the end.
    [[nodiscard]] history what_happened() const;
    // Processes that ended when they should not have, or did not when they should.
    [[nodiscard]] const std::vector<std::string>& complaints() const noexcept
    {
        return complaints_;
    }
    void keep(const std::string& directory) const;

private:
    enum class condition { runs, stopped, ending, down };
    struct place {
        std::unique_ptr<colock::test::subprocess> process;
        scene::condition condition = condition::down;
        soak::process* last = nullptr; // of the process
        int launches = 0;
        clock::time_point deadline{};       // of its end
        std::chrono::milliseconds pause{0}; // after it
    };

    void start(place& p);
    void start_later(place& p, std::chrono::milliseconds pause);
    void later(std::chrono::milliseconds delay, std::function<void()> action);
    void watch(place& p);
    void complain(const place& p, const std::string& what);
    void resume(place& p);
    [[nodiscard]] bool is_even() const;
    [[nodiscard]] std::string file_of(const std::string& name) const;

    const scene_settings settings_;
    colock::test::temporary_directory directory_;
    colock::test::own_helper helper_;
    chaos::fenced_register store_;
    colock::test::zookeeper_server server_;
    bool server_serves_ = true;
    std::deque<process> processes_; // without their turns
    std::deque<place> places_;
    std::vector<interval> outages_;
    std::multimap<clock::time_point, std::function<void()>> due_;
    std::vector<std::string> complaints_;
    nanoseconds from_ = 0;
    nanoseconds to_ = 0;
    bool finishing_ = false;
};

} // namespace soak

#endif
