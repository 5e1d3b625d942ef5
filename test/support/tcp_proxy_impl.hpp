#ifndef COLOCK_TEST_SUPPORT_TCP_PROXY_IMPL_HPP
#define COLOCK_TEST_SUPPORT_TCP_PROXY_IMPL_HPP

// The inside of tcp_proxy.cpp and nobody else's: what lives in the proxy's thread.

#include "frame.hpp"
#include "loopback_port.hpp"
#include "proxy_stream.hpp"
#include "tcp_proxy.hpp"
#include "wake_up_time.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace colock::test {

using clock = std::chrono::steady_clock;

inline char const* name_of(reaction what)
{
    switch (what) {
    case reaction::drop_and_cut: return "dropped, then cut";
    case reaction::deliver_and_cut: return "delivered, then cut";
    case reaction::drop: return "dropped";
    case reaction::replace: return "replaced";
    case reaction::hold: return "held";
    }
    return "?";
}

// A reply that is answered with an error has a header only: xid, zxid and the code.
inline std::string with_code(std::string_view reply, int code)
{
    constexpr std::size_t header = 16;
    std::string made{0, 0, 0, header};
    made += reply.substr(frame_header, header - sizeof(std::int32_t));
    for (int shift = 24; shift >= 0; shift -= 8)
        made += static_cast<char>(static_cast<std::uint32_t>(code) >> shift);
    return made;
}

struct tcp_proxy::rule_state {
    std::weak_ptr<impl> owner;
    direction where;
    opcode_set which;
    reaction what;
    rule_options details;

    // The proxy's thread only.
    unsigned seen = 0;
    unsigned chosen = 0;
    bool ended = false;

    std::mutex mutex;
    std::condition_variable changed;
    unsigned fired = 0;

    bool matches(direction going, frame const& f) const
    {
        return !ended && where == going && f.kind && which.contains(*f.kind) &&
               f.path.rfind(details.path_prefix, 0) == 0 &&
               (!details.error || where == direction::to_server || *details.error == f.error) &&
               (!details.predicate || details.predicate(*f.kind, f.path));
    }

    void fire()
    {
        std::lock_guard lock(mutex);
        ++fired;
        changed.notify_all();
    }
};

// What the functions of the proxy share with its thread. Everything but `lifecycle`, `closed` and
// `thread` belongs to the thread.
struct tcp_proxy::impl : std::enable_shared_from_this<tcp_proxy::impl> {
    impl(tcp::endpoint where, proxy_contexts how) : target(where), contexts(std::move(how)) {}

    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
    std::thread thread;
    std::mutex lifecycle;
    bool closed = false;

    loopback_port port;
    tcp::acceptor acceptor{io};
    unsigned listening = 0; // counts the times; an accept of an earlier time is void
    bool closing_at_once = false;
    tcp::endpoint target;
    proxy_contexts const contexts;
    std::chrono::microseconds delay{0};
    wake_up_time wake_up;
    bool stalled[2] = {false, false};
    std::vector<std::shared_ptr<link>> links;
    std::vector<std::shared_ptr<rule_state>> rules;
    std::size_t accepted = 0;
    std::map<opcode, std::size_t> delivered[2];
    std::uint64_t bytes = 0;
    std::vector<session_identity> sessions;
    clock::time_point const born = clock::now();
    bool logging = false;
    std::deque<std::string> log;

    // Runs f in the proxy's thread and waits for it. False when the proxy has ended: the check and
    // the post are one step, so what was posted is before the end and does run.
    template <class F>
    bool call(F&& f)
    {
        std::mutex mutex;
        std::condition_variable finished;
        bool done = false;
        {
            std::lock_guard lock(lifecycle);
            if (closed)
                return false;
            asio::post(io, [&] {
                f();
                std::lock_guard inner(mutex);
                done = true;
                finished.notify_one(); // under the lock: the variable dies with the caller's return
            });
        }
        std::unique_lock lock(mutex);
        finished.wait(lock, [&] { return done; });
        return true;
    }

