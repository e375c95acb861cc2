#include "sandbox/filter/proxy/relay.hpp"

#include "sandbox/base/deadline.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace berth::filter {
namespace {

constexpr std::size_t buffer_size = 32UL * 1024;
/// A tunnel on which nothing moves. Long enough for whoever waits for an answer of hours.
constexpr std::chrono::hours longest_silence{2};
/// The same once the client has ended its side: mostly it has gone.
constexpr std::chrono::minutes patience_without_client{2};
/// For the rest of a ClientHello that has begun.
constexpr std::chrono::seconds patience_with_hello{30};

/// One direction.
class Flow {
  public:
    Flow(int from, int to, std::string pending, std::optional<std::uint64_t> most)
        : from_(from), to_(to), pending_(std::move(pending)), most_(most)
    {
        limit();
    }

    [[nodiscard]] bool wants_input() const noexcept
    {
        return !ended_ && pending_.size() < (held_ ? longest_held : 1);
    }

    [[nodiscard]] bool wants_output() const noexcept { return !held_ && !pending_.empty(); }

    [[nodiscard]] bool is_done() const noexcept { return ended_ && pending_.empty(); }

    [[nodiscard]] const std::string& pending() const noexcept { return pending_; }

    void set_held(bool held) noexcept { held_ = held; }

    [[nodiscard]] bool is_held() const noexcept { return held_; }

    /// False: the connection is broken.
    [[nodiscard]] bool read()
    {
        std::array<char, buffer_size> buffer; // NOLINT(*-member-init): what was written to is read
        const ssize_t size = ::recv(from_, buffer.data(), buffer.size(), 0);
        if (size > 0) {
            pending_.append(buffer.data(), static_cast<std::size_t>(size));
            limit();
            return true;
        }
        if (size == 0) {
            ended_ = true;
            finish();
            return true;
        }
        return errno == EAGAIN || errno == EINTR;
    }

    [[nodiscard]] bool write()
    {
        const ssize_t size = ::send(to_, pending_.data(), pending_.size(), MSG_NOSIGNAL);
        if (size < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        pending_.erase(0, static_cast<std::size_t>(size));
        finish();
        return true;
    }

  private:
    static constexpr std::size_t longest_held = buffer_size;

    /// What is more than may go on is none of this request's.
    void limit()
    {
        if (!most_) {
            return;
        }
        const auto fresh = pending_.size() - counted_;
        const auto taken = std::min<std::uint64_t>(fresh, *most_);
        *most_ -= taken;
        pending_.resize(counted_ + taken);
        counted_ = pending_.size();
        ended_ = ended_ || *most_ == 0;
        limited_ = *most_ == 0;
    }

    /// The end of a side is passed on; of a request that is over by its length it is none.
    void finish()
    {
        counted_ = pending_.size();
        if (is_done() && !limited_) {
            (void)::shutdown(to_, SHUT_WR);
        }
    }

    int from_;
    int to_;
    std::string pending_;
    std::optional<std::uint64_t> most_;
    std::size_t counted_ = 0; ///< of pending_, against most_
    bool held_ = false;
    bool ended_ = false;
    bool limited_ = false;
};

short events_of(const Flow& reads, const Flow& writes)
{
    return static_cast<short>((reads.wants_input() ? POLLIN : 0) |
                              (writes.wants_output() ? POLLOUT : 0));
}

/// Of a side of which nothing is wanted its end would be told again and again.
pollfd waiting_for(int fd, short events)
{
    return {events == 0 ? -1 : fd, events, 0};
}

bool move(Flow& reads, Flow& writes, short happened)
{
    constexpr int readable = POLLIN | POLLHUP | POLLERR;
    constexpr int writable = POLLOUT | POLLHUP | POLLERR;
    return (!reads.wants_input() || (happened & readable) == 0 || reads.read()) &&
           (!writes.wants_output() || (happened & writable) == 0 || writes.write());
}

/// Looks at what is held back, and lets it go on once it may.
std::optional<protocol::Denial> decide(Flow& up, const Target& target)
{
    if (!up.is_held() || up.pending().empty()) {
        return std::nullopt;
    }
    auto verdict = judge_tunnel(target, up.pending());
    up.set_held(verdict.undecided);
    return std::move(verdict.denial);
}

} // namespace

std::optional<protocol::Denial> relay(Relayed relayed)
{
    Flow up(relayed.client, relayed.server, std::move(relayed.from_client),
            relayed.most_from_client);
    Flow down(relayed.server, relayed.client, {}, std::nullopt);
    up.set_held(relayed.tunnel != nullptr);
    Deadline hello;
    for (;;) {
        if (relayed.tunnel != nullptr) {
            if (auto denial = decide(up, *relayed.tunnel)) {
                return denial;
            }
        }
        if (!up.is_held() || up.pending().empty()) {
            hello = {};
        } else if (hello.is_never()) {
            hello = Deadline::after(patience_with_hello);
        }
        if (down.is_done()) {
            return std::nullopt; // nobody answers any more what is still to be sent
        }
        const auto silence = Deadline::after(up.is_done() && !relayed.most_from_client
                                                 ? std::chrono::nanoseconds(patience_without_client)
                                                 : std::chrono::nanoseconds(longest_silence));
        std::array<pollfd, 2> waiting{waiting_for(relayed.client, events_of(up, down)),
                                      waiting_for(relayed.server, events_of(down, up))};
        const int count = ::poll(waiting.data(), waiting.size(),
                                 Deadline::earlier(hello, silence).poll_timeout());
        if (count == 0 || (count < 0 && errno != EINTR)) {
            return std::nullopt;
        }
        if (count > 0 &&
            (!move(up, down, waiting[0].revents) || !move(down, up, waiting[1].revents))) {
            return std::nullopt;
        }
    }
}

} // namespace berth::filter
