#include "sandbox/filter/proxy/relay.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/filter/proxy/forwarding.hpp"
#include "sandbox/filter/proxy/send_allowance.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

#include <poll.h>

namespace berth::filter {
namespace {

constexpr std::size_t buffer_size = 32UL * 1024;
/// A tunnel on which nothing moves. Long enough for whoever waits for an answer of hours.
constexpr std::chrono::hours longest_silence{2};
/// The same once the client has ended its side: mostly it has gone.
constexpr std::chrono::minutes patience_without_client{2};
/// And once the server has ended its own: it may read on, or be gone.
constexpr std::chrono::seconds patience_without_server{30};
/// For the rest of a ClientHello that has begun.
constexpr std::chrono::seconds patience_with_hello{30};

/// There is more to be sent than may be.
struct Spent {};

/// One direction.
class Flow {
  public:
    /// `head`: goes before all that comes, and is not of the body.
    Flow(Stream& from, Stream& to, std::string head, std::string_view pending,
         std::optional<Body> body, SendAllowance* allowance)
        : from_(from), to_(to), pending_(std::move(head)), body_(std::move(body)),
          allowance_(allowance), counted_(pending_.size())
    {
        pay(counted_);
        pending_ += pending;
        limit();
    }

    [[nodiscard]] bool wants_input() const noexcept
    {
        return !ended_ && pending_.size() < (held_ ? longest_held : 1);
    }

    [[nodiscard]] bool wants_output() const noexcept { return !held_ && !pending_.empty(); }

    [[nodiscard]] bool is_done() const noexcept { return ended_ && pending_.empty(); }

    /// Whoever sends has said that he is at his end, whether or not more of him was wanted.
    [[nodiscard]] bool has_heard_end() const noexcept { return heard_end_; }

    void hear_end() noexcept { heard_end_ = true; }

    [[nodiscard]] bool has_moved() const noexcept { return moved_; }

    /// Nothing more comes, and what came is not all.
    void cut() noexcept { ended_ = heard_end_ = cut_ = true; }

    [[nodiscard]] bool is_cut() const noexcept { return cut_; }

    /// The same of a connection that broke: nobody may take it for an end.
    void break_off() noexcept
    {
        cut();
        broken_ = true;
    }

    /// The same, while there may be more of what had come before.
    void note_broken() noexcept { broken_ = true; }

    /// Nobody has said that it is over, nor closed his side.
    [[nodiscard]] bool was_broken_off() const noexcept { return broken_ || !is_done(); }

    /// What comes is thrown away: nobody takes it.
    void discard() noexcept
    {
        discards_ = true;
        pending_.clear();
    }

    [[nodiscard]] bool discards() const noexcept { return discards_; }

    [[nodiscard]] const std::string& pending() const noexcept { return pending_; }

    void set_held(bool held) noexcept { held_ = held; }

    [[nodiscard]] bool is_held() const noexcept { return held_; }

    /// False: the connection is broken.
    [[nodiscard]] bool read()
    {
        std::array<char, buffer_size> buffer; // NOLINT(*-member-init): what was written to is read
        const auto [outcome, size] = from_.receive(buffer);
        if (outcome == Stream::Outcome::moved) {
            if (!discards_) {
                pending_.append(buffer.data(), size);
                limit();
            }
        } else if (outcome == Stream::Outcome::ended) {
            ended_ = heard_end_ = true;
            finish();
        } else if (outcome == Stream::Outcome::cut) {
            // What came goes on, but not as if it were all: whoever gets it hears no end either.
            cut();
        }
        return outcome != Stream::Outcome::broken;
    }

    [[nodiscard]] Stream::Outcome write()
    {
        const auto [outcome, size] = to_.send(pending_);
        if (outcome == Stream::Outcome::moved) {
            moved_ = true;
            pending_.erase(0, size);
            finish();
        }
        return outcome;
    }

  private:
    static constexpr std::size_t longest_held = buffer_size;

    /// What is more than may go on is none of this request's.
    void limit()
    {
        if (body_) {
            pending_.resize(counted_ + body_->take(std::string_view(pending_).substr(counted_)));
            limited_ = body_->is_done();
            ended_ = ended_ || limited_;
        }
        pay(pending_.size() - counted_);
        counted_ = pending_.size();
    }

    void pay(std::size_t bytes) const
    {
        if (allowance_ != nullptr && !allowance_->take(bytes)) {
            throw Spent();
        }
    }

    /// The end of a side is passed on; of a request that is over it is none.
    void finish()
    {
        counted_ = pending_.size();
        if (is_done() && !limited_ && !cut_ && !broken_) {
            to_.end();
        }
    }

