// The name of a node, as a value.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace colock::protocol {

// Copies share the text: a contender, its commands and its watches have the same few names. Immutable, so copies may be
// used, and destroyed, in several threads.
class node_name {
public:
    node_name() noexcept = default;
    template <std::convertible_to<std::string_view> Text>
        requires(!std::same_as<Text, node_name>)
    node_name(const Text& text)
        : node_name{written(std::string_view{text}.size(),
                            [&](char* to) { std::ranges::copy(std::string_view{text}, to); })}
    {
    }
    // Of so many characters, which `write` writes.
    template <class Write>
    [[nodiscard]] static node_name written(std::size_t size, Write&& write)
    {
        node_name made;
        made.of_ = make(size);
        if (made.of_ != nullptr) {
            write(characters_of(made.of_));
        }
        return made;
    }
    node_name(const node_name& other) noexcept : of_{other.of_}
    {
        if (of_ != nullptr) {
            of_->users.fetch_add(1, std::memory_order_relaxed);
        }
    }
    node_name(node_name&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    node_name& operator=(node_name other) noexcept
    {
        std::swap(of_, other.of_);
        return *this;
    }
    ~node_name()
    {
        if (of_ != nullptr && of_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            of_->~shared_text();
            ::operator delete(of_);
        }
    }

    operator std::string_view() const noexcept
    {
        return of_ == nullptr ? std::string_view{}
                              : std::string_view{characters_of(of_), of_->size};
    }
    [[nodiscard]] bool empty() const noexcept { return of_ == nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return of_ == nullptr ? 0 : of_->size; }

    template <std::convertible_to<std::string_view> Text>
    friend bool operator==(const node_name& a, const Text& b) noexcept
    {
        return std::string_view{a} == std::string_view{b};
    }

    [[nodiscard]] friend std::string operator+(const node_name& name, std::string_view end)
    {
        return std::string{name}.append(end);
    }

private:
    struct shared_text { // in front of the characters
        std::atomic<std::uint32_t> users;
        std::uint32_t size;
    };

    static char* characters_of(shared_text* text) noexcept
    {
        return static_cast<char*>(static_cast<void*>(text + 1));
    }
    static shared_text* make(std::size_t size)
    {
        if (size == 0) {
            return nullptr;
        }
        void* const memory = ::operator new(sizeof(shared_text) + size);
        return ::new (memory) shared_text{{1}, static_cast<std::uint32_t>(size)};
    }

    shared_text* of_ = nullptr;
};

} // namespace colock::protocol
