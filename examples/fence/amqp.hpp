// What fenced_rabbitmq and its consumer have in common: messages on RabbitMQ that carry a token. Failures throw
// `std::runtime_error`.
#ifndef COLOCK_EXAMPLES_FENCE_AMQP_HPP
#define COLOCK_EXAMPLES_FENCE_AMQP_HPP

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <sys/time.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace amqp {

struct message {
    std::string type; // of a question "read" or "write"; of an answer "accepted" or "refused"
    std::string text = {};
    std::string token = {};
    std::string id = {};       // an answer has that of its question
    std::string reply_to = {}; // the queue that takes the answer, if somebody waits for it
    std::uint64_t number = 0;  // of the delivery
};

inline constexpr const char* questions = "notes";
inline constexpr const char* answers = "amq.rabbitmq.reply-to"; // to each connection its own

class connection {
public:
    // Receives from one of the two queues.
    connection(const std::string& port, const std::string& queue)
    {
        check(amqp_socket_open(amqp_tcp_socket_new(state()), "127.0.0.1", std::stoi(port)), "open");
        // No heartbeats: nobody sends them while the program asks for a text.
        check(amqp_login(state(), "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN,
                         "guest", "guest"),
              "login");
        amqp_channel_open(state(), channel);
        check(amqp_get_rpc_reply(state()), "channel");
        const bool durable = true;
        amqp_queue_declare(state(), channel, bytes(questions), 0, durable, 0, 0, amqp_empty_table);
        check(amqp_get_rpc_reply(state()), questions);
        const bool unacknowledged = queue == answers;
        const bool alone = true;
        amqp_basic_consume(state(), channel, bytes(queue), amqp_empty_bytes, 0, unacknowledged,
                           alone, amqp_empty_table);
        check(amqp_get_rpc_reply(state()), queue);
    }

    void send(const std::string& queue, const message& sent)
    {
        amqp_table_entry_t token{};
        token.key = bytes("fencing-token");
        token.value.kind = AMQP_FIELD_KIND_UTF8;
        token.value.value.bytes = bytes(sent.token);
        amqp_basic_properties_t with{};
        with._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_TYPE_FLAG |
                      AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
        with._flags |= sent.reply_to.empty() ? 0U : AMQP_BASIC_REPLY_TO_FLAG;
        with.headers = {1, &token};
        with.type = bytes(sent.type);
        with.correlation_id = bytes(sent.id);
        with.reply_to = bytes(sent.reply_to);
        with.delivery_mode = AMQP_DELIVERY_PERSISTENT;
        check(amqp_basic_publish(state(), channel, amqp_empty_bytes, bytes(queue), 0, 0, &with,
                                 bytes(sent.text)),
              "publish");
    }

    message receive(const timeval* limit = nullptr)
    {
        amqp_maybe_release_buffers(state());
        amqp_envelope_t delivery;
        check(amqp_consume_message(state(), &delivery, limit, 0), "receive");
        const std::unique_ptr<amqp_envelope_t, decltype(&amqp_destroy_envelope)> owner{
            &delivery, &amqp_destroy_envelope};
        const auto& with = delivery.message.properties;
        message got{text(with.type), text(delivery.message.body)};
        got.id = text(with.correlation_id);
        got.reply_to = text(with.reply_to);
        got.number = delivery.delivery_tag;
        for (int i = 0; i != with.headers.num_entries; ++i) {
            const auto& header = with.headers.entries[i];
            if (text(header.key) == "fencing-token" && header.value.kind == AMQP_FIELD_KIND_UTF8) {
                got.token = text(header.value.value.bytes);
            }
        }
        return got;
    }

    // What the consumer answers. When it does not, it may carry out the question later.
    message ask(message question)
    {
        question.id = std::to_string(++asked_);
        question.reply_to = answers;
        send(questions, question);
        for (;;) {
            const timeval limit{5, 0};
            auto answer = receive(&limit);
            if (answer.id == question.id) { // and not that of a question before it
                return answer;
            }
        }
    }

    // The broker forgets a message that was carried out, and one that was refused; that one goes to the queue's dead
    // letters, if it has such.
    void settle(const message& done, bool accepted)
    {
        check(accepted ? amqp_basic_ack(state(), channel, done.number, 0)
                       : amqp_basic_reject(state(), channel, done.number, 0),
              "settle");
    }

private:
    static constexpr amqp_channel_t channel = 1;

    static amqp_bytes_t bytes(std::string_view text)
    {
        return {text.size(), const_cast<char*>(text.data())};
    }
    static std::string text(const amqp_bytes_t& bytes)
    {
        return bytes.len == 0 ? "" : std::string{static_cast<const char*>(bytes.bytes), bytes.len};
    }

    static void check(int status, const std::string& what)
    {
        if (status != AMQP_STATUS_OK) {
            throw std::runtime_error{what + ": " + amqp_error_string2(status)};
        }
    }
    static void check(const amqp_rpc_reply_t& reply, const std::string& what)
    {
        if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) {
            throw std::runtime_error{what + ": the broker refuses"};
        }
        check(reply.library_error, what);
    }

    amqp_connection_state_t state() const { return state_.get(); }

    std::unique_ptr<amqp_connection_state_t_, decltype(&amqp_destroy_connection)> state_{
        amqp_new_connection(), &amqp_destroy_connection};
    int asked_ = 0;
};

} // namespace amqp

#endif
