#include "server/transport/exchange.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace berth::transport {

/// Its last owner is the last call: then nothing more is said.
class Exchange::Way final : public rpc::Sink {
  public:
    explicit Way(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

    ~Way() override { exchange_->end(); }

    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;

    void send(std::string message) noexcept override { exchange_->answer(std::move(message)); }

    bool offer(std::string message) noexcept override
    {
        return exchange_->offer(std::move(message));
    }

    bool hold(std::size_t bytes) override { return exchange_->hold(bytes); }

    void when_read(std::function<void()> then, std::function<void()> lost) override
    {
        exchange_->when_read(std::move(then), std::move(lost));
    }

  private:
    std::shared_ptr<Exchange> exchange_;
};

Exchange::Exchange(std::shared_ptr<HttpSocket> socket, Occupied occupied)
    : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), socket_(std::move(socket)),
      occupied_(std::move(occupied))
{
    if (!wake_) {
        throw_errno("eventfd");
    }
}

void Exchange::occupy(std::shared_ptr<void> others)
{
    const std::lock_guard lock(mutex_);
    occupied_.others = std::move(others);
}

std::shared_ptr<rpc::Sink> Exchange::sink()
{
    return std::make_shared<Way>(shared_from_this());
}

void Exchange::answer(std::string text) noexcept
{
    const std::lock_guard lock(mutex_);
    answer_ = std::move(text);
    wake(wake_.get());
}

bool Exchange::offer(std::string text) noexcept
{
    const std::lock_guard lock(mutex_);
    if (written_ || answer_ || said_.size() >= most_waiting) {
        return false;
    }
    said_.push_back(std::move(text));
    wake(wake_.get());
    return true;
}

void Exchange::when_read(std::function<void()> then, std::function<void()> lost)
{
    {
        const std::lock_guard lock(mutex_);
        if (!written_) {
            when_read_.push_back({std::move(then), std::move(lost)});
            return;
        }
    }
    if (*written_) {
        (void)socket_->unread().when_read(std::move(then), std::move(lost));
    } else if (lost) {
        lost();
    }
}

bool Exchange::hold(std::size_t bytes)
{
    const std::lock_guard lock(mutex_);
    return !occupied_.room || occupied_.room->take(bytes);
}

void Exchange::end() noexcept
{
    const std::lock_guard lock(mutex_);
    ended_ = true;
    wake(wake_.get());
}

std::optional<Exchange::Event> Exchange::event()
{
    // Before it is looked: what happens from here on wakes again.
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(wake_.get(), &count, sizeof(count));
    const std::lock_guard lock(mutex_);
    return !said_.empty() ? std::optional(Event::said)
           : answer_      ? std::optional(Event::answered)
           : ended_       ? std::optional(Event::ended)
                          : std::nullopt;
}

Exchange::Event Exchange::wait(std::chrono::milliseconds time)
{
    const auto deadline = Deadline::after(time);
    for (;;) {
        if (const auto happened = event()) {
            return *happened;
        }
        std::array<pollfd, 2> waiting{
            {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
             {.fd = socket_->descriptor(), .events = POLLRDHUP, .revents = 0}}};
        const int ready = ::poll(waiting.data(), waiting.size(), deadline.poll_timeout());
        if (ready == 0) {
            return Event::late;
        }
        if (ready > 0 && waiting[0].revents == 0) {
            return Event::gone;
        }
    }
}

std::string Exchange::take_said()
{
    const std::lock_guard lock(mutex_);
    auto text = std::move(said_.front());
    said_.pop_front();
    return text;
}

std::string Exchange::take_answer()
{
    const std::lock_guard lock(mutex_);
    return std::move(*answer_);
}

void Exchange::finish(bool written)
{
    std::vector<Reading> due;
    Occupied done;
    std::shared_ptr<HttpSocket> left;
    {
        const std::lock_guard lock(mutex_);
        if (written_) {
            return;
        }
        written_ = written;
        due = std::move(when_read_);
        if (written) { // who told of its end may still write that down
            done = std::exchange(occupied_, {});
        } else { // a place of http_connections, which a call without a client does not take
            left = std::exchange(socket_, nullptr);
        }
    }
    for (auto& each : due) {
        if (written) {
            (void)socket_->unread().when_read(std::move(each.read), std::move(each.lost));
        } else if (each.lost) {
            each.lost();
        }
    }
}

} // namespace berth::transport
