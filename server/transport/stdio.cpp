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
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
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

/// What is said while somebody writes is written along by him, unless it is long: most answers are
/// short, and to wait for each other takes longer than to write them. Where the client does not
/// read they wait all the same, before much is kept.
class Stdio::Writer final : public rpc::Sink {
  public:
    Writer(UniqueFd output, int eventfd)
        : output_(std::move(output)), wake_(eventfd), unread_(output_.get())
    {
    }

    void send(std::string message) noexcept override
    {
        message += '\n';
        std::unique_lock lock(mutex_);
        said_ += message.size();
        if (writing_ && waiting_ == 0 && beside_.size() + message.size() <= most_beside) {
            beside_ += message;
            return;
        }
        ++waiting_;
        written_.wait(lock, [this] { return !writing_; });
        --waiting_;
        write(std::move(message), lock);
    }

    bool offer(std::string message) noexcept override
    {
        const std::lock_guard lock(mutex_);
        message += '\n';
        // Whoever writes to a client that reads is done in a moment, and takes it along.
        if (broken_ || !takes_more() ||
            (writing_ && beside_.size() + message.size() > most_beside)) {
            return false;
        }
        said_ += message.size();
        if (writing_) {
            beside_ += message;
        } else {
            // With the lock: what is said beside would be his to write, and may wait.
            write_out(message);
        }
        return !broken_;
    }

    void when_read(std::function<void()> then, std::function<void()> /*lost*/) override
    {
        std::unique_lock lock(mutex_);
        const auto end = said_;
        lock.unlock();
        if (!broken_ && !unread_.when_read(std::move(then), end)) {
            wake(wake_);
        }
    }

    /// Until all that was said is written, or for so long.
    void settle(std::chrono::milliseconds time) noexcept
    {
        std::unique_lock lock(mutex_);
        written_.wait_for(lock, time, [this] { return !writing_; });
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

    void write(std::string text, std::unique_lock<std::mutex>& lock) noexcept
    {
        writing_ = true;
        for (; !text.empty(); text = std::exchange(beside_, {})) {
            lock.unlock();
            write_out(text);
            lock.lock();
        }
        writing_ = false;
        written_.notify_all();
    }

    void write_out(std::string_view text) noexcept
    {
        if (broken_) {
            return;
        }
        try {
            write_full(output_.get(), text);
            unread_.wrote(text.size());
        } catch (const std::system_error& error) {
            lost_ = error.code().value();
            broken_ = true;
            wake(wake_);
        }
    }

    static constexpr std::size_t most_beside = 64U << 10U; // as a pipe

    std::mutex mutex_; ///< guards what follows; not held where a write may wait
    std::condition_variable written_;
    bool writing_ = false;
    std::size_t waiting_ = 0; ///< until nobody writes
    std::string beside_;      ///< for whoever writes
    std::uint64_t said_ = 0;  ///< in bytes

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
    writer_->settle(time);
    writer_->unread().settle(time);
}

void Stdio::stop() noexcept
{
    stopped_ = true;
    wake(wake_.get());
}

} // namespace berth::transport
