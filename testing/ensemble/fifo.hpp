// A queue that keeps its memory.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace colock::simulated {

template <class T>
class fifo {
public:
    [[nodiscard]] bool empty() const noexcept { return first_ == all_.size(); }
    [[nodiscard]] std::size_t size() const noexcept { return all_.size() - first_; }
    [[nodiscard]] T& front() noexcept { return all_[first_]; }
    [[nodiscard]] T& back() noexcept { return all_.back(); }

    void push(T value) { all_.push_back(std::move(value)); }

    T pop()
    {
        T value = std::move(all_[first_]);
        if (++first_ == all_.size()) {
            clear();
        } else if (first_ >= 64 && first_ * 2 >= all_.size()) {
            all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(first_));
            first_ = 0;
        }
        return value;
    }

    void clear() noexcept
    {
        all_.clear();
        first_ = 0;
    }

private:
    std::vector<T> all_;
    std::size_t first_ = 0;
};

} // namespace colock::simulated
