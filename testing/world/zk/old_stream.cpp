#include "old_stream.hpp"

#include "../process.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace colock::simulated {

namespace {

namespace asio = boost::asio;

// It is work to the executor until it is over, as a wait for a socket is.
class old_stream final : public colock::zk::old_socket,
                         public std::enable_shared_from_this<old_stream> {
public:
    old_stream(const colock::zk::strand_type& strand, std::shared_ptr<stream> connection,
               bool ended)
        : strand_{strand}, stream_{std::move(connection)},
          work_{process::current().context().get_executor()}
    {
        if (ended) {
            close();
        }
    }

    void finish() noexcept override
    {
        if (!stream_) {
            return;
        }
        stream_->handle({.ended = [weak = weak_from_this()] {
            const auto self = weak.lock();
            if (self && self->stream_) {
                asio::post(self->strand_, [self] { self->close(); });
            }
        }});
        stream_->shut_down();
    }

    [[nodiscard]] bool is_over() const noexcept override { return !stream_; }

    void close() noexcept override
    {
        stream_.reset();
        work_.reset();
    }

private:
    colock::zk::strand_type strand_;
    std::shared_ptr<stream> stream_; // empty once closed
    asio::executor_work_guard<asio::io_context::executor_type> work_;
};

} // namespace

std::shared_ptr<colock::zk::old_socket> make_old_stream(const colock::zk::strand_type& strand,
                                                        std::shared_ptr<stream> connection,
                                                        bool ended)
{
    return std::make_shared<old_stream>(strand, std::move(connection), ended);
}

} // namespace colock::simulated
