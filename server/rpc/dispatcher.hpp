#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "server/rpc/call.hpp"
#include "server/rpc/json_reader.hpp"
#include "server/rpc/message.hpp"
#include "server/rpc/questions.hpp"
#include "server/rpc/sink.hpp"
#include "server/rpc/worker_pool.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace berth::rpc {

class Dispatcher;

/// The protocol on top of JSON-RPC, for one peer.
class Handler {
  public:
    Handler() = default;
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;
    virtual ~Handler() = default;

    /// Answers `call`, on a thread of the pool; may block. A ProtocolError becomes the answer, any
    /// other exception an internal error.
    virtual void request(const std::shared_ptr<Call>& call) = 0;

    /// On the thread that reads: must not block. What it throws is dropped.
    virtual void notification(const Message& message, Dispatcher& dispatcher) = 0;

    /// The result, as JSON text, that tells the peer why a request is not worked on; empty: it is
    /// answered by an error object. `message` may lack its params.
    [[nodiscard]] virtual std::string refusal(const Message& /*message*/, const Error& /*why*/)
    {
        return {};
    }

    /// Whether this array of messages may be processed as a batch.
    [[nodiscard]] virtual bool accepts_batch(const nlohmann::json& messages) = 0;
};

struct DispatcherLimits {
    ReadLimits read;
    std::size_t in_flight = 256;
    /// Bytes of all messages that are being worked on; one alone may have more.
    std::size_t bytes_in_flight = std::size_t{256} << 20U;
};

/// Turns messages of one peer into calls of a handler, many at a time, and sees to it that each
/// request is answered once. receive(text) and too_long() are for one thread, the rest for any.
class Dispatcher {
  public:
    Dispatcher(Handler& handler, std::shared_ptr<Sink> sink, WorkerPool& pool,
               DispatcherLimits limits);
    /// Waits for calls in flight.
    ~Dispatcher();
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    /// Of one message, or a batch, where each has a way back of its own.
    struct Source {
        std::shared_ptr<Sink> sink; ///< of what is answered, and of what is said before
        std::size_t bytes = 0;      ///< of its text
        /// Within which its ids are unique; elsewhere the same id is another request.
        std::string scope;
    };

    /// One message, or a batch. Never waits for a call.
    void receive(std::string_view text);

    /// The same of one that was read already, from any thread.
    void receive(Message&& message, const Source& source);

    /// Of an array. Throws ProtocolError where it is empty or out of place.
    void receive_batch(nlohmann::json&& messages, const Source& source);

    /// A message longer than `limit` bytes came; it was skipped, but for its outline.
    void too_long(std::string_view outline, std::size_t limit);

    /// The peer no longer wants the answer to `id`. Unknown and finished ids are no error: the
    /// answer and the cancellation may have crossed.
    void cancel(const Id& id, const std::string& scope = {});

    /// Ends the work of every call in flight; their answers are still sent.
    void stop() noexcept;

    /// Waits until no call is in flight. False when the deadline passed first.
    bool drain(const Deadline& deadline);

  private:
    struct Table;
    class Batch;

    /// Where the answers to one message go, and what its work occupies.
    struct Origin {
        std::shared_ptr<Sink> answers;
        std::shared_ptr<Sink> notifications;
        std::string scope;
        std::shared_ptr<void> bytes; ///< held while it is worked on; null: there was no room
    };

    void answer_unread(std::string_view text, const ProtocolError& error);
    void refuse(const Message& message, const Error& why, const ProtocolError& otherwise);
    void dispatch(nlohmann::json&& message, const Origin& origin);
    void take(Message message, const Origin& origin);
    void start(Message message, const Origin& origin);
    void run(std::shared_ptr<Call> call, std::shared_ptr<void> bytes);
    void refuse(Call& call, const Error& why);
    [[nodiscard]] Origin origin_of(const Source& source);
    void dispatch_batch(nlohmann::json&& messages, Origin origin);

    Handler& handler_;
    std::shared_ptr<Sink> sink_;
    WorkerPool& pool_;
    DispatcherLimits limits_;
    std::shared_ptr<Table> table_;
    /// Of calls in flight, whose peer answers as it sends everything else.
    const std::shared_ptr<Questions> questions_ = std::make_shared<Questions>();
};

} // namespace berth::rpc
