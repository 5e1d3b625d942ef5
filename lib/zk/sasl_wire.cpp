// SASL on a wire.
#include "zk/blocking_call.hpp"
#include "zk/sasl_mechanism.hpp"
#include "zk/secret.hpp"
#include "zk/wire.hpp"

#include <algorithm>
#include <utility>

namespace colock::zk {

namespace {

class sasl_wire final : public wire {
public:
    sasl_wire(std::unique_ptr<wire> way, const strand_type& strand,
              std::shared_ptr<sasl_mechanism> mechanism, sasl_word first,
              std::function<void()> moved)
        : way_{std::move(way)}, strand_{strand},
          mechanism_{std::move(mechanism)}, moved_{std::move(moved)}, exchange_{std::move(first)}
    {
    }
    ~sasl_wire() override { forget(); }

    [[nodiscard]] const std::string& address_for_client() const noexcept override
    {
        return way_->address_for_client();
    }
    [[nodiscard]] bool attach(int descriptor) override { return way_->attach(descriptor); }
    [[nodiscard]] bool is_attached() const noexcept override { return way_->is_attached(); }
    [[nodiscard]] stream& socket() noexcept override { return way_->socket(); }

    [[nodiscard]] bool holds_unread() const noexcept override
    {
        return exchange_.now() == stage::failed || holds_answer() || way_->holds_unread();
    }
    [[nodiscard]] bool has_unread() const noexcept override
    {
        return holds_answer() || way_->has_unread();
    }
    [[nodiscard]] received receive(char* into, std::size_t size) override
    {
        while (exchange_.now() != stage::over && exchange_.now() != stage::failed) {
            if (const auto came = converse(); came.count == 0) {
                return came;
            }
        }
        if (exchange_.now() == stage::failed) {
            return {.over = true};
        }
        if (holds_answer()) {
            return give_answer(into, size);
        }
        return way_->receive(into, size);
    }
    [[nodiscard]] bool is_direct() const noexcept override
    {
        return exchange_.now() == stage::over && !holds_answer() && way_->is_direct();
    }
    [[nodiscard]] received look(char* into, std::size_t size) override
    {
        return way_->look(into, size);
    }

    [[nodiscard]] bool begin_giving() noexcept override { return way_->begin_giving(); }
    [[nodiscard]] bool give(std::string_view& bytes) noexcept override { return way_->give(bytes); }
    void end_giving(bool open) noexcept override { way_->end_giving(open); }

    void hold_back(bool on) noexcept override { way_->hold_back(on); }
    [[nodiscard]] bool say(std::string_view& bytes) override { return way_->say(bytes); }
    [[nodiscard]] bool carry() override
    {
        for (auto left = exchange_.unsent(); !left.empty();) {
            const auto before = left.size();
            if (!way_->say(left)) {
                return false;
            }
            exchange_.sent(before - left.size());
            if (left.size() == before) {
                break;
            }
        }
        return way_->carry();
    }
    [[nodiscard]] bool has_unsent() const noexcept override
    {
        return !exchange_.unsent().empty() || way_->has_unsent();
    }
    [[nodiscard]] bool takes_at_once() const noexcept override { return way_->takes_at_once(); }

    [[nodiscard]] wire_fault fault() const override
    {
        if (exchange_.now() != stage::failed) {
            return way_->fault();
        }
        return {"SASL " + mechanism_->name() + ": " + exchange_.fault(),
                exchange_.is_refused() ? wire_fault::kind::identity : wire_fault::kind::network};
    }
    void close() noexcept override
    {
        forget();
        way_->close();
    }
    [[nodiscard]] int release() override { return way_->release(); }

private:
    using stage = sasl_exchange::stage;
    using spoken_word = blocking_call<sasl_word>;

    [[nodiscard]] bool holds_answer() const noexcept
    {
        return exchange_.now() == stage::over && exchange_.has_answer();
    }
    [[nodiscard]] received give_answer(char* into, std::size_t size)
    {
        auto& answer = exchange_.answer();
        const auto count = std::min(size, answer.size() - given_);
        std::copy_n(answer.data() + given_, count, into);
        given_ += count;
        if (given_ == answer.size()) {
            wipe(answer); // it has the session's password
        }
        return {.count = count};
    }

    // While the mechanism thinks nothing should come but the end. Bytes that were left in the socket would wake the connection
    // again and again.
    [[nodiscard]] received converse()
    {
        char bytes[4096];
        const auto wanted = exchange_.wanted();
        const auto came = way_->receive(bytes, std::clamp<std::size_t>(wanted, 1, sizeof bytes));
        if (came.over && exchange_.now() != stage::answer) {
            exchange_.fail("the server closed the connection");
        }
        if (came.count == 0) {
            return came;
        }
        if (wanted == 0) {
            exchange_.fail("the server speaks before it is asked");
        } else {
            exchange_.take({bytes, came.count});
            ::explicit_bzero(bytes, came.count); // there may be the session's password
            if (exchange_.now() == stage::thinking) {
                think();
            }
        }
        return came;
    }

    void think()
    {
        thought_ = spoken_word::start(
            strand_,
            [mechanism = mechanism_, challenge = exchange_.challenge()](const error_code& failed) {
                return failed ? sasl_word{.fault = failed.message()} : mechanism->answer(challenge);
            },
            [this](sasl_word word) {
                thought_.reset();
                exchange_.spoke(std::move(word));
                const auto moved = moved_; // it may drop this wire
                moved();
            });
    }
    void forget() noexcept
    {
        if (const auto thought = std::exchange(thought_, nullptr)) {
            thought->forget();
        }
    }

    std::unique_ptr<wire> way_;
    strand_type strand_;
    std::shared_ptr<sasl_mechanism> mechanism_;
    std::function<void()> moved_;
    std::shared_ptr<spoken_word> thought_; // while the mechanism has the word
    sasl_exchange exchange_;
    std::size_t given_ = 0; // of the answer to the handshake
};

} // namespace

std::unique_ptr<wire> with_sasl(std::unique_ptr<wire> way, const strand_type& strand,
                                std::shared_ptr<sasl_mechanism> mechanism, sasl_word first,
                                std::function<void()> moved)
{
    return std::make_unique<sasl_wire>(std::move(way), strand, std::move(mechanism),
                                       std::move(first), std::move(moved));
}

} // namespace colock::zk
