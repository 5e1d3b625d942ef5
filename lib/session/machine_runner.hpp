// Carries out what a state machine decides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace colock::detail {

// On one strand. Commands are carried out in the order in which they were decided, whatever carrying one out brings about: an
// input that comes meanwhile has its commands after those at hand.
template <class Command>
class machine_runner {
public:
    using commands = std::vector<Command>;

    // Where an input appends its commands, before run().
    [[nodiscard]] commands& decided() noexcept
    {
        if (decided_.capacity() == 0 && !thread_ends_) {
            decided_.swap(spare_.memory);
        }
        return decided_;
    }

    // Returns false, and does nothing, within another run. `perform` takes a command, and may return false: that one, and those
    // after it, wait for the next run. `turn` makes an object that lives while the commands at hand are carried out, such as a
    // batch of requests; its end may be an input, too.
    template <class Perform, class Turn>
    bool run(Perform&& perform, Turn&& turn)
    {
        if (std::exchange(running_, true)) {
            return false;
        }
        bool goes_on = true;
        while (goes_on && !decided_.empty()) {
            [[maybe_unused]] const auto together = turn();
            std::size_t done = 0;
            while (goes_on && done < decided_.size()) { // which changes on the way
                auto command = std::move(decided_[done]);
                if constexpr (std::is_void_v<decltype(perform(command))>) {
                    perform(command);
                } else {
                    goes_on = perform(command);
                }
                if (goes_on) {
                    ++done;
                } else {
                    decided_[done] = std::move(command);
                }
            }
            done = std::min(done, decided_.size());
            decided_.erase(decided_.begin(), decided_.begin() + static_cast<std::ptrdiff_t>(done));
        }
        running_ = false;
        if (decided_.empty() && !thread_ends_) {
            decided_.swap(spare_.memory);
            decided_ = commands{}; // without its memory
        }
        return true;
    }
    template <class Perform>
    bool run(Perform&& perform)
    {
        return run(std::forward<Perform>(perform), [] { return 0; });
    }

    // Nothing of it is carried out any more.
    void forget() { decided_.clear(); }

private:
    struct spare {
        spare() = default;
        spare(const spare&) = delete;
        spare& operator=(const spare&) = delete;
        ~spare() { thread_ends_ = true; }

        commands memory;
    };

    // Trivially destructible: a static client ends after the main thread's other objects.
    inline static thread_local constinit bool thread_ends_ = false;
    // Most machines have nothing to do at a time: their commands use the same memory one after the other.
    inline static thread_local spare spare_;

    commands decided_;
    bool running_ = false;
};

} // namespace colock::detail
