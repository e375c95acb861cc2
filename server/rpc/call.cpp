#include "server/rpc/call.hpp"

#include "sandbox/base/error.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>
#include <utility>

namespace berth::rpc {
namespace {

/// The result in what a peer has answered. Throws ProtocolError with its error.
nlohmann::json result_of(nlohmann::json answer)
{
    if (auto result = answer.find("result"); result != answer.end()) {
        return std::move(*result);
    }
    const auto& error = answer.at("error");
    std::string message = "the client refused what it was asked for";
    if (error.is_object() && error.contains("message") && error["message"].is_string()) {
        message += ": " + error["message"].get<std::string>();
    }
    throw ProtocolError(internal_error, message, to_text({{"client", error}}));
}

} // namespace

Call::Call(Message message, std::shared_ptr<Sink> answers, std::shared_ptr<Sink> notifications,
           std::function<void()> on_closed, std::shared_ptr<Questions> questions,
           std::function<bool(std::size_t bytes)> room)
    : message_(std::move(message)), answers_(std::move(answers)),
      notifications_(std::move(notifications)), on_closed_(std::move(on_closed)),
      questions_(std::move(questions)), room_(std::move(room))
{
}

Call::~Call()
{
    if (state_ == State::open) {
        fail(ProtocolError(internal_error, "the request was dropped without an answer"));
    }
    close();
}

void Call::close() noexcept
{
    if (!closed_.test_and_set()) {
        on_closed_();
    }
}

bool Call::answer(std::string text)
{
    const std::lock_guard lock(sending_);
    State expected = State::open;
    if (!state_.compare_exchange_strong(expected, State::answered)) {
        return false;
    }
    // Before the answer: a client may use the slot, or even the id, as soon as it has read it.
    close();
    answers_->send(std::move(text));
    return true;
}

void Call::hold(std::size_t bytes, std::chrono::milliseconds patience)
{
    constexpr std::chrono::milliseconds between_looks{20};
    const auto until = std::chrono::steady_clock::now() + patience;
    // First what the peer may have at most: who waits for that must not keep the others' room.
    bool is_peers = false;
    const auto takes_room = [&] {
        is_peers = is_peers || answers_->hold(bytes);
        return is_peers && (!room_ || room_(bytes));
    };
    while (!takes_room()) {
        if (stop_token().stop_requested() || std::chrono::steady_clock::now() >= until) {
            throw Error(ErrorCode::busy,
                        "what is held for other requests leaves no room for its answer",
                        "Send this one again when some of them are answered.");
        }
        std::this_thread::sleep_for(between_looks);
    }
}

bool Call::try_hold(std::size_t bytes)
{
    return answers_->hold(bytes) && (!room_ || room_(bytes));
}

bool Call::reply(std::string result)
{
    auto text = result_message(message_.id, result);
    std::string().swap(result); // a peer that does not read may hold the answer up: once is enough
    return answer(std::move(text));
}

bool Call::fail(const ProtocolError& error)
{
    return answer(error_message(message_.id, error.code(), error.what(), error.data()));
}

bool Call::say(std::string text)
{
    const std::unique_lock lock(sending_, std::try_to_lock); // else the answer is being sent
    return lock && state_ == State::open && notifications_->offer(std::move(text));
}

bool Call::notify(const std::string& method, const std::string& params)
{
    return say(notification_message(method, params));
}

nlohmann::json Call::ask(const std::string& method, const std::string& params,
                         std::chrono::milliseconds patience)
{
    if (!questions_) {
        throw Error(ErrorCode::unsupported, "this client cannot be asked anything");
    }
    const auto id = questions_->open();
    const bool sent = say(request_message(id, method, params));
    auto answer =
        questions_->wait(id, stop_token(), sent ? patience : std::chrono::milliseconds(0));
    if (answer) {
        return result_of(std::move(*answer));
    }
    if (stop_token().stop_requested()) {
        throw Error(ErrorCode::cancelled, "the request was cancelled while its client was asked");
    }
    throw sent ? Error(ErrorCode::unsupported, "the client did not answer " + method + " within " +
                                                   std::to_string(patience.count() / 1000) + " s")
               : Error(ErrorCode::busy, "the client does not read what it is asked");
}

void Call::cancel() noexcept
{
    State expected = State::open;
    state_.compare_exchange_strong(expected, State::cancelled);
    stop_.request_stop();
}

} // namespace berth::rpc
