// A thread of a server with its queue: it handles what comes at once, or falls behind for a while.
#pragma once

#include "machine.hpp"
#include "random.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace colock::simulated {

// So many times in a thousand a thread falls behind when something comes to it, for up to so long.
struct pauses {
    unsigned per_mille = 0;
    std::chrono::nanoseconds longest{};
};

template <class Item>
class stage {
public:
    // The pauses may change at any time, and have to live as long as this does.
    stage(machine& host, random chance, const pauses& p, std::function<void(Item)> handle)
        : host_{host}, random_{chance}, pauses_{p}, handle_{std::move(handle)}
    {
    }
    stage(const stage&) = delete;
    stage& operator=(const stage&) = delete;

    void put(Item item)
    {
        if (busy_) {
            waiting_.push_back(std::move(item));
            return;
        }
        if (pauses_.longest.count() > 0 && random_.per_mille(pauses_.per_mille)) {
            busy_ = true;
            waiting_.push_back(std::move(item));
            host_.after(random_.between(std::chrono::nanoseconds{1}, pauses_.longest),
                        [this, life = std::weak_ptr<bool>{life_}] {
                            if (!life.expired()) {
                                catch_up();
                            }
                        });
            return;
        }
        busy_ = true;
        const std::weak_ptr<bool> life = life_;
        handle_(std::move(item));
        if (!life.expired()) {
            catch_up();
        }
    }

private:
    void catch_up()
    {
        const std::weak_ptr<bool> life = life_;
        while (!waiting_.empty()) {
            auto item = std::move(waiting_.front());
            waiting_.pop_front();
            handle_(std::move(item));
            if (life.expired()) {
                return;
            }
        }
        busy_ = false;
    }

    machine& host_;
    random random_;
    const pauses& pauses_;
    std::function<void(Item)> handle_;
    std::deque<Item> waiting_;
    bool busy_ = false;
    std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

} // namespace colock::simulated
