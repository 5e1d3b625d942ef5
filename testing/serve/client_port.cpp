#include "client_port.hpp"

#include "memory_server.hpp"
#include "operator_words.hpp"

#include <utility>
#include <variant>

namespace colock::testing {

namespace {

bool sets_watches(const simulated::message& m)
{
    const auto* const r = std::get_if<simulated::request>(&m);
    return r != nullptr && (r->call.watch || r->call.op == simulated::opcode::add_watch ||
                            r->call.op == simulated::opcode::restore_watches);
}

} // namespace

client_port::client_port(memory_server& server, const std::string& address, std::string name,
                         std::function<void()> stirred)
    : server_{server}, name_{std::move(name)}, number_{server.enter(*this)}, stirred_{
                                                                                 std::move(stirred)}
{
    open(address);
}

client_port::~client_port()
{
    stop();
    server_.leave(number_);
}

void client_port::open(const std::string& address)
{
    auto* const host = server_.host_of(address);
    if (host == nullptr || server_.ports().size() > server_.settings().limits.connections) {
        over_ = true;
        return;
    }
    link_ =
        server_.net_.connect(*host, server_.servers_.address(0),
                             {.connected = {},
                              .received = [this](simulated::message&& m) { hear(std::move(m)); },
                              .ended = [this] { stop(); }});
    server_.advance(server_.now());
}

void client_port::stop()
{
    over_ = true;
    if (link_) {
        link_->close();
        link_ = nullptr;
    }
    stir();
}

void client_port::stir() const
{
    if (stirred_) {
        stirred_();
    }
}

void client_port::end()
{
    stop();
    server_.advance(server_.now());
}

bool client_port::is_held() const noexcept
{
    return over_ || out_.size() + under_way_ > server_.settings().limits.unread;
}

void client_port::receive(std::string_view bytes)
{
    if (!over_) {
        in_ += bytes;
        work();
    }
}

void client_port::work()
{
    while (!is_held() && take_frame()) {
        // Before the next request, as if there was a moment between the two.
        server_.advance(server_.now());
    }
    if (over_) {
        in_.clear();
        taken_ = 0;
    } else if (taken_ != 0) {
        in_.erase(0, std::exchange(taken_, 0));
    }
}

bool client_port::take_frame()
{
    const auto left = std::string_view{in_}.substr(taken_);
    if (left.size() < 4) {
        return false;
    }
    if (!greeted_) {
        if (server_.is_paused()) {
            return false;
        }
        if (auto answer = answer_to(left.substr(0, 4), server_)) {
            out_ += *answer;
            stop();
            return false;
        }
    }
    const auto size = jute_reader{left}.integer();
    if (size <= 0 || static_cast<std::size_t>(size) > server_.settings().limits.frame) {
        stop();
        return false;
    }
    const auto whole = 4 + static_cast<std::size_t>(size);
    if (left.size() < whole) {
        return false;
    }
    taken_ += whole;
    ++traffic_.received;
    understand(left.substr(4, whole - 4));
    return true;
}

void client_port::understand(std::string_view frame)
{
    if (!std::exchange(greeted_, true)) {
        auto h = hello_in(frame);
        if (!h || (h->request.session.id == 0 && !server_.has_room_for_sessions())) {
            stop();
            return;
        }
        tells_reading_ = h->asks_for_reading;
        h->request.subject = subject_;
        link_->send(std::move(h->request));
        return;
    }
    auto a = asked_in(frame);
    if (!a || (sets_watches(a->what) && !server_.has_room_for_watches())) {
        stop();
        return;
    }
    if (std::holds_alternative<simulated::request>(a->what)) {
        expected_.push_back(std::move(a->shape));
    } else if (std::holds_alternative<simulated::close_request>(a->what)) {
        closing_ = a->shape.number;
    } else if (std::holds_alternative<simulated::auth_request>(a->what)) {
        proving_ = a->shape.number;
        traffic_.proofs += frame.size();
        if (traffic_.proofs > server_.settings().limits.proofs) {
            stop();
            return;
        }
    }
    link_->send(std::move(a->what));
}

void client_port::hear(simulated::message&& m)
{
    const auto last = server_.nodes().last_zxid();
    if (!std::holds_alternative<simulated::event>(m)) {
        traffic_.last_answer = server_.clock();
    }
    if (const auto* answer = std::get_if<simulated::reply>(&m); answer && !expected_.empty()) {
        const auto shape = std::move(expected_.front());
        expected_.pop_front();
        say(frame_of(shape, *answer));
    } else if (const auto* e = std::get_if<simulated::event>(&m)) {
        say(frame_of(*e));
    } else if (const auto* c = std::get_if<simulated::connect_reply>(&m)) {
        session_ = c->session.id;
        timeout_ = c->timeout;
        say(frame_of(*c, tells_reading_));
    } else if (const auto* checked = std::get_if<simulated::auth_reply>(&m)) {
        say(header_of(proving_, 0, checked->error));
    } else if (std::holds_alternative<simulated::ping_reply>(m)) {
        say(header_of(xid::ping, last));
    } else if (std::holds_alternative<simulated::close_reply>(m)) {
        say(header_of(closing_, last));
    }
}

void client_port::say(std::string_view frame)
{
    jute_writer{out_}.text(frame); // its length, and itself
    ++traffic_.sent;
    if (out_.size() + under_way_ > server_.settings().limits.most_unread) {
        stop();
        out_.clear();
    }
    stir();
}

} // namespace colock::testing
