#include "server/rpc/dispatcher.hpp"

#include "sandbox/base/cut_off.hpp"
#include "sandbox/base/host_limit.hpp"
#include "server/rpc/outline.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace berth::rpc {

/// The calls in flight. `running` also counts those that are answered or cancelled but whose work
/// has not returned yet: they still hold a thread.
struct Dispatcher::Table {
    enum class Entered : unsigned char { yes, in_use, full };

    Entered enter(const std::string& key, const std::shared_ptr<Call>& call, std::size_t limit)
    {
        const std::lock_guard lock(mutex);
        if (calls.size() >= limit) {
            return Entered::full;
        }
        if (!calls.try_emplace(key, call).second) {
            return Entered::in_use;
        }
        ++running;
        return Entered::yes;
    }

    void leave(const std::string& key)
    {
        const std::lock_guard lock(mutex);
        calls.erase(key);
    }

    void finished()
    {
        if (--running == 0) {
            const std::lock_guard lock(mutex); // else who is about to wait would not hear of it
            empty.notify_all();
        }
    }

    /// Room for a message while the result lives; null when there is none.
    static std::shared_ptr<void> reserve(const std::shared_ptr<Table>& self, std::size_t size,
                                         std::size_t limit)
    {
        // Not added first, and taken back: to others there would be no room meanwhile.
        auto now = self->bytes.load();
        do {
            if (now != 0 && now + size > limit) {
                return nullptr;
            }
        } while (!self->bytes.compare_exchange_weak(now, now + size));
        // Not of the table itself: one that is empty must not be null.
        return {&self->bytes, [self, size](void*) { self->bytes -= size; }};
    }

    /// For what a call holds beside its message.
    static std::function<bool(std::size_t)> room_at(const std::shared_ptr<Table>& self,
                                                    std::size_t limit)
    {
        return
            [self, limit, held = std::vector<std::shared_ptr<void>>()](std::size_t size) mutable {
                auto more = reserve(self, size, limit);
                const bool is_room = more != nullptr;
                if (is_room) {
                    held.push_back(std::move(more));
                }
                return is_room;
            };
    }

    std::mutex mutex; ///< guards `calls`; each call takes it as seldom as can be
    std::condition_variable empty;
    std::unordered_map<std::string, std::weak_ptr<Call>> calls; ///< by key_of()
    std::atomic<std::size_t> bytes = 0;
    std::atomic<std::size_t> running = 0;
};

namespace {

/// An id is JSON text and has no line break outside of an escape, so no scope and id make the key
/// of another pair.
std::string key_of(const std::string& scope, const Id& id)
{
    return scope.empty() ? id : scope + '\n' + id;
}

} // namespace

/// Collects the answers of a batch and sends them as one array when its last call is gone.
class Dispatcher::Batch final : public Sink {
  public:
    explicit Batch(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}

    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    ~Batch() override
    {
        if (!answers_.empty()) {
            answers_ += ']';
            sink_->send(std::move(answers_));
        }
        for (auto& [then, lost] : when_read_) {
            sink_->when_read(std::move(then), std::move(lost));
        }
    }

    void send(std::string message) noexcept override
    {
        const std::lock_guard lock(mutex_);
        answers_ += answers_.empty() ? '[' : ',';
        answers_ += message;
    }

    bool hold(std::size_t bytes) override { return sink_->hold(bytes); }

    void when_read(std::function<void()> then, std::function<void()> lost) override
    {
        const std::lock_guard lock(mutex_);
        when_read_.emplace_back(std::move(then), std::move(lost));
    }

  private:
    std::shared_ptr<Sink> sink_;
    std::mutex mutex_;
    std::string answers_;
    std::vector<std::pair<std::function<void()>, std::function<void()>>> when_read_;
};

Dispatcher::Dispatcher(Handler& handler, std::shared_ptr<Sink> sink, WorkerPool& pool,
                       DispatcherLimits limits)
    : handler_(handler), sink_(std::move(sink)), pool_(pool), limits_(limits),
      table_(std::make_shared<Table>())
{
}

