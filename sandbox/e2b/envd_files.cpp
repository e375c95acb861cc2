#include "sandbox/base/percent.hpp"
#include "sandbox/e2b/envd_client.hpp"

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace berth::e2b {
namespace {

constexpr std::size_t piece_size = 64U << 10U;
constexpr std::size_t largest_entry = 1U << 20U;
constexpr std::string_view first_with_plain_upload = "0.5.7";

std::optional<std::uint64_t> length_of(const HttpHead& head)
{
    const auto text = head.header("content-length");
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
    return whole ? std::optional(length) : std::nullopt;
}

} // namespace

std::string EnvdClient::files_target(const std::string& path, const std::string& user) const
{
    const auto who = user_of(user);
    return "/files?path=" + percent_encoded(path) +
           (who.empty() ? "" : "&username=" + percent_encoded(who));
}

void EnvdClient::upload(const std::string& path, const std::string& user, const Source& source,
                        const Deadline& deadline, const std::stop_token& stop)
{
    if (is_before(address_.version, first_with_plain_upload)) {
        throw Error(ErrorCode::unsupported,
                    "the envd of the sandbox is " + quotable(address_.version, {}) +
                        ", which takes no file as it stands",
                    "Build its template anew: that brings a newer one.");
    }
    auto request = this->request("POST", files_target(path, user), "application/octet-stream");
    request.streamed = true;
    auto exchange = http_.open(address_.endpoint, std::move(request));
    std::vector<char> piece(piece_size);
    for (bool taken = true; taken;) { // else it is refused: no room, no such user
        const auto size = source(piece.data(), piece.size());
        if (size == 0) {
            exchange.finish();
            break;
        }
        taken = exchange.write({piece.data(), size}, soon(deadline), stop);
    }
    HttpReply reply{exchange.head(soon(deadline), stop), {}};
    reply.body = read_rest(exchange, largest_entry, soon(deadline), stop);
    if (reply.status != 200) {
        throw envd_error(asked("write a file in the sandbox"), reply);
    }
    if (!exchange.sent()) {
        throw HttpFailure(HttpFailure::Cause::broken, false,
                          "could not write a file in the sandbox: " + address_.endpoint.shown() +
                              " answered before it had the whole of it",
                          "Try again.");
    }
}

std::uint64_t EnvdClient::download(const std::string& path, const std::string& user,
                                   const Sink& sink, const Deadline& deadline,
                                   const std::stop_token& stop)
{
    auto exchange = http_.open(address_.endpoint, request("GET", files_target(path, user), {}));
    const auto head = exchange.head(soon(deadline), stop);
    if (head.status != 200) {
        HttpReply reply{head, read_rest(exchange, largest_entry, soon(deadline), stop)};
        throw envd_error(asked("read a file in the sandbox"), reply);
    }
    const auto length = length_of(head);
    // Without either its end is that of the connection, and so is the end of half a file.
    const bool has_end = length || head.header("transfer-encoding") == "chunked";
    if (!has_end || !head.header("content-encoding").empty()) {
        throw Error(ErrorCode::backend_error,
                    "could not read a file in the sandbox: " + address_.endpoint.shown() +
                        " sends it in a form that was not asked for");
    }
    std::vector<char> piece(piece_size);
    std::uint64_t total = 0;
    while (const auto size = exchange.read(piece.data(), piece.size(), soon(deadline), stop)) {
        total += size;
        sink({piece.data(), size});
    }
    if (length && total != *length) {
        throw HttpFailure(HttpFailure::Cause::broken, false,
                          "could not read a file in the sandbox: it ended at " +
                              std::to_string(total) + " of " + std::to_string(*length) + " bytes",
                          "Try again.");
    }
    return total;
}

} // namespace berth::e2b
