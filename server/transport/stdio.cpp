#include "server/transport/stdio.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "server/rpc/outline.hpp"
#include "server/transport/line_reader.hpp"
#include "server/transport/unread.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace berth::transport {
namespace {

constexpr std::size_t read_size = 64U << 10U;

enum class Event : std::uint8_t { input, wanted, deaf, late };

/// Blocks until `input` has something, somebody wants the reader to return, or nobody reads
/// `output` any more: without a word to say the server would not find out, and work on for no one.
/// Or until so much time has passed, unless it is below zero.
Event wait_for_input(int input, int eventfd, int output, std::chrono::milliseconds time)
{
    std::array<pollfd, 3> waiting{{{.fd = input, .events = POLLIN, .revents = 0},
                                   {.fd = eventfd, .events = POLLIN, .revents = 0},
                                   {.fd = output, .events = 0, .revents = 0}}};
    int ready = 0;
    while ((ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(time.count()))) < 0) {
        if (errno != EINTR) {
            throw_errno("poll standard input");
        }
    }
    if (ready == 0) {
        return Event::late;
    }
    if (waiting[1].revents != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto taken = ::read(eventfd, &count, sizeof(count));
        return Event::wanted;
    }
    // A client may close both at once, having said its last word: that is read first.
    return waiting[0].revents == 0 && waiting[2].revents != 0 ? Event::deaf : Event::input;
}

} // namespace

class Stdio::Writer final : public rpc::Sink {
  public:
    Writer(UniqueFd output, int eventfd)
        : output_(std::move(output)), wake_(eventfd), unread_(output_.get())
    {
    }

    void send(std::string message) noexcept override
    {
        const std::lock_guard lock(mutex_);
        write(std::move(message));
    }

    bool offer(std::string message) noexcept override
    {
        const std::unique_lock lock(mutex_, std::try_to_lock); // else another one is waiting
        return lock && takes_more() && write(std::move(message));
    }

    void when_read(std::function<void()> then, std::function<void()> /*lost*/) override
    {
        if (!broken_ && !unread_.when_read(std::move(then))) {
            wake(wake_);
        }
    }

    [[nodiscard]] Unread& unread() noexcept { return unread_; }

    [[nodiscard]] bool broken() const noexcept { return broken_; }

    [[nodiscard]] int lost() const noexcept { return lost_; }

    [[nodiscard]] int descriptor() const noexcept { return output_.get(); }

  private:
    /// A pipe or a socket of which this is said takes PIPE_BUF bytes without a wait.
    [[nodiscard]] bool takes_more() const noexcept
    {
        pollfd writing{.fd = output_.get(), .events = POLLOUT, .revents = 0};
        return ::poll(&writing, 1, 0) == 1 && (writing.revents & POLLOUT) != 0;
    }

    bool write(std::string message) noexcept
    {
        if (broken_) {
            return false;
        }
        message += '\n';
        try {
            write_full(output_.get(), message);
            unread_.wrote(message.size());
        } catch (const std::system_error& error) {
            lost_ = error.code().value();
            broken_ = true;
            wake(wake_);
        }
        return !broken_;
    }

    std::mutex mutex_;
    UniqueFd output_;
    int wake_;
    Unread unread_;
    std::atomic<int> lost_{0};
    std::atomic<bool> broken_{false};
};

Stdio::Stdio(UniqueFd input, UniqueFd output, std::size_t message_limit)
    : input_(std::move(input)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      message_limit_(message_limit)
{
    if (!wake_) {
        throw_errno("eventfd");
    }
    writer_ = std::make_shared<Writer>(std::move(output), wake_.get());
}

Stdio::~Stdio() = default;

std::shared_ptr<rpc::Sink> Stdio::sink() const
{
    return writer_;
}

int Stdio::lost_output() const noexcept
{
    return writer_->lost() == EPIPE ? 0 : writer_->lost();
}

Stdio::End Stdio::run(rpc::Dispatcher& dispatcher)
{
    rpc::Outline outline;
    LineReader lines(message_limit_,
                     {.line = [&](std::string_view line) { dispatcher.receive(line); },
                      .skipped = [&](std::string_view piece) { outline.feed(piece); },
                      .too_long =
                          [&] {
                              dispatcher.too_long(outline.text(), message_limit_);
                              outline.clear();
                          }});
    std::chrono::milliseconds wait{-1};
    for (;;) {
        const auto event = wait_for_input(input_.get(), wake_.get(), writer_->descriptor(), wait);
        wait = writer_->unread().look(); // before what a client asks for next is begun
        switch (event) {
        case Event::wanted:
            if (writer_->broken()) {
                return End::broken;
            }
            if (stopped_) {
                return End::stopped;
            }
            continue;
        case Event::late:
            continue;
        case Event::deaf:
            return End::broken;
        case Event::input:
            break;
        }
        const auto count = ::read(input_.get(), lines.prepare(read_size), read_size);
        if (count > 0) {
            lines.commit(static_cast<std::size_t>(count));
        } else if (count == 0) {
            lines.finish();
            return End::end_of_file;
        } else if (errno != EINTR && errno != EAGAIN) {
            return End::end_of_file; // a terminal that hung up reads as EIO
        }
    }
}

void Stdio::settle(std::chrono::milliseconds time)
{
    writer_->unread().settle(time);
}

void Stdio::stop() noexcept
{
    stopped_ = true;
    wake(wake_.get());
}

} // namespace berth::transport
