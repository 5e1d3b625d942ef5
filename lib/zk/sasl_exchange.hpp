// What a client and a server say by SASL, between the answer to the handshake and the first request. Pure: bytes and words
// in, bytes out. The mechanism has its first word ready before: who cannot say who it is asks for no session.
//
// The C client sees nothing of it: it gets the answer to the handshake when the exchange is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace colock::zk {

// What a mechanism says in the place of the client.
struct sasl_word {
    std::string token = {}; // for the server
    bool complete = false;  // the mechanism is content; there may be a token all the same
    std::string fault = {}; // there is nothing more to say, and why
};

class sasl_exchange {
public:
    // A ticket of Kerberos takes a few thousand bytes, with the groups of a user some ten thousand.
    static constexpr std::int32_t largest_token = 64 * 1024;
    static constexpr int most_rounds = 16;

    enum class stage {
        answer,   // the server's answer to the handshake is awaited
        thinking, // the mechanism has the word
        reply,    // the server has it
        over,     // answer() is for the C client
        failed
    };

    explicit sasl_exchange(sasl_word first) : first_{std::move(first)} {}

    [[nodiscard]] stage now() const noexcept { return stage_; }

    // ---- from the server

    // How many bytes may be taken next. The connection is of no use when any come while this is 0.
    [[nodiscard]] std::size_t wanted() const noexcept;
    void take(std::string_view bytes);

    // ---- the mechanism, while it is thinking

    [[nodiscard]] const std::string& challenge() const noexcept { return challenge_; }
    void spoke(sasl_word word);

    // ---- to the server

    [[nodiscard]] std::string_view unsent() const noexcept
    {
        return std::string_view{out_}.substr(sent_);
    }
    void sent(std::size_t count) noexcept { sent_ += count; }

    // ---- the end

    // Of the handshake, as far as it has not been given away.
    [[nodiscard]] std::string& answer() noexcept { return answer_; }
    [[nodiscard]] bool has_answer() const noexcept { return !answer_.empty(); }
    void fail(std::string why, bool refused = false);
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
    // The server does not take the client for whom it says it is.
    [[nodiscard]] bool is_refused() const noexcept { return refused_; }

private:
    void read_answer();
    void read_reply();
    void say(std::string_view token);

    sasl_word first_;
    stage stage_ = stage::answer;
    std::string answer_;
    std::string reply_;
    std::string challenge_;
    bool complete_ = false; // the mechanism is
    int rounds_ = 0;        // the number of the last request, too
    std::string out_;
    std::size_t sent_ = 0;
    std::string fault_;
    bool refused_ = false;
};

} // namespace colock::zk