Dispatcher::~Dispatcher()
{
    drain(Deadline());
}

void Dispatcher::receive(std::string_view text)
{
    try {
        auto message = read_json(text, limits_.read);
        auto bytes = Table::reserve(table_, text.size(), limits_.bytes_in_flight);
        Origin origin{sink_, sink_, {}, std::move(bytes)};
        if (message.is_array()) {
            dispatch_batch(std::move(message), std::move(origin));
        } else {
            dispatch(std::move(message), origin);
        }
    } catch (const ProtocolError& error) {
        answer_unread(text, error);
    }
}

Dispatcher::Origin Dispatcher::origin_of(const Source& source)
{
    return {source.sink, source.sink, source.scope,
            Table::reserve(table_, source.bytes, limits_.bytes_in_flight)};
}

void Dispatcher::receive(Message&& message, const Source& source)
{
    take(std::move(message), origin_of(source));
}

void Dispatcher::receive_batch(nlohmann::json&& messages, const Source& source)
{
    dispatch_batch(std::move(messages), origin_of(source));
}

void Dispatcher::answer_unread(std::string_view text, const ProtocolError& error)
{
    const bool cut_off = error.data() == cut_off_data;
    Error why(ErrorCode::invalid_argument,
              (cut_off ? "the request arrived cut off: " : "the request cannot be read: ") +
                  std::string(error.what()),
              "Nothing of it was done. Send it again whole: complete JSON, and texts made of whole "
              "characters.");
    if (cut_off) {
        why = with_cut_off(std::move(why), {.arrived_as = "message", .bytes = text.size()});
    }
    refuse(recognise(text), why, error);
}

void Dispatcher::too_long(std::string_view outline, std::size_t limit)
{
    const Error error(ErrorCode::too_large,
                      "the message is longer than " + std::to_string(limit) + " bytes",
                      "Nothing of it was done. Send less at once: write_file writes a large file "
                      "in pieces, the first as usual and the others with mode \"append\". The "
                      "operator may raise request.max.");
    Message message;
    try {
        message = take_message(read_json(outline, limits_.read));
        if (message.kind != Kind::request) {
            return; // nothing else is ever answered
        }
    } catch (const ProtocolError&) {
        message = recognise(outline); // what is wrong besides its length does not matter
    }
    refuse(message, error, ProtocolError(invalid_request, error.what()));
}

/// Without its id the client would wait for ever.
void Dispatcher::refuse(const Message& message, const Error& why, const ProtocolError& otherwise)
{
    if (message.kind == Kind::response) {
        return; // an answer to it would be taken for that to a request of this id
    }
    if (message.kind == Kind::request) {
        if (const auto result = handler_.refusal(message, why); !result.empty()) {
            sink_->send(result_message(message.id, result));
            return;
        }
    }
    sink_->send(error_message(message.id.empty() ? "null" : message.id, otherwise.code(),
                              otherwise.what(), otherwise.data()));
}

void Dispatcher::dispatch_batch(nlohmann::json&& messages, Origin origin)
{
    if (messages.empty()) {
        throw ProtocolError(invalid_request, "an empty batch");
    }
    if (!handler_.accepts_batch(messages)) {
        throw ProtocolError(invalid_request,
                            "batches are not part of the protocol revision in use");
    }
    origin.answers = std::make_shared<Batch>(std::move(origin.answers));
    for (auto& message : messages) {
        dispatch(std::move(message), origin);
    }
}

void Dispatcher::dispatch(nlohmann::json&& message, const Origin& origin)
{
    const Id id = id_for_error(message);
    const bool notified = is_notification(message);
    try {
        take(take_message(std::move(message)), origin);
    } catch (const ProtocolError& error) {
        if (!notified) {
            origin.answers->send(error_message(id, error.code(), error.what(), error.data()));
        }
    }
}

void Dispatcher::take(Message message, const Origin& origin)
{
    switch (message.kind) {
    case Kind::request:
        start(std::move(message), origin);
        break;
    case Kind::notification:
        try {
            handler_.notification(message, *this);
        } catch (const std::exception&) {
            break; // a notification has no answer, so nobody could be told
        }
        break;
    case Kind::response:
        questions_->answer(std::move(message));
        break;
    }
}

