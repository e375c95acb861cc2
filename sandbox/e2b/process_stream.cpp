#include "sandbox/e2b/process_stream.hpp"

#include <array>
#include <utility>

namespace berth::e2b {
namespace {

constexpr std::size_t largest_refusal = 64U << 10U;
constexpr std::string_view stream_type = "application/connect+json";

} // namespace

ProcessStream::ProcessStream(HttpExchange exchange, Asked asked, EnvdTimes times)
    : exchange_(std::move(exchange)), asked_(std::move(asked)), times_(times),
      silence_(Deadline::after(times.silence))
{
}

std::optional<ProcessEvent> ProcessStream::next(const Deadline& deadline,
                                                const std::stop_token& stop)
{
    if (ended_) {
        return std::nullopt;
    }
    take_head(deadline, stop);
    for (;;) {
        while (const auto message = envelope()) {
            if (message->last) {
                finish(deadline, stop);
                if (const auto error = stream_error(asked_, message->payload)) {
                    throw StatusError(*error);
                }
                return std::nullopt;
            }
            auto event = parse_event(message->payload);
            if (!std::holds_alternative<ProcessQuiet>(event)) {
                return event;
            }
        }
        if (!receive(deadline, stop)) {
            throw broken("it ended without its end");
        }
    }
}

void ProcessStream::fail(const HttpFailure& failure)
{
    if (failure.cause() == HttpFailure::Cause::expired && silence_.expired()) {
        // Its host may be gone without a word, or it was resumed elsewhere.
        exchange_.cut();
        throw broken("it is silent, though it was asked for signs of life");
    }
    throw HttpFailure(failure);
}

void ProcessStream::take_head(const Deadline& deadline, const std::stop_token& stop)
try {
    if (has_head_) {
        return;
    }
    HttpReply reply{exchange_.head(Deadline::earlier(deadline, silence_), stop), {}};
    const bool is_stream = reply.header("content-type").starts_with(stream_type);
    if (reply.status != 200) {
        reply.body =
            read_rest(exchange_, largest_refusal, Deadline::earlier(deadline, silence_), stop);
        ended_ = true;
        throw envd_error(asked_, reply);
    }
    if (!is_stream) {
        ended_ = true;
        exchange_.cut();
        throw Error(ErrorCode::backend_error,
                    "could not " + asked_.what + ": " + asked_.where + " answers, but is no envd",
                    "Look at E2B_SANDBOX_URL.");
    }
    has_head_ = true;
    silence_ = Deadline::after(times_.silence);
} catch (const HttpFailure& failure) {
    fail(failure);
}

bool ProcessStream::receive(const Deadline& deadline, const std::stop_token& stop)
try {
    std::array<char, 65'536> piece{};
    const auto size =
        exchange_.read(piece.data(), piece.size(), Deadline::earlier(deadline, silence_), stop);
    silence_ = Deadline::after(times_.silence);
    reader_.feed({piece.data(), size});
    return size > 0;
} catch (const HttpFailure& failure) {
    fail(failure);
}

std::optional<Envelope> ProcessStream::envelope()
try {
    return reader_.next();
} catch (const EnvelopeError& error) {
    exchange_.cut();
    throw Error(ErrorCode::backend_error, "could not " + asked_.what + ": the stream of " +
                                              asked_.where + " cannot be read: " + error.what());
}

/// Takes the end of the body, by which the connection can be used again. Where that does not come
/// at once it is not worth waiting for: the stream has said all.
void ProcessStream::finish(const Deadline& deadline, const std::stop_token& stop)
{
    ended_ = true;
    constexpr std::chrono::milliseconds patience{1'000};
    try {
        std::array<char, 16> piece{};
        const auto until = Deadline::earlier(deadline, Deadline::after(patience));
        if (exchange_.read(piece.data(), piece.size(), until, stop) > 0) {
            exchange_.cut();
        }
    } catch (const HttpFailure&) {
        exchange_.cut();
    }
}

HttpFailure ProcessStream::broken(const std::string& why) const
{
    return {HttpFailure::Cause::broken, false,
            "could not " + asked_.what + ": the stream of " + asked_.where + " broke: " + why,
            "What was started may still run."};
}

} // namespace berth::e2b