    void run() { io.run(); }

    void listen();
    void accept();
    void resume_all();
    void forget(link const* gone);
    void record(std::size_t number, direction going, frame const& f, char const* fate);
    std::shared_ptr<rule_state> choose(direction going, frame const& f);
    std::size_t count(direction going, opcode_set const& which);
};

// One connection: two streams, two halves. Lives in the proxy's thread; kept alive by its pending
// operations and by the proxy's list.
class tcp_proxy::link : public std::enable_shared_from_this<tcp_proxy::link> {
public:
    link(impl& proxy, tcp::socket accepted, std::size_t number)
        : proxy_(proxy), number_(number), client_(std::move(accepted)),
          server_(tcp::socket(proxy.io)), up_(direction::to_server, client_, server_),
          down_(direction::to_client, server_, client_), framed_(proxy.contexts.understands)
    {
    }

    bool live() const { return !closed_ && !ending_; }

    // Starts, or goes on after a stall or a hold.
    void resume()
    {
        if (closed_)
            return;
        if (!connecting_) {
            // A black hole does not tell whether the target is there.
            if (!proxy_.stalled[index(direction::to_server)])
                connect();
        } else if (connected_) {
            for (half* h : {&up_, &down_}) {
                deliver(*h);
                read(*h);
            }
        }
    }

    void cut(cut_kind how)
    {
        if (closed_)
            return;
        if (how == cut_kind::reset || !connected_) {
            close(true);
            return;
        }
        // The sockets stay until the peers have closed, too: closing with unread data would make a
        // reset out of the end.
        ending_ = true;
        error_code ignored;
        for (half* h : {&up_, &down_}) {
            give_up(*h);
            h->to.socket().shutdown(tcp::socket::shutdown_send, ignored);
            read(*h);
        }
        close_when_done();
    }

private:
    static constexpr std::size_t read_size = 64 << 10;
    static constexpr std::size_t write_size = 256 << 10;

    // Bytes on the way in one direction at which reading pauses, so that a sender who outruns the
    // other side feels it, as he would without the proxy.
    // A test of a server that sends without end measures the memory of this process.
    std::size_t most_on_the_way() const { return proxy_.contexts.understands ? 16 << 20 : 1 << 20; }

    // Frames that follow one another this closely leave together: one wake-up instead of many.
    static constexpr auto delivery_slack = std::chrono::microseconds(10);

    struct entry {
        enum class kind { bytes, end, reset, cut };
        kind what = kind::bytes;
        clock::time_point due = {};
        std::string bytes = {};
        std::optional<opcode> request = {};
        std::shared_ptr<rule_state> rule = {}; // of a hold, until it ends; of a cut
    };

    struct half {
        half(direction d, proxy_stream& source, proxy_stream& sink)
            : going(d), from(source), to(sink), timer(source.socket().get_executor())
        {
        }

        direction going;
        proxy_stream& from;
        proxy_stream& to;
        asio::steady_timer timer;
        std::array<char, read_size> input;
        std::string unframed; // the beginning of a frame
        std::deque<entry> on_the_way;
        std::size_t bytes_on_the_way = 0;
        std::string output;
        bool opening = true; // the next frame is the connection's first
        bool reading = false;
        bool writing = false;
        bool waiting = false;
        bool deaf = false; // what is read from now on is thrown away
        bool read_done = false;
        bool write_done = false;
    };

    static std::size_t index(direction d) { return d == direction::to_server ? 0 : 1; }

    // What comes behind a step of the connecting, if it succeeds.
    template <class F>
    auto next(F f)
    {
        return [self = shared_from_this(), this, f](error_code error) {
            if (closed_)
                return;
            if (error)
                close(true);
            else
                f();
        };
    }

