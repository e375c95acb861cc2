#include "server/rpc/dispatcher.hpp"

#include <nlohmann/json.hpp>

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

    Entered enter(const std::shared_ptr<Call>& call, std::size_t limit)
    {
        const std::lock_guard lock(mutex);
        if (calls.size() >= limit) {
            return Entered::full;
        }
        if (!calls.try_emplace(call->message().id, call).second) {
            return Entered::in_use;
        }
        ++running;
        return Entered::yes;
    }

    void leave(const Id& id)
    {
        const std::lock_guard lock(mutex);
        calls.erase(id);
    }

    void finished()
    {
        const std::lock_guard lock(mutex);
        if (--running == 0) {
            empty.notify_all();
        }
    }

    std::mutex mutex;
    std::condition_variable empty;
    std::unordered_map<Id, std::weak_ptr<Call>> calls;
    std::size_t running = 0;
};

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
    }

    void send(std::string message) noexcept override
    {
        const std::lock_guard lock(mutex_);
        answers_ += answers_.empty() ? '[' : ',';
        answers_ += message;
    }

  private:
    std::shared_ptr<Sink> sink_;
    std::mutex mutex_;
    std::string answers_;
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
        if (message.is_array()) {
            receive_batch(std::move(message));
        } else {
            dispatch(std::move(message), sink_);
        }
    } catch (const ProtocolError& error) {
        sink_->send(error_message("null", error.code(), error.what(), error.data()));
    } catch (const std::system_error&) {
        return; // no thread could be started; the call has been answered with an error
    }
}

void Dispatcher::too_long(std::string_view outline, std::size_t limit)
{
    const Error error(ErrorCode::too_large,
                      "the message is longer than " + std::to_string(limit) + " bytes",
                      "Nothing of it was done. Send less at once: write_file writes a large file "
                      "in pieces, the first as usual and the others with mode \"append\". The "
                      "operator may raise request.max.");
    Id id = "null";
    try {
        auto message = read_json(outline, limits_.read);
        id = id_for_error(message);
        const auto taken = take_message(std::move(message));
        if (taken.kind != Kind::request) {
            return; // nothing else is ever answered
        }
        if (const auto result = handler_.refusal(taken, error); !result.empty()) {
            sink_->send(result_message(id, result));
            return;
        }
    } catch (const ProtocolError&) {
        // Not even the outline is a message: what is said of its length has to do.
    }
    sink_->send(error_message(id, invalid_request, error.what(), {}));
}

void Dispatcher::receive_batch(nlohmann::json&& messages)
{
    if (messages.empty()) {
        throw ProtocolError(invalid_request, "an empty batch");
    }
    if (!handler_.accepts_batch(messages)) {
        throw ProtocolError(invalid_request,
                            "batches are not part of the protocol revision in use");
    }
    const auto batch = std::make_shared<Batch>(sink_);
    for (auto& message : messages) {
        dispatch(std::move(message), batch);
    }
}

void Dispatcher::dispatch(nlohmann::json&& message, const std::shared_ptr<Sink>& answers)
{
    const Id id = id_for_error(message);
    try {
        auto taken = take_message(std::move(message));
        switch (taken.kind) {
        case Kind::request:
            start(std::move(taken), answers);
            break;
        case Kind::notification:
            try {
                handler_.notification(taken, *this);
            } catch (const std::exception&) {
                break; // a notification has no answer, so nobody could be told
            }
            break;
        case Kind::response:
            break; // no request was sent that it could answer
        }
    } catch (const ProtocolError& error) {
        answers->send(error_message(id, error.code(), error.what(), error.data()));
    }
}

void Dispatcher::start(Message message, const std::shared_ptr<Sink>& answers)
{
    // The table outlives the dispatcher through the calls that hold it.
    const auto table = table_;
    const Id id = message.id;
    const auto entered = std::make_shared<bool>(false);
    auto call = std::make_shared<Call>(std::move(message), answers, sink_, [table, id, entered] {
        if (*entered) {
            table->leave(id);
        }
    });
    switch (table->enter(call, limits_.in_flight)) {
    case Table::Entered::in_use:
        call->fail(ProtocolError(invalid_request, "a request with this id is in flight"));
        return;
    case Table::Entered::full:
        call->fail(ProtocolError(internal_error, "busy: " + std::to_string(limits_.in_flight) +
                                                     " requests are in flight"));
        return;
    case Table::Entered::yes:
        *entered = true;
    }
    // Dropped with the task, also when the task never runs.
    std::shared_ptr<void> running(nullptr, [table](void*) { table->finished(); });
    pool_.run(
        [&handler = handler_, running = std::move(running), call = std::move(call)]() mutable {
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
            running.reset();
        });
}

void Dispatcher::cancel(const Id& id)
{
    std::shared_ptr<Call> call;
    {
        const std::lock_guard lock(table_->mutex);
        if (const auto found = table_->calls.find(id); found != table_->calls.end()) {
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