void Dispatcher::refuse(Call& call, const Error& why)
{
    const auto result = handler_.refusal(call.message(), why);
    if (result.empty()) {
        call.fail(
            ProtocolError(internal_error, std::string(to_string(why.code())) + ": " + why.what()));
    } else {
        call.reply(result);
    }
}

void Dispatcher::start(Message message, const Origin& origin)
{
    // The table outlives the dispatcher through the calls that hold it.
    const auto table = table_;
    const auto key = key_of(origin.scope, message.id);
    const auto entered = std::make_shared<bool>(false);
    auto call = std::make_shared<Call>(
        std::move(message), origin.answers, origin.notifications,
        [table, key, entered] {
            if (*entered) {
                table->leave(key);
            }
        },
        questions_, Table::room_at(table, limits_.bytes_in_flight));
    if (!origin.bytes) {
        refuse(*call, Error(ErrorCode::busy,
                            "the requests in flight have " +
                                std::to_string(limits_.bytes_in_flight) + " bytes together",
                            "Send this one again when some of them are answered."));
        return;
    }
    switch (table->enter(key, call, limits_.in_flight)) {
    case Table::Entered::in_use:
        call->fail(ProtocolError(invalid_request, "a request with this id is in flight"));
        return;
    case Table::Entered::full:
        refuse(*call,
               Error(ErrorCode::busy, std::to_string(limits_.in_flight) + " requests are in flight",
                     "Send this one again when some of them are answered."));
        return;
    case Table::Entered::yes:
        *entered = true;
    }
    try {
        run(call, origin.bytes);
    } catch (const std::system_error& error) {
        const auto limit = host_limit(error);
        refuse(*call,
               Error(ErrorCode::busy,
                     std::string("no thread can be started for it: ") +
                         (limit ? limit->reason + ": " : std::string()) + error.what(),
                     "Try again in a few seconds." +
                         (limit ? " The operator can help: " + limit->remedy : std::string())));
    }
}

void Dispatcher::run(std::shared_ptr<Call> call, std::shared_ptr<void> bytes)
{
    // Dropped with the task, also when the task never runs.
    std::shared_ptr<void> running(nullptr, [table = table_](void*) { table->finished(); });
    pool_.run([&handler = handler_, running = std::move(running), call = std::move(call),
               bytes = std::move(bytes)]() mutable {
        try {
            if (call->stop_token().stop_requested()) {
                throw ProtocolError(internal_error, "the server is stopping");
            }
            handler.request(call);
        } catch (const ProtocolError& error) {
            call->fail(error);
        } catch (const std::exception& error) {
            call->fail(ProtocolError(internal_error, error.what()));
        }
        call.reset(); // the answer leaves, at the latest here
        bytes.reset();
        running.reset();
    });
}

void Dispatcher::cancel(const Id& id, const std::string& scope)
{
    std::shared_ptr<Call> call;
    {
        const std::lock_guard lock(table_->mutex);
        if (const auto found = table_->calls.find(key_of(scope, id));
            found != table_->calls.end()) {
            call = found->second.lock();
        }
    }
    if (call) {
        call->cancel();
    }
}

void Dispatcher::stop() noexcept
{
    std::vector<std::shared_ptr<Call>> calls;
    {
        const std::lock_guard lock(table_->mutex);
        for (const auto& [id, call] : table_->calls) {
            calls.push_back(call.lock());
        }
    }
    for (const auto& call : calls) {
        if (call) {
            call->request_stop();
        }
    }
}

bool Dispatcher::drain(const Deadline& deadline)
{
    std::unique_lock lock(table_->mutex);
    const auto empty = [this] { return table_->running == 0; };
    if (deadline.is_never()) {
        table_->empty.wait(lock, empty);
        return true;
    }
    return table_->empty.wait_for(lock, std::chrono::milliseconds(deadline.poll_timeout()), empty);
}

} // namespace berth::rpc
