#include "sandbox/e2b/input_stream.hpp"

#include "sandbox/e2b/envelope.hpp"

#include <chrono>
#include <utility>

namespace berth::e2b {
namespace {

constexpr std::size_t input_piece = 256U << 10U;
constexpr std::size_t largest_end = 64U << 10U;

} // namespace

InputStream::InputStream(HttpExchange exchange, Asked asked, EnvdTimes times, Pid pid)
    : exchange_(std::move(exchange)), asked_(std::move(asked)), times_(times), pid_(pid)
{
}

void InputStream::put(std::string_view message, const Deadline& deadline,
                      const std::stop_token& stop)
{
    std::string envelope;
    put_envelope(envelope, message);
    const auto until = Deadline::earlier(deadline, Deadline::after(times_.patience));
    if (!exchange_.write(envelope, until, stop)) {
        take_answer(deadline, stop);
        throw broken("came before it had all of the input");
    }
}

void InputStream::send(std::string_view bytes, const Deadline& deadline,
                       const std::stop_token& stop)
{
    if (!std::exchange(begun_, true)) {
        put(input_begin_message(pid_), deadline, stop);
    }
    while (!bytes.empty()) {
        const auto piece = bytes.substr(0, input_piece);
        put(input_data_message(piece), deadline, stop);
        bytes.remove_prefix(piece.size());
    }
}

void InputStream::finish(const Deadline& deadline, const std::stop_token& stop)
{
    send({}, deadline, stop);
    exchange_.finish();
    take_answer(deadline, stop);
    if (!exchange_.sent()) {
        throw broken("came before it had all of the input");
    }
}

/// What envd says in a 200 is of a process that has ended, of which others tell.
bool InputStream::was_lost()
try {
    return exchange_.head(Deadline::after(std::chrono::milliseconds(0))).status != 200;
} catch (const HttpFailure& failure) {
    return failure.cause() != HttpFailure::Cause::expired;
}

/// Throws what it tells.
void InputStream::take_answer(const Deadline& deadline, const std::stop_token& stop)
{
    const auto until = Deadline::earlier(deadline, Deadline::after(times_.patience));
    HttpReply reply{exchange_.head(until, stop), {}};
    reply.body = read_rest(exchange_, largest_end, until, stop);
    if (reply.status != 200) {
        throw envd_error(asked_, reply);
    }
    EnvelopeReader reader(largest_end);
    reader.feed(reply.body);
    try {
        while (const auto message = reader.next()) {
            if (!message->last) {
                continue;
            }
            if (const auto error = stream_error(asked_, message->payload)) {
                throw StatusError(*error);
            }
            return;
        }
    } catch (const EnvelopeError& error) {
        throw Error(ErrorCode::backend_error, "could not " + asked_.what + ": the answer of " +
                                                  asked_.where +
                                                  " cannot be read: " + error.what());
    }
    throw broken("ended without its end");
}

HttpFailure InputStream::broken(const std::string& why) const
{
    return {HttpFailure::Cause::broken,
            false,
            "could not " + asked_.what + ": the answer of " + asked_.where + ' ' + why,
            {}};
}

} // namespace berth::e2b
