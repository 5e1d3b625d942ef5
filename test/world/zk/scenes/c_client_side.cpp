#include <support/jute.hpp>

#include "side.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

namespace world {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using colock::test::jute_reader;
using colock::test::jute_writer;

// ZooKeeper's numbers of the requests that the scenes send.
enum wire_opcode { get_data = 4, ping = 11, check = 13, multi = 14, create2 = 15, auth = 100 };
constexpr int create = 1;
constexpr int close_session = -11;

// What the server knows of a request that it has to answer.
struct asked {
    std::int32_t xid = 0;
    int op = 0;
    std::vector<int> steps; // of a transaction
};

void put_stat(jute_writer& out)
{
    out.longer(0).longer(0).longer(0).longer(0).integer(0).integer(0).integer(0).longer(0);
    out.integer(0).integer(0).longer(0);
}

class c_client_side final : public side {
public:
    [[nodiscard]] asio::any_io_executor executor() override { return io_.get_executor(); }
    [[nodiscard]] std::string address() const override { return address_; }
    void run(std::function<void()> what) override
    {
        bool done = false;
        asio::post(io_, [&] {
            what();
            done = true;
        });
        static_cast<void>(until([&] { return done; }));
    }
    [[nodiscard]] bool until(std::function<bool()> reached) override
    {
        const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        while (!reached()) {
            io_.restart();
            io_.run_one_until(latest);
            if (std::chrono::steady_clock::now() >= latest) {
                return false;
            }
        }
        return true;
    }

    void listen(listener heard) override
    {
        heard_ = std::move(heard);
        accept();
    }
    void refuse() override { acceptor_.close(); }
    void send(std::vector<message> all) override
    {
        std::string bytes;
        for (const auto& m : all) {
            bytes += jute_writer{}.text(encoded(m)).bytes();
        }
        asio::write(accepted_, asio::buffer(bytes));
    }
    void close() override { accepted_.close(); }

private:
    void accept()
    {
        acceptor_.async_accept([this](const auto& failed, tcp::socket made) {
            if (!failed) {
                accepted_ = std::move(made);
                asked_.clear();
                opening_ = true;
                read();
                accept();
            }
        });
    }

    void read()
    {
        asio::async_read(accepted_, asio::buffer(header_), [this](const auto& ended, std::size_t) {
            if (ended) {
                over(ended);
                return;
            }
            const std::string_view header{header_.data(), header_.size()};
            frame_.resize(static_cast<std::size_t>(jute_reader{header}.integer()));
            asio::async_read(accepted_, asio::buffer(frame_),
                             [this](const auto& failed, std::size_t) {
                                 if (failed) {
                                     over(failed);
                                     return;
                                 }
                                 heard_(decoded());
                                 read();
                             });
        });
    }
    void over(const colock::error_code& why)
    {
        if (why != asio::error::operation_aborted) {
            heard_({});
        }
    }

    message decoded()
    {
        jute_reader in{frame_};
        if (std::exchange(opening_, false)) {
            connect_request c;
            in.integer();
            in.longer();
            c.timeout = std::chrono::milliseconds{in.integer()};
            c.session.id = in.longer();
            return c;
        }
        asked a;
        a.xid = in.integer();
        a.op = in.integer();
        if (a.op == ping) {
            return ping_request{};
        }
        if (a.op == close_session) {
            closing_ = a.xid;
            return close_request{};
        }
        if (a.op == auth) {
            in.integer();
            return auth_request{{std::string{in.text()}, ""}};
        }
        request r;
        r.number = static_cast<std::int32_t>(asked_.size()) + 1;
        if (a.op == multi) {
            r.call.op = opcode::multi;
            for (;;) {
                const auto type = in.integer();
                const bool last = in.boolean();
                in.integer();
                if (last) {
                    break;
                }
                a.steps.push_back(type);
                const std::string path{in.text()};
                if (type == check) {
                    in.integer();
                    r.call.ops.push_back(colock::check_op(path));
                } else {
                    in.text();
                    for (auto entries = in.integer(); entries != 0; --entries) {
                        in.integer();
                        in.text();
                        in.text();
                    }
                    in.integer();
                    r.call.ops.push_back(colock::create_op(path, ""));
                }
            }
        } else {
            r.call.path = in.text();
        }
        asked_.push_back(std::move(a));
        return r;
    }

    [[nodiscard]] std::string encoded(const message& m) const
    {
        jute_writer out;
        if (const auto* c = std::get_if<connect_reply>(&m)) {
            out.integer(0).integer(static_cast<std::int32_t>(c->timeout.count()));
            out.longer(c->session.id);
            out.text({c->session.password.data(), c->session.password.size()}).boolean(false);
        } else if (const auto* e = std::get_if<event>(&m)) {
            header(out, -1, {});
            out.integer(static_cast<int>(e->what.type)).integer(3).text(e->what.path);
        } else if (const auto* checked = std::get_if<auth_reply>(&m)) {
            header(out, -4, checked->error);
        } else if (std::holds_alternative<ping_reply>(m)) {
            header(out, -2, {});
        } else if (std::holds_alternative<close_reply>(m)) {
            header(out, closing_, {});
        } else {
            put(out, std::get<reply>(m));
        }
        return out.bytes();
    }
    static void header(jute_writer& out, std::int32_t xid, status error)
    {
        out.integer(xid).longer(1).integer(error.value());
    }
    void put(jute_writer& out, const reply& r) const
    {
        const auto at = static_cast<std::size_t>(r.number) - 1;
        if (at >= asked_.size()) {
            header(out, asked_.back().xid + 1000, r.body.error);
            return;
        }
        const auto& a = asked_[at];
        header(out, a.xid, r.body.error);
        if (r.body.error) {
            return;
        }
        if (a.op == multi) {
            for (std::size_t i = 0; i != a.steps.size(); ++i) {
                out.integer(a.steps[i]).boolean(false).integer(0);
                if (a.steps[i] == create) {
                    out.text(r.body.results[i].path);
                }
            }
            out.integer(-1).boolean(true).integer(-1);
        } else if (a.op == get_data || a.op == create2) {
            out.text(r.body.text);
            put_stat(out);
        }
    }

    asio::io_context io_;
    tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
    tcp::socket accepted_{io_};
    const std::string address_ = "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    listener heard_;
    std::array<char, 4> header_{};
    std::string frame_;
    bool opening_ = true;
    std::int32_t closing_ = 0;
    std::vector<asked> asked_; // all requests of the connection
};

} // namespace

std::unique_ptr<side> make_side()
{
    return std::make_unique<c_client_side>();
}

} // namespace world
