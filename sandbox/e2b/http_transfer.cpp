#include "sandbox/e2b/http_transfer.hpp"

#include "sandbox/base/wait_bound.hpp"

#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::e2b {
namespace {

constexpr std::size_t pipe_size = 256U << 10U;

/// For a peer that takes nothing; the library waits as long.
constexpr int longest_wait = 600'000;

} // namespace

void SocketHold::hold(int socket) noexcept
{
    const std::scoped_lock lock(mutex_);
    if (!shut_) {
        socket_.reset(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
        return;
    }
    const UniqueFd nowhere(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (nowhere) {
        ::dup3(nowhere.get(), socket, O_CLOEXEC); // connect(2) to an address of TCP fails there
    }
}

void SocketHold::shut() noexcept
{
    const std::scoped_lock lock(mutex_);
    shut_ = true;
    if (socket_) {
        ::shutdown(socket_.get(), SHUT_RDWR);
    }
}

bool SocketHold::is_shut() noexcept
{
    const std::scoped_lock lock(mutex_);
    return shut_;
}

bool SocketHold::takes_more() noexcept
{
    pollfd watched{.fd = -1, .events = POLLOUT | POLLRDHUP, .revents = 0};
    {
        const std::scoped_lock lock(mutex_);
        if (!socket_) {
            return true; // the library will see
        }
        watched.fd = socket_.get(); // nobody else replaces it
    }
    // Not by what can be read: over TLS that need not be an answer.
    return ::poll(&watched, 1, longest_wait) <= 0 ||
           (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

HttpTransfer::HttpTransfer(std::string where, HttpRequest request)
    : where_(std::move(where)), request_(std::move(request)), incoming_(pipe_size),
      outgoing_(pipe_size)
{
}

bool HttpTransfer::write(std::string_view bytes, const Deadline& deadline,
                         const std::stop_token& stop)
{
    const auto wait = WaitBound::within(deadline, stop);
    const auto outcome = outgoing_.write(bytes, wait.deadline, wait.stop);
    if (outcome == Pipe::Outcome::expired) {
        throw expired(wait.stop);
    }
    if (outcome == Pipe::Outcome::closed && !was_answered()) {
        throw_failure();
    }
    return outcome == Pipe::Outcome::done;
}

const HttpHead& HttpTransfer::head(const Deadline& deadline, const std::stop_token& stop)
{
    const auto wait = WaitBound::within(deadline, stop);
    std::unique_lock lock(mutex_);
    const bool ready = wait_until(changed_, lock, wait.deadline, wait.stop,
                                  [&] { return head_ || failure_ || cut_; });
    if (head_ && !cut_) {
        return *head_;
    }
    lock.unlock();
    if (ready) {
        throw_failure();
    }
    throw expired(wait.stop);
}

std::size_t HttpTransfer::read(char* data, std::size_t size, const Deadline& deadline,
                               const std::stop_token& stop)
{
    std::size_t got = 0;
    const auto wait = WaitBound::within(deadline, stop);
    const auto outcome = incoming_.read(data, size, got, wait.deadline, wait.stop);
    if (outcome == Pipe::Outcome::expired) {
        throw expired(wait.stop);
    }
    if (outcome == Pipe::Outcome::closed || (got == 0 && has_failed())) {
        throw_failure();
    }
    return got;
}

void HttpTransfer::cut() noexcept
{
    {
        const std::scoped_lock lock(mutex_);
        cut_ = true;
        if (socket_) {
            socket_->shut();
        }
        changed_.notify_all();
    }
    incoming_.close();
    outgoing_.close();
}

HttpFailure HttpTransfer::give_up(const HttpFailure& failure)
{
    cut(); // from here on no body begins
    const std::scoped_lock lock(mutex_);
    return {failure.cause(), failure.unsent() || unsent(), failure.what(), failure.hint()};
}

void HttpTransfer::insist() noexcept
{
    const std::scoped_lock lock(mutex_);
    if (cut_ && socket_) {
        socket_->shut();
    }
}

bool HttpTransfer::attach(std::shared_ptr<SocketHold> socket)
{
    const std::scoped_lock lock(mutex_);
    socket_ = std::move(socket);
    return !cut_;
}

void HttpTransfer::detach() noexcept
{
    const std::scoped_lock lock(mutex_);
    socket_.reset();
}

bool HttpTransfer::begin_body() noexcept
{
    const std::scoped_lock lock(mutex_);
    return !cut_ && !std::exchange(body_begun_, true);
}

std::optional<std::size_t> HttpTransfer::more_body(char* data, std::size_t size)
{
    std::size_t got = 0;
    const auto outcome = outgoing_.read(data, size, got, {}, {});
    return outcome == Pipe::Outcome::done ? std::optional(got) : std::nullopt;
}

void HttpTransfer::set_sent() noexcept
{
    const std::scoped_lock lock(mutex_);
    sent_ = true;
}

bool HttpTransfer::sent()
{
    const std::scoped_lock lock(mutex_);
    return sent_;
}

void HttpTransfer::set_head(HttpHead head)
{
    const std::scoped_lock lock(mutex_);
    head_ = std::move(head);
    changed_.notify_all();
}

bool HttpTransfer::take_body(std::string_view bytes)
{
    return incoming_.write(bytes, {}, {}) == Pipe::Outcome::done;
}

void HttpTransfer::succeed() noexcept
{
    incoming_.end();
    outgoing_.close();
}

void HttpTransfer::fail(HttpFailure::Cause cause, const std::string& why, std::string hint)
{
    {
        const std::scoped_lock lock(mutex_);
        // A library that connects again by itself may have sent it the time before.
        const bool nothing = unsent() || (cause == HttpFailure::Cause::unconnected && !body_begun_);
        failure_.emplace(cause, nothing, where_ + ": " + why, std::move(hint));
        changed_.notify_all();
    }
    incoming_.end();
    outgoing_.close();
}

/// Not unsent, whatever has been: it goes on until it is cut.
HttpFailure HttpTransfer::expired(const std::stop_token& stop) const
{
    if (stop.stop_requested()) {
        return {HttpFailure::Cause::cancelled, false, where_ + ": given up, as was asked", {}};
    }
    return {HttpFailure::Cause::expired, false, where_ + ": no answer in time",
            "Try again; if it stays so, look whether the network of this host is well."};
}

bool HttpTransfer::has_failed()
{
    const std::scoped_lock lock(mutex_);
    return failure_ || cut_;
}

/// When the pipe to the server is closed.
bool HttpTransfer::was_answered()
{
    const std::scoped_lock lock(mutex_);
    return !failure_ && !cut_;
}

void HttpTransfer::throw_failure()
{
    const std::scoped_lock lock(mutex_);
    if (failure_ && !cut_) {
        throw HttpFailure(*failure_);
    }
    throw HttpFailure(HttpFailure::Cause::cut, unsent(), where_ + ": ended from this side", {});
}

bool HttpTransfer::unsent() const noexcept
{
    const bool has_body = request_.streamed || !request_.body.empty();
    return has_body && !body_begun_;
}

} // namespace berth::e2b
