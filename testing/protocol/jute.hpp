// The bytes of ZooKeeper's protocol: numbers, texts and lists, as its generator Jute writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::testing {

// Of bytes from anybody. What cannot be read reads as nothing, and so does everything after it.
class jute_reader {
public:
    explicit jute_reader(std::string_view bytes) noexcept : left_{bytes} {}

    // False when the bytes ended too early, or a length made no sense.
    [[nodiscard]] bool is_good() const noexcept { return good_; }
    [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }

    bool boolean();
    std::int32_t integer();
    std::int64_t longer();
    std::string text(); // a string or a buffer; none reads as an empty one
    std::vector<std::string> texts();
    // The length of a list whose elements take so many bytes each, or more.
    std::size_t count(std::size_t least);

private:
    [[nodiscard]] std::string_view take(std::size_t size);

    std::string_view left_;
    bool good_ = true;
};

// Appends.
class jute_writer {
public:
    explicit jute_writer(std::string& to) noexcept : to_{to} {}

    jute_writer& boolean(bool value);
    jute_writer& integer(std::int32_t value);
    jute_writer& longer(std::int64_t value);
    jute_writer& text(std::string_view value);
    jute_writer& count(std::size_t value); // of a list

private:
    std::string& to_;
};

} // namespace colock::testing