    void connect()
    {
        connecting_ = true;
        server_.socket().async_connect(
            proxy_.target, next([this] {
                error_code ignored;
                server_.socket().set_option(tcp::no_delay(true), ignored);
                client_.socket().set_option(tcp::no_delay(true), ignored);
                server_.shake_hands(proxy_.contexts.to_server, next([this] {
                                        client_.shake_hands(proxy_.contexts.to_client, next([this] {
                                                                connected_ = true;
                                                                resume();
                                                            }));
                                    }));
            }));
    }

    void read(half& h)
    {
        bool const paused =
            !h.deaf && (proxy_.stalled[index(h.going)] || h.bytes_on_the_way > most_on_the_way());
        if (closed_ || h.reading || h.read_done || paused)
            return;
        h.reading = true;
        h.from.read_some(asio::buffer(h.input),
                         [self = shared_from_this(), this, &h](error_code error, std::size_t size) {
                             h.reading = false;
                             if (closed_)
                                 return;
                             if (!error) {
                                 if (!h.deaf)
                                     arrived(h, std::string_view(h.input.data(), size));
                             } else {
                                 h.read_done = true;
                                 flush_unframed(h);
                                 push(h, {is_end(error) ? entry::kind::end : entry::kind::reset});
                             }
                             // Sent first, so that the next read costs the frame no time.
                             deliver(h);
                             read(h);
                             close_when_done();
                         });
    }

    void push(half& h, entry e)
    {
        if (h.deaf)
            return;
        e.due = arrival_ + proxy_.delay;
        h.bytes_on_the_way += e.bytes.size();
        h.on_the_way.push_back(std::move(e));
    }

    void flush_unframed(half& h)
    {
        arrival_ = clock::now();
        if (!h.unframed.empty())
            push(h, {entry::kind::bytes, {}, std::exchange(h.unframed, {})});
    }

    void arrived(half& h, std::string_view bytes)
    {
        arrival_ = clock::now();
        h.unframed.append(bytes);
        std::size_t begin = 0;
        while (framed_ && !h.deaf && h.unframed.size() - begin >= frame_header) {
            auto const rest = std::string_view(h.unframed).substr(begin);
            auto const size = frame_size(rest);
            if (!size)
                framed_ = false;
            else if (rest.size() < *size)
                break;
            else {
                frame_arrived(h, rest.substr(0, *size));
                begin += *size;
            }
        }
        h.unframed.erase(0, begin);
        if (!framed_)
            for (half* each : {&up_, &down_})
                flush_unframed(*each);
    }

    void frame_arrived(half& h, std::string_view bytes)
    {
        bool const opening = std::exchange(h.opening, false);
        auto const f = h.going == direction::to_server ? parser_.request(bytes, opening)
                                                       : parser_.reply(bytes, opening);
        if (f.session.id)
            note_session(f.session);
        auto const rule = proxy_.choose(h.going, f);
        proxy_.record(number_, h.going, f, rule ? name_of(rule->what) : "");

        entry frame_itself{entry::kind::bytes, {}, std::string(bytes), f.kind};
        if (!rule) {
            push(h, std::move(frame_itself));
            return;
        }
        switch (rule->what) {
        case reaction::hold:
            frame_itself.rule = rule;
            push(h, std::move(frame_itself));
            rule->fire();
            break;
        case reaction::drop: rule->fire(); break;
        case reaction::replace:
            frame_itself.bytes = with_code(bytes, rule->details.replacement);
            push(h, std::move(frame_itself));
            rule->fire();
            break;
        case reaction::deliver_and_cut: push(h, std::move(frame_itself)); [[fallthrough]];
        case reaction::drop_and_cut:
            // An entry like others: what stands before it is delivered, what comes behind is lost,
            // and the cut takes as long to arrive as the frame would have.
            push(h, {entry::kind::cut, {}, {}, {}, rule});
            h.deaf = true;
            break;
        }
    }

    void note_session(session_identity const& session)
    {
        auto const known = std::find_if(proxy_.sessions.begin(), proxy_.sessions.end(),
                                        [&](auto const& s) { return s.id == session.id; });
        if (known == proxy_.sessions.end())
            proxy_.sessions.push_back(session);
        else
            *known = session;
    }

