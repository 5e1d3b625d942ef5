#include "zk/sasl_exchange.hpp"

#include <colock/error.hpp>

#include "zk/frame_fields.hpp"

#include <utility>

namespace colock::zk {

namespace {

constexpr std::int32_t sasl_request = 102;

// Of a frame whose length has come.
std::int32_t length_of(std::string_view frame) noexcept
{
    return frame_fields{frame}.integer();
}

} // namespace

std::size_t sasl_exchange::wanted() const noexcept
{
    if (stage_ != stage::answer && stage_ != stage::reply) {
        return 0;
    }
    const auto& frame = stage_ == stage::answer ? answer_ : reply_;
    if (frame.size() < length_size) {
        return length_size - frame.size();
    }
    return length_size + static_cast<std::size_t>(length_of(frame)) - frame.size();
}

void sasl_exchange::take(std::string_view bytes)
{
    auto& frame = stage_ == stage::answer ? answer_ : reply_;
    frame += bytes;
    if (frame.size() < length_size) {
        return;
    }
    const auto length = length_of(frame);
    if (stage_ == stage::answer) {
        if (length < 0 || length > static_cast<std::int32_t>(handshake_size)) {
            stage_ = stage::over; // whoever reads on refuses it
        } else if (wanted() == 0) {
            read_answer();
        }
    } else if (length < static_cast<std::int32_t>(header_size) ||
               length > largest_token + static_cast<std::int32_t>(header_size + length_size)) {
        fail("the server sent a frame of " + std::to_string(length) + " bytes");
    } else if (wanted() == 0) {
        read_reply();
    }
}

void sasl_exchange::read_answer()
{
    frame_fields in{std::string_view{answer_}.substr(length_size)};
    static_cast<void>(in.integer()); // version
    const auto timeout = in.integer();
    const auto session = in.longer();
    stage_ = timeout > 0 && session != 0 ? stage::thinking : stage::over;
    spoke(std::exchange(first_, {}));
}

void sasl_exchange::read_reply()
{
    const auto frame = std::exchange(reply_, {});
    frame_fields in{std::string_view{frame}.substr(length_size)};
    const auto number = in.integer();
    static_cast<void>(in.longer()); // zxid
    const auto error = static_cast<zookeeper_errc>(in.integer());
    const auto size = in.integer();
    if (number != rounds_) {
        fail("the server sent something else than its answer");
    } else if (error == zookeeper_errc::auth_failed ||
               error == zookeeper_errc::session_closed_require_sasl_auth) {
        fail("the server refuses the client", true);
    } else if (error != zookeeper_errc{}) {
        fail("the server answers with error " + std::to_string(static_cast<std::int32_t>(error)));
    } else if (in.cut()) {
        fail("the server sent an answer that is cut short");
    } else if (size != -1 && size != static_cast<std::int64_t>(in.left())) {
        fail("the server sent an answer of another length than it says");
    } else if (complete_) {
        stage_ = stage::over;
    } else if (size == -1) {
        fail("the server has nothing to say: is it configured for SASL?");
    } else if (rounds_ == most_rounds) {
        fail("there is no end of it");
    } else {
        challenge_ = in.bytes(in.left());
        stage_ = stage::thinking;
    }
}

void sasl_exchange::spoke(sasl_word word)
{
    if (stage_ != stage::thinking) {
        return; // it is over, or has failed meanwhile
    }
    complete_ = word.complete;
    if (!word.fault.empty()) {
        fail(std::move(word.fault));
    } else if (word.token.size() > static_cast<std::size_t>(largest_token)) {
        fail("a token of " + std::to_string(word.token.size()) + " bytes is too large");
    } else if (complete_ && word.token.empty() && rounds_ != 0) {
        stage_ = stage::over; // it was the server that had the last word
    } else {
        say(word.token);
        stage_ = stage::reply;
    }
}

void sasl_exchange::say(std::string_view token)
{
    out_.clear();
    sent_ = 0;
    append(out_, static_cast<std::int32_t>(4 + 4 + length_size + token.size()));
    append(out_, ++rounds_);
    append(out_, sasl_request);
    append(out_, token);
}

void sasl_exchange::fail(std::string why, bool refused)
{
    stage_ = stage::failed;
    fault_ = std::move(why);
    refused_ = refused;
    answer_.clear();
}

} // namespace colock::zk
