// The name of a node, as a value.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
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
        if (size != 0) {
            auto text = std::make_shared_for_overwrite<char[]>(size);
            write(text.get());
            made.text_ = std::move(text);
            made.size_ = size;
        }
        return made;
    }

    operator std::string_view() const noexcept { return {text_.get(), size()}; }
    [[nodiscard]] bool empty() const noexcept { return text_ == nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return empty() ? 0 : size_; }

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
    std::shared_ptr<const char[]> text_;
    std::size_t size_ = 0;
};

} // namespace colock::protocol
