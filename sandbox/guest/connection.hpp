#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/call.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/output_queue.hpp"
#include "sandbox/guest/payload_budget.hpp"
#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/hello.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace berth::guest {

class Connection;

/// What a connection leaves to its owner, always on the loop's thread.
class ConnectionOwner {
  public:
    ConnectionOwner() = default;
    ConnectionOwner(const ConnectionOwner&) = delete;
    ConnectionOwner& operator=(const ConnectionOwner&) = delete;
    virtual ~ConnectionOwner() = default;

    /// Judges the hello. Throws Error to refuse it.
    virtual protocol::HelloReply welcome(const protocol::Hello& hello) = 0;

    /// Of a connection whose hello said that its server stays.
    virtual void client_came(const Connection& connection) = 0;

    /// Begins a call. What it throws is the call's answer.
    virtual void begin(const std::shared_ptr<Call>& call, protocol::Frame request) = 0;

    /// Room for a large request of which only the header is there. `granted`: see PayloadBudget.
    virtual std::shared_ptr<PayloadBudget::Ticket>
    room_for(const protocol::FrameReader::Announced& request, EventLoop::Task granted) = 0;

    /// The connection of a call, or of its answer, which nobody has acknowledged, is gone.
    virtual void lost(const std::shared_ptr<Call>& call) { call->gone(); }

    /// Whoever asked for it has had the answer of a call.
    virtual void seen(const Call& /*call*/) {}

    /// Whether a server has left that was not told of outcomes, and nobody else was.
    [[nodiscard]] virtual bool has_unseen() noexcept { return false; }

    /// False once the guest is about to end: what is not read by then stays unread, which whoever
    /// sent it can see and so knows that it has not begun.
    [[nodiscard]] virtual bool is_reading() const noexcept { return true; }

    /// How long a request that has room may bring no byte.
    [[nodiscard]] virtual std::chrono::milliseconds patience() const noexcept = 0;

    /// The connection is about to be gone, and what it has of calls still to be lost.
    virtual void ends(const Connection& /*connection*/) noexcept {}

    /// The connection's last word.
    virtual void closed(Connection& connection) noexcept = 0;
};

/// One connection of the host, as protocol/frame.hpp has it: the hello, then one call at a time.
/// Belongs to the loop's thread; nothing here blocks. Whatever is not the protocol is answered with
/// an error frame and the end of the connection, and of nothing else.
class Connection : public std::enable_shared_from_this<Connection> {
  public:
    /// For the hello, and for the host to take the error frame before a close.
    static constexpr std::chrono::seconds hello_time{5};
    static constexpr std::chrono::seconds farewell_time{2};

    /// `socket`: a connected stream socket. `owner` must outlive the connection.
    Connection(EventLoop& loop, UniqueFd socket, ConnectionOwner& owner);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void start();

    /// Takes back everything: a call in progress learns that its connection is gone.
    void close() noexcept;

    [[nodiscard]] bool greeted() const noexcept { return state_ == State::ready; }

    /// Of a server that works here, as its hello said or its calls have shown. One that says for
    /// how long it is there is none by a connection on which nothing is asked (any more).
    [[nodiscard]] bool is_client() const noexcept
    {
        return greeted() && client_ && (!lease_ || call_ != nullptr);
    }

    /// For how long its server is there from its last call's end, as the hello said.
    [[nodiscard]] std::optional<std::chrono::milliseconds> lease() const noexcept { return lease_; }

    /// Or has been until it was closed.
    [[nodiscard]] bool was_client() const noexcept { return client_; }

    /// Of the hello.
    [[nodiscard]] const std::string& server() const noexcept { return server_; }

    /// For whom its calls are: those of one server take turns with those of another. One whose
    /// hello names no server is by itself.
    [[nodiscard]] std::string asker() const
    {
        return server_.empty() ? "connection " + std::to_string(socket_.get()) : server_;
    }

    // ---- for NamedCalls ----

    /// A call of another connection, which ends, is this one's now, in place of the one that has
    /// just come in.
    void take_over(const std::shared_ptr<Call>& call);

    /// Data comes behind the request, and nobody needs it.
    void pass_over_data(bool comes) noexcept { discard_data_ = comes; }

    // ---- for Call, by way of the loop ----

    void finish(const Call& call, protocol::FrameType type, std::string payload,
                Call::Task after_sent);
    /// See Call::tell.
    bool tell(const Call& call, std::string event);
    /// Moves on what has been waiting: data of the call, room for more.
    void pump();

  private:
    enum class State : unsigned char { new_comer, ready, leaving, closed };

    void on_events(std::uint32_t events);
    void receive();
    void take(std::span<char> bytes);
    void take_frame(protocol::Frame frame);
    void take_hello(const protocol::Frame& frame);
    void take_request(protocol::Frame frame);
    void take_data(protocol::Frame frame);
    void take_acknowledgement();
    void take_cancel();
    void take_last_word() noexcept;
    void drop_calls();
    void hand_over(const Call& call) noexcept;
    void ask_for_room();
    void refuse(const std::exception_ptr& error);
    void set_timer(std::chrono::milliseconds time);
    void limit_silence();
    void send();
    void update_events();

    EventLoop& loop_;
    UniqueFd socket_;
    ConnectionOwner& owner_;
    State state_ = State::new_comer;
    bool client_ = false;
    std::optional<std::chrono::milliseconds> lease_;
    std::string server_;
    std::uint32_t events_ = 0;
    EventLoop::TimerId timer_ = 0;
    protocol::FrameReader reader_{protocol::max_hello_size};
    std::shared_ptr<PayloadBudget::Ticket> room_; ///< of the request that is being received
    OutputQueue output_;
    std::shared_ptr<Call> call_;
    std::shared_ptr<Call> answered_; ///< with a name, or to be acknowledged; until that is said
    bool discard_data_ = false;      ///< of a call that was answered before it took all
    Call::Task after_sent_;
};

} // namespace berth::guest
