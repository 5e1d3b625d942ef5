// The way of the bytes between the C client's descriptor and the server.
#pragma once

#include "zk/strand.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace colock::zk {

class sasl_mechanism;
struct sasl_word;

// Why a connection has failed.
struct wire_fault {
    enum class kind { network, tls, identity }; // the last: the server refuses the client

    std::string text = {}; // empty when the wire does not know
    kind of = kind::network;
};

// How many bytes came; or that nothing came now, or nothing will come any more.
struct received {
    std::size_t count = 0;
    bool over = false;
};

// No function waits.
class wire {
public:
    wire() = default;
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;
    virtual ~wire() = default;

    // The address that the C client has to be given.
    [[nodiscard]] virtual const std::string& address_for_client() const noexcept = 0;
    // The C client has opened this descriptor, and begun to connect. False when there is no other one left.
    [[nodiscard]] virtual bool attach(int descriptor) = 0;
    [[nodiscard]] virtual bool is_attached() const noexcept = 0;

    // What to wait for, once attached.
    [[nodiscard]] virtual stream& socket() noexcept = 0;
    // There are bytes to be read for which the socket does not wake anybody.
    [[nodiscard]] virtual bool holds_unread() const noexcept = 0;

    // ---- from the server

    [[nodiscard]] virtual bool has_unread() const noexcept = 0;
    [[nodiscard]] virtual received receive(char* into, std::size_t size) = 0;
    // Whether the C client may read what look() has shown from its own descriptor. Else receive() is the only way.
    [[nodiscard]] virtual bool is_direct() const noexcept = 0;
    // As receive(), but the bytes stay where they are. Only where is_direct().
    [[nodiscard]] virtual received look(char* into, std::size_t size) = 0;

    // What was received is given to the C client: begin_giving(), give() as long as anything is left, end_giving().
    // False when there is no descriptor left.
    [[nodiscard]] virtual bool begin_giving() noexcept = 0;
    // Takes off `bytes` what the C client can read now. False when that is nothing.
    [[nodiscard]] virtual bool give(std::string_view& bytes) noexcept = 0;
    // `open`: the C client has not closed its descriptor.
    virtual void end_giving(bool open) noexcept = 0;

    // ---- to the server

    // `on`: the C client's writes are held back. What is held back may leave all the same.
    virtual void hold_back(bool on) noexcept = 0;
    // Takes off `bytes` what is brought on, of words that are not the C client's: only while that has nothing to say. False
    // when the connection is broken.
    [[nodiscard]] virtual bool say(std::string_view& bytes) = 0;
    // Brings on what the C client has written. False when the connection is broken.
    [[nodiscard]] virtual bool carry() = 0;
    // There is something left to carry(), once the socket can be written.
    [[nodiscard]] virtual bool has_unsent() const noexcept = 0;
    // What the C client writes is taken at once, whatever the socket's state is.
    [[nodiscard]] virtual bool takes_at_once() const noexcept = 0;

    [[nodiscard]] virtual wire_fault fault() const = 0;
    // Ends the connection.
    virtual void close() noexcept = 0;
    // Gives up the socket, which is for the caller to close. What is not sent is lost.
    [[nodiscard]] virtual int release() = 0;
};

// Plain TCP: the socket is the C client's own. `address` is numeric.
[[nodiscard]] std::unique_ptr<wire> make_plain_wire(const strand_type& strand, std::string address);

// The same way, with SASL on it: before the C client gets the answer to its handshake, the server learns who the client is.
// `first`: the mechanism's first word. `moved` is called on the strand when there is something to carry or to receive that the
// socket does not show; not after close().
[[nodiscard]] std::unique_ptr<wire> with_sasl(std::unique_ptr<wire> way, const strand_type& strand,
                                              std::shared_ptr<sasl_mechanism> mechanism,
                                              sasl_word first, std::function<void()> moved);

} // namespace colock::zk