    // Sends what is due, or arranges to be called when it is.
    void deliver(half& h)
    {
        if (closed_ || h.writing || h.write_done || proxy_.stalled[index(h.going)])
            return;
        auto const now = clock::now();
        while (!h.on_the_way.empty() && h.output.size() < write_size) {
            auto& next = h.on_the_way.front();
            bool const held = next.what == entry::kind::bytes && next.rule && !next.rule->ended;
            if (held)
                break;
            if (next.due > now + (h.output.empty() ? clock::duration() : delivery_slack)) {
                if (h.output.empty())
                    wait(h, next.due);
                break;
            }
            if (next.what != entry::kind::bytes) {
                if (!h.output.empty())
                    break;
                auto const last = std::move(next);
                h.on_the_way.pop_front();
                finish(h, last);
                return;
            }
            if (next.request)
                ++proxy_.delivered[index(h.going)][*next.request];
            h.bytes_on_the_way -= next.bytes.size();
            proxy_.bytes += next.bytes.size();
            if (h.output.empty())
                h.output.swap(next.bytes);
            else
                h.output += next.bytes;
            h.on_the_way.pop_front();
        }
        if (!h.output.empty())
            write(h);
    }

    void wait(half& h, clock::time_point due)
    {
        if (std::exchange(h.waiting, true))
            return;
        auto const set_for = proxy_.wake_up.set_for(due);
        h.timer.expires_at(set_for);
        h.timer.async_wait([self = shared_from_this(), this, &h, due, set_for](error_code error) {
            h.waiting = false;
            if (!error) {
                proxy_.wake_up.woken(set_for, clock::now());
                wake_up_time::spin_until(due);
            }
            deliver(h);
        });
    }

    void write(half& h)
    {
        h.writing = true;
        h.to.write(asio::buffer(h.output),
                   [self = shared_from_this(), this, &h](error_code error, std::size_t) {
                       h.writing = false;
                       h.output.clear();
                       if (closed_)
                           return;
                       if (error) {
                           // The receiver is gone. That ends this direction only: what he sent before he
                           // went still arrives, then his end or reset comes out of the other half.
                           give_up(h);
                       }
                       deliver(h);
                       read(h);
                       close_when_done();
                   });
    }

    void finish(half& h, entry const& last)
    {
        if (last.what == entry::kind::end) {
            h.write_done = true;
            error_code ignored;
            h.to.socket().shutdown(tcp::socket::shutdown_send, ignored);
            close_when_done();
        } else if (last.what == entry::kind::reset) {
            close(true);
        } else {
            cut(last.rule->details.how);
            last.rule->fire();
        }
    }

    void give_up(half& h)
    {
        h.deaf = true;
        h.write_done = true;
        h.on_the_way.clear();
        h.bytes_on_the_way = 0;
        h.unframed.clear();
        h.timer.cancel();
    }

    void close_when_done()
    {
        if (up_.read_done && up_.write_done && down_.read_done && down_.write_done)
            close(false);
    }

    void close(bool reset)
    {
        if (std::exchange(closed_, true))
            return;
        auto const self = shared_from_this(); // the proxy's list may hold the last other reference
        error_code ignored;
        for (half* h : {&up_, &down_})
            give_up(*h);
        for (proxy_stream* s : {&client_, &server_}) {
            if (reset)
                close_with_reset(s->socket());
            else
                s->socket().close(ignored);
        }
        proxy_.forget(this);
    }

    impl& proxy_;
    std::size_t number_;
    proxy_stream client_;
    proxy_stream server_;
    half up_;
    half down_;
    frame_parser parser_;
    bool framed_;
    bool connecting_ = false;
    bool connected_ = false;
    bool ending_ = false; // FIN sent to both sides
    bool closed_ = false;
    clock::time_point arrival_; // of the bytes being looked at
};

} // namespace colock::test

#endif