    Stream& from_;
    Stream& to_;
    std::string pending_;
    std::optional<Body> body_;
    SendAllowance* allowance_;
    std::size_t counted_; ///< of pending_, by these
    bool held_ = false;
    bool ended_ = false;
    bool heard_end_ = false;
    bool moved_ = false;
    bool limited_ = false;
    bool cut_ = false;
    bool broken_ = false;
    bool discards_ = false;
};

short events_of(const Flow& reads, const Flow& writes)
{
    return static_cast<short>((reads.wants_input() ? POLLIN : 0) |
                              (writes.wants_output() ? POLLOUT : 0));
}

/// Of a side of which nothing is wanted its end would be told again and again.
pollfd waiting_for(const Stream& stream, short events)
{
    return {events == 0 ? -1 : stream.descriptor(), stream.events(events), 0};
}

/// A client that has sent what it may is still looked after: one that has gone would keep its place
/// among the session's connections for as long as its server is silent.
pollfd waiting_for_client(const Stream& client, const Flow& up, const Flow& down)
{
    const short events = events_of(up, down);
    if (!up.is_done()) {
        return waiting_for(client, events);
    }
    const int end = up.has_heard_end() ? 0 : POLLRDHUP;
    return {client.descriptor(), static_cast<short>(client.events(events) | end), 0};
}

/// Nobody is there any more who could be answered.
bool has_gone(Flow& up, short happened)
{
    if (up.is_done() && (happened & POLLRDHUP) != 0) {
        up.hear_end();
    }
    return up.is_done() && (happened & (POLLHUP | POLLERR)) != 0;
}

bool has_more(const Flow& reads, const Stream& stream)
{
    return reads.wants_input() && stream.has_more();
}

bool reads_now(const Flow& reads, const Stream& stream, short happened)
{
    // What waits to be received may wait for room to send (Stream::events).
    const int readable = POLLHUP | POLLERR | stream.events(POLLIN);
    return reads.wants_input() && ((happened & readable) != 0 || stream.has_more());
}

/// `later` where there is nothing to write, or it cannot be written.
Stream::Outcome write_now(Flow& writes, short happened)
{
    const bool may = writes.wants_output() && (happened & (POLLOUT | POLLHUP | POLLERR)) != 0;
    return may ? writes.write() : Stream::Outcome::later;
}

bool has_failed(Stream::Outcome written)
{
    return written == Stream::Outcome::closed || written == Stream::Outcome::broken;
}

/// False: it has gone.
bool move_at_client(Flow& up, Flow& down, const Stream& client, short happened)
{
    return !has_gone(up, happened) && (!reads_now(up, client, happened) || up.read()) &&
           !has_failed(write_now(down, happened));
}

/// One that has gone may have answered before, and what came of that is the client's.
void move_at_server(Flow& up, Flow& down, const Stream& server, short happened)
{
    if (reads_now(down, server, happened) && !down.read()) {
        down.break_off();
    }
    const auto written = write_now(up, happened);
    if (written == Stream::Outcome::broken) {
        // The kernel tells a reset once: after it what is received ends as a whole answer does.
        down.note_broken();
    }
    if (has_failed(written)) {
        up.discard();
    }
}

/// A server that has ended its side may read on: an answer that comes before all of the request,
/// such as 413, does not break off what its client still sends.
bool is_over(const Flow& up, const Flow& down)
{
    return down.is_done() && (up.is_done() || up.discards() || down.is_cut());
}

std::chrono::nanoseconds longest_wait(const Flow& up, const Flow& down)
{
    if (down.is_done()) {
        return patience_without_server;
    }
    return up.is_done() && up.has_heard_end() ? std::chrono::nanoseconds(patience_without_client)
                                              : std::chrono::nanoseconds(longest_silence);
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

std::optional<protocol::Denial> run(const Relayed& relayed, Flow& up, Flow& down)
{
    const auto& client = relayed.client;
    const auto& server = relayed.server;
    Deadline hello;
    for (;;) {
        if (relayed.is_tunnel) {
            if (auto denial = decide(up, relayed.target)) {
                return denial;
            }
        }
        if (!up.is_held() || up.pending().empty()) {
            hello = {};
        } else if (hello.is_never()) {
            hello = Deadline::after(patience_with_hello);
        }
        if (is_over(up, down)) {
            return std::nullopt;
        }
        const auto silence = Deadline::after(longest_wait(up, down));
        std::array<pollfd, 2> waiting{waiting_for_client(client, up, down),
                                      waiting_for(server, events_of(down, up))};
        const bool is_ready = has_more(up, client) || has_more(down, server);
        const int count = ::poll(waiting.data(), waiting.size(),
                                 is_ready ? 0 : Deadline::earlier(hello, silence).poll_timeout());
        if ((count == 0 && !is_ready) || (count < 0 && errno != EINTR)) {
            return std::nullopt;
        }
        if (count >= 0) {
            if (!move_at_client(up, down, client, waiting[0].revents)) {
                return std::nullopt;
            }
            move_at_server(up, down, server, waiting[1].revents);
        }
    }
}

} // namespace

Relayed::End relay(Relayed relayed)
{
    Flow down(relayed.server, relayed.client, {}, {}, std::nullopt, nullptr);
    try {
        Flow up(relayed.client, relayed.server, std::move(relayed.head), relayed.from_client,
                std::move(relayed.body), relayed.allowance);
        up.set_held(relayed.is_tunnel);
        auto denial = run(relayed, up, down);
        if (!denial && down.was_broken_off()) {
            // An end of the connection would make a whole answer of what came of one that has no
            // length.
            break_off(relayed.client);
        } else if (!denial && !up.is_done()) {
            take_leave(relayed.client);
        }
        return {.denial = std::move(denial), .answered = down.has_moved()};
    } catch (const BadRequest& bad) {
        if (!down.has_moved()) {
            throw;
        }
        return {.denial = denial_of(bad), .answered = true};
    } catch (const Spent&) {
        return {.denial = relayed.allowance->denial(relayed.target.to_text()),
                .answered = down.has_moved()};
    }
}

} // namespace berth::filter
