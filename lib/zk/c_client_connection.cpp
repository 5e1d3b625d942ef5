// Drives one handle from the user's executor: the socket of its wire, waited for, and one timer.
#include "zk/blocking_call.hpp"
#include "zk/connection.hpp"
#include "zk/descriptor.hpp"
#include "zk/moving_deadline.hpp"
#include "zk/sasl_mechanism.hpp"
#include "zk/secret.hpp"
#include "zk/tls_wire.hpp"

#include <fcntl.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace colock::zk {

namespace {

// So many packets are processed before other handlers of the executor get their turn.
constexpr int packets_a_turn = 64;

class c_client_connection final : public connection,
                                  public std::enable_shared_from_this<c_client_connection> {
public:
    c_client_connection(const strand_type& strand, std::shared_ptr<void> owner, observer& told,
                        std::atomic<std::uint64_t>& wakeups);

    [[nodiscard]] bool open(const server& to, const std::string& chroot,
                            std::chrono::milliseconds session_timeout,
                            const session_identity& session,
                            const std::vector<credential>& credentials,
                            watch_receiver& watches) override;
    // The C client writes what the socket takes.
    [[nodiscard]] error_code send(const call& c, receiver& to) override;
    [[nodiscard]] bool authenticate(const credential& c) override;
    void flush() override;
    void end_session(std::function<void(bool confirmed)> done) override;
    void close(bool last_words = false) noexcept override;

    [[nodiscard]] fault_report fault() const override;
    [[nodiscard]] session_identity session() const noexcept override { return handle_->session(); }
    [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept override
    {
        return handle_->session_timeout();
    }

private:
    class library_call;

    struct opening;
    [[nodiscard]] bool connect(const std::shared_ptr<opening>& told);
    void take_wire(std::unique_ptr<wire> way, opening& told);
    [[nodiscard]] bool open_handle(const opening& told);
    [[nodiscard]] bool is_established() const noexcept
    {
        return progress_ == progress::established;
    }
    void step();
    void drain();
    bool settle();
    [[nodiscard]] bool attach(int descriptor);
    [[nodiscard]] bool carry();
    void wait_readable();
    void wait_writable();
    void on_readable();
    void on_writable();
    void on_timer();
    void try_to_end();
    void carry_end();
    void await_end();

    strand_type strand_;
    std::shared_ptr<void> owner_;
    observer& observer_;
    std::atomic<std::uint64_t>& wakeups_;

    std::string address_;
    std::shared_ptr<blocking_call<sasl_word>> first_word_; // until the mechanism has one
    std::shared_ptr<tls_connector> connector_;             // until there is a wire
    fault_report early_fault_;                             // of what comes before the wire
    std::unique_ptr<wire> wire_;
    std::unique_ptr<handle> handle_; // empty before there is a wire, and once closed
    stream writable_;                // the wire's socket, while it is waited for
    moving_deadline deadline_;       // the C client's: until then it has nothing to time out

    enum class progress { begun, offered, established } progress_ = progress::begun;
    // A close is only requested while the C client is on the stack.
    enum class closing { no, at_once, with_last_words, closed } closing_ = closing::no;
    bool reading_ = false;
    bool writing_ = false;
    bool in_library_ = false; // a function of the C client is on the stack
    bool in_step_ = false;
    std::function<void(bool)> ended_; // set while the session is being ended
    // Once the close was sent: so many bytes of an earlier answer come before its own.
    std::optional<std::size_t> end_sent_;
    std::string end_tail_; // of what came after the close: the confirmation, or where it may begin
};

// Marks that the C client is on the stack, where the handle must not be destroyed.
class c_client_connection::library_call {
public:
    explicit library_call(c_client_connection& c) noexcept
        : flag_{c.in_library_}, before_{c.in_library_}
    {
        flag_ = true;
    }
    library_call(const library_call&) = delete;
    library_call& operator=(const library_call&) = delete;
    ~library_call() { flag_ = before_; }

private:
    bool& flag_;
    bool before_;
};

c_client_connection::c_client_connection(const strand_type& strand, std::shared_ptr<void> owner,
                                         observer& told, std::atomic<std::uint64_t>& wakeups)
    : strand_{strand}, owner_{std::move(owner)}, observer_{told}, wakeups_{wakeups},
      writable_{strand_}, deadline_{strand_}
{
}

// What the handle gets, once there is a wire.
struct c_client_connection::opening {
    server to;
    std::string chroot;
    std::chrono::milliseconds session_timeout;
    session_identity session;
    std::vector<credential> credentials;
    watch_receiver& watches;
    sasl_word first = {};

    ~opening()
    {
        wipe(session);
        wipe(credentials);
    }
};

bool c_client_connection::open(const server& to, const std::string& chroot,
                               std::chrono::milliseconds session_timeout,
                               const session_identity& session,
                               const std::vector<credential>& credentials, watch_receiver& watches)
{
    address_ = to.address;
    const auto told = std::make_shared<opening>(
        opening{to, chroot, session_timeout, session, credentials, watches});
    if (!to.sasl) {
        const bool begun = connect(told);
        if (!begun) {
            close();
        }
        return begun;
    }
    // Before the session is asked for: each time that servers hear of it, it lives for another time-out. Without a ticket it
    // would never end, nor would its nodes; and servers would make one after the other.
    first_word_ = blocking_call<sasl_word>::start(
        strand_,
        [mechanism = to.sasl](const error_code& failed) {
            return failed ? sasl_word{.fault = failed.message()} : mechanism->begin();
        },
        [self = shared_from_this(), told](sasl_word word) {
            self->first_word_.reset();
            told->first = std::move(word);
            auto& why = self->early_fault_.text;
            if (!told->first.fault.empty()) {
                why = "SASL " + told->to.sasl->name() + ": " + told->first.fault;
            } else if (!self->connect(told)) {
                why = "the C client refuses the address";
            }
            if (!why.empty()) {
                self->observer_.broken(handle::status::broken);
            }
        });
    return true;
}

bool c_client_connection::connect(const std::shared_ptr<opening>& told)
{
    if (!told->to.tls) {
        take_wire(make_plain_wire(strand_, address_), *told);
        return open_handle(*told);
    }
    connector_ = make_tls_connector(strand_, address_, *told->to.tls);
    if (!connector_) {
        return false;
    }
    const auto self = shared_from_this();
    connector_->start([self] { self->observer_.securing(); },
                      [self, told](tls_connector::outcome result) {
                          const auto connector = std::exchange(self->connector_, nullptr);
                          self->take_wire(std::move(result.way), *told);
                          self->early_fault_ = {std::move(result.fault), result.of_tls};
                          if (self->wire_ && !self->open_handle(*told)) {
                              self->early_fault_.text = "the C client has no memory";
                              self->wire_.reset();
                          }
                          if (!self->wire_) {
                              self->observer_.broken(handle::status::broken);
                          }
                      });
    return true;
}

void c_client_connection::take_wire(std::unique_ptr<wire> way, opening& told)
{
    wire_ = !way || !told.to.sasl ? std::move(way)
                                  : with_sasl(std::move(way), strand_, told.to.sasl,
                                              std::move(told.first), [weak = weak_from_this()] {
                                                  if (const auto self = weak.lock()) {
                                                      self->step();
                                                  }
                                              });
}

bool c_client_connection::open_handle(const opening& told)
{
    handle_ = std::make_unique<handle>(*wire_, told.chroot, told.session_timeout, told.session,
                                       told.credentials, told.watches);
    if (!handle_->valid()) {
        handle_.reset();
        return false;
    }
    // Posted, so that the observer is never told of a failure from within open().
    asio::post(strand_, [self = shared_from_this()] { self->step(); });
    return true;
}

connection::fault_report c_client_connection::fault() const
{
    auto report = early_fault_;
    if (handle_) {
        const auto of_wire = wire_->fault();
        report = {.of_tls = of_wire.of == wire_fault::kind::tls,
                  .of_identity = of_wire.of == wire_fault::kind::identity};
        report.text = of_wire.text.empty() ? handle_->fault() : of_wire.text;
    }
    report.lacks_descriptors =
        report.text.empty() && progress_ == progress::begun && !are_descriptors_left();
    return report;
}

error_code c_client_connection::send(const call& c, receiver& to)
{
    if (!handle_ || closing_ != closing::no || end_sent_) {
        return zookeeper_errc::connection_loss;
    }
    wire_->hold_back(true);
    const library_call guard{*this};
    return handle_->send(c, to);
}

bool c_client_connection::authenticate(const credential& c)
{
    if (!handle_ || closing_ != closing::no || end_sent_ || in_library_) {
        return false;
    }
    wire_->hold_back(true);
    const library_call guard{*this};
    return handle_->authenticate(c);
}

void c_client_connection::flush()
{
    if (wire_) {
        wire_->hold_back(false);
    }
    step();
}

// Acts on what the last call of the C client came to; false when the connection is over.
bool c_client_connection::settle()
{
    if (!handle_ || in_library_) {
        return false;
    }
    if (closing_ != closing::no) {
        close(closing_ == closing::with_last_words);
        return false;
    }
    switch (const auto state = handle_->state()) {
    case handle::status::connecting:
        if (progress_ == progress::begun && handle_->is_offered()) {
            progress_ = progress::offered;
            observer_.offered();
        }
        return true;
    case handle::status::connected:
        if (!is_established()) {
            progress_ = progress::established;
            observer_.established();
        }
        return handle_ != nullptr;
    default: observer_.broken(state); return false;
    }
}

void c_client_connection::step()
{
    if (in_library_ || in_step_ || end_sent_) {
        return; // the caller further down the stack goes on from here
    }
    const auto self = shared_from_this();
    in_step_ = true;
    // After a stall the answer may lie in the socket: the C client would time out before it looks.
    if (settle() && is_established() && deadline_.is_near()) {
        drain();
    }
    if (settle()) {
        handle::interest next;
        {
            const library_call guard{*this};
            next = handle_->next_interest();
        }
        const auto when = moving_deadline::clock::now() + next.timeout;
        if (settle() && attach(next.descriptor) && carry()) {
            deadline_.wait(when, [self] { self->on_timer(); });
            wait_readable();
            if (next.write || wire_->has_unsent()) {
                wait_writable(); // the last: it may be over then
            }
        }
    }
    in_step_ = false;
    if (handle_ && ended_) {
        try_to_end();
    }
}

bool c_client_connection::attach(int descriptor)
{
    if (wire_->is_attached() || descriptor == -1) {
        return true;
    }
    if (!wire_->attach(descriptor)) {
        observer_.broken(handle::status::broken); // out of descriptors
        return false;
    }
    return true;
}

bool c_client_connection::carry()
{
    if (!wire_->carry()) {
        observer_.broken(handle::status::broken);
        return false;
    }
    return true;
}

void c_client_connection::drain()
{
    for (int i = 0; handle_ && closing_ == closing::no && i != packets_a_turn; ++i) {
        bool more = false;
        {
            const library_call guard{*this};
            more = handle_->process_read();
        }
        // With no answer to come there is hardly anything else to read, and the next wait would tell.
        if (!settle() || !more || !observer_.expects_answers()) {
            break;
        }
    }
}

void c_client_connection::wait_readable()
{
    if (!wire_->is_attached()) {
        return;
    }
    if (reading_) {
        if (wire_->holds_unread()) {
            error_code ignored;
            wire_->socket().cancel(ignored); // nothing would end that wait
        }
        return;
    }
    reading_ = true;
    auto done = [self = shared_from_this()](const error_code& = {}) {
        self->reading_ = false;
        self->on_readable();
    };
    if (wire_->holds_unread()) {
        asio::post(strand_, std::move(done));
    } else {
        wire_->socket().async_wait(stream::wait_read, std::move(done));
    }
}

// With a descriptor of its own: what Asio was once asked to wait for it asks of the kernel in every later wait, which
// would be woken each time at once, because the socket can nearly always be written.
void c_client_connection::wait_writable()
{
    if (writing_ || !wire_->is_attached()) {
        return;
    }
    auto done = [self = shared_from_this()](const error_code& = {}) {
        error_code ignored;
        self->writable_.close(ignored);
        self->writing_ = false;
        self->on_writable();
    };
    if (wire_->takes_at_once() && !wire_->has_unsent()) {
        writing_ = true;
        asio::post(strand_, std::move(done));
        return;
    }
    const int copy = ::fcntl(wire_->socket().native_handle(), F_DUPFD_CLOEXEC, 0);
    error_code failed;
    if (copy != -1) {
        writable_.assign(copy, failed);
    }
    if (failed) {
        ::close(copy);
    }
    if (copy == -1 || failed) {
        observer_.broken(handle::status::broken); // out of descriptors
        return;
    }
    writing_ = true;
    writable_.async_wait(stream::wait_write, std::move(done));
}

void c_client_connection::on_readable()
{
    if (!handle_) {
        return; // nor may what belongs to the owner be touched any more
    }
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    if (end_sent_) {
        await_end();
        return;
    }
    drain();
    step();
}

void c_client_connection::on_writable()
{
    if (!handle_) {
        return;
    }
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    if (end_sent_) {
        carry_end();
        return;
    }
    {
        const library_call guard{*this};
        handle_->process_write();
    }
    step();
}

void c_client_connection::on_timer()
{
    if (!handle_ || end_sent_) {
        return;
    }
    wakeups_.fetch_add(1, std::memory_order_relaxed);
    if (is_established()) {
        drain();
    }
    step();
}

void c_client_connection::end_session(std::function<void(bool confirmed)> done)
{
    ended_ = std::move(done);
    if (handle_ && !in_library_ && !in_step_) {
        try_to_end();
    }
}

void c_client_connection::try_to_end()
{
    if (end_sent_ || !is_established() || !wire_->is_attached()) {
        return;
    }
    handle::interest next;
    {
        const library_call guard{*this};
        next = handle_->next_interest();
    }
    if (!settle()) {
        return;
    }
    if (next.write) {
        wait_writable(); // then step(), which comes here again
        return;
    }
    wire_->hold_back(false);
    if (!handle_->send_close()) {
        observer_.broken(handle::status::broken);
        return;
    }
    end_sent_ = handle_->to_skip();
    carry_end();
}

// The C client says nothing more; but its last words may be on their way.
void c_client_connection::carry_end()
{
    if (carry()) {
        wait_readable();
        if (wire_->has_unsent()) {
            wait_writable();
        }
    }
}

// The C client is out of the way now: the answer is looked for in the bytes themselves, a piece each turn. A server
// that sends on and on is left alone in the end by close().
void c_client_connection::await_end()
{
    using namespace std::string_view_literals;
    constexpr auto confirmation = "\0\0\0\x10\x7f\xff\xff\xff"sv;
    const auto is_confirmed = [&] { return end_tail_.find(confirmation) != std::string::npos; };
    char bytes[16 * 1024];
    const auto came = wire_->receive(bytes, sizeof bytes);
    const auto foreign = std::min(*end_sent_, came.count);
    *end_sent_ -= foreign;
    if (came.count != 0 && !is_confirmed()) {
        end_tail_.erase(0, end_tail_.size() - std::min(end_tail_.size(), confirmation.size() - 1));
        end_tail_.append(bytes + foreign, came.count - foreign);
    } else if (came.count == 0 && came.over) {
        const auto self = shared_from_this();
        const auto done = std::move(ended_);
        close();
        done(is_confirmed());
        return;
    }
    wait_readable();
}

void c_client_connection::close(bool last_words) noexcept
{
    if (closing_ == closing::closed) {
        return;
    }
    if (in_library_) {
        closing_ = last_words ? closing::with_last_words : closing::at_once;
        return;
    }
    closing_ = closing::closed;
    // Whatever the callbacks below drop, this object and its owner stay until the end of this function.
    const auto owner = std::move(owner_);
    const auto self = weak_from_this().lock();
    ended_ = nullptr;
    if (const auto word = std::exchange(first_word_, nullptr)) {
        word->forget();
    }
    if (const auto connector = std::exchange(connector_, nullptr)) {
        connector->cancel();
    }
    if (last_words && is_established() && !end_sent_) {
        wire_->hold_back(
            false); // a socket that is closed with answers unread sends nothing any more
        // Not into the middle of a request that is only half written.
        const library_call guard{*this};
        if (!handle_->next_interest().write && handle_->send_close()) {
            static_cast<void>(wire_->carry());
        }
    }
    error_code ignored;
    writable_.close(ignored);
    deadline_.stop();
    const auto doomed = std::move(handle_);
    if (!wire_) {
        return;
    }
    if (is_established() && !last_words && !end_sent_ && wire_->is_attached()) {
        observer_.left_behind(address_, make_old_socket(strand_, wire_->release()));
    }
    wire_->close();
}

} // namespace

std::shared_ptr<connection> make_connection(const strand_type& strand, std::shared_ptr<void> owner,
                                            connection::observer& told,
                                            std::atomic<std::uint64_t>& wakeups)
{
    return std::make_shared<c_client_connection>(strand, std::move(owner), told, wakeups);
}

} // namespace colock::zk
