// Checks what a server sends before the C client reads it. Pure: bytes in, a verdict out.
//
// The C client 3.8 trusts its server. It asserts that a request is outstanding for each reply, ignores that a body
// is too short for what it reads from it, and hands on what then lies in its memory. So it only ever gets whole
// frames that have passed here.
#pragma once

#include "zk/call.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace colock::zk {

class frame_guard {
public:
    // Of a frame, without the four bytes of its length. The largest that a working server sends is the list of a
    // directory; ZooKeeper's Java client refuses one of more than a megabyte.
    static constexpr std::int32_t largest_frame = 32 << 20;

    // Of a list. Measured in a release build, with names of 55 bytes: the C client and this library hold the executor
    // for about 30 ms with so many, and for about 60 ms with 400,000. The frame has room for millions of short names.
    static constexpr std::int32_t most_names = 250'000;

    // Of an access control list, which takes longer. A megabyte, more than servers take by default, has 45,000.
    static constexpr std::int32_t most_acl_entries = 50'000;

    enum class finding {
        whole,   // a frame begins here, is complete, and may be handed to the C client
        partial, // more bytes are needed to say so
        endless, // the answer to a read is larger than `largest_frame`, and its header is there: see cut_off()
        refused, // the C client must not see it: the connection is of no use any more
    };

    struct verdict {
        finding found = finding::partial;
        // Of the frame, with its length; as far as that is known, else of what is needed next.
        std::size_t size = 0;
        std::string why = {}; // it was refused
        // A whole frame with more than `most_names` or `most_acl_entries`, which were not looked at: the C client must
        // see it without its body, as curtailed() makes it.
        bool excessive = false;
    };

    // `session`: the one that is to be taken over, or 0. The server answers each of the credentials once. The C client puts
    // the chroot before the paths of requests; it may be empty, or "/".
    frame_guard(std::int64_t session, std::size_t credentials, std::string chroot = {});

    // A request has been handed to the C client.
    void sent(const call& c);
    // So have credentials, after those of the beginning.
    void authenticates() noexcept { ++credentials_; }

    // `bytes` begin where a frame begins. What was found whole is not to be shown again.
    [[nodiscard]] verdict look(std::string_view bytes);

    // The same reply without its body, as one that could not be read: marshalling_error.
    [[nodiscard]] static std::string curtailed(std::string_view frame);
    // The same for an endless frame, of which `bytes` need to be the header only. The rest is not to be shown.
    [[nodiscard]] std::string cut_off(std::string_view bytes);

    // Whether the next frame is the answer to the handshake.
    [[nodiscard]] bool in_handshake() const noexcept { return in_handshake_; }
    // Requests without a reply.
    [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_.size(); }
    // That the last reply has. Whether it is the request's, the C client sees.
    [[nodiscard]] std::int32_t last_number() const noexcept { return number_; }

private:
    // As small as can be: a deque of them allocates from time to time.
    struct request {
        std::uint8_t op;
        bool numbered;       // the server appends a number
        std::uint16_t path;  // how much of `paths_` is its path, where the reply has to say it
        std::uint32_t steps; // of a transaction
    };
    struct step {
        std::uint8_t kind;
        bool numbered;
        std::uint16_t path;
    };

    [[nodiscard]] std::string fault_of_handshake(std::string_view body);
    [[nodiscard]] std::string fault_of(std::string_view body);
    [[nodiscard]] const char* fault_of_reply(std::int32_t error, std::string_view content);
    [[nodiscard]] bool may_be_endless(std::string_view bytes) const noexcept;
    void take_off_request();
    // Of `paths_`.
    std::uint16_t remember(std::string_view path);
    void forget(std::size_t size) noexcept;
    // Whether a server calls a node so that it was asked about, or asked to create.
    [[nodiscard]] bool is_path_of(std::string_view answer, std::string_view asked,
                                  bool numbered) const noexcept;

    const std::string chroot_;
    std::int64_t session_;
    std::size_t credentials_; // that the server has not answered
    bool in_handshake_ = true;
    std::int32_t number_ = 0;
    bool excessive_ = false;          // the frame that was looked at last
    std::deque<request> outstanding_; // in the order of their replies
    std::deque<step> steps_;          // of all transactions among them
    std::string paths_;               // of both, one after the other
    std::size_t paths_begin_ = 0;     // those before it are answered
};

} // namespace colock::zk
