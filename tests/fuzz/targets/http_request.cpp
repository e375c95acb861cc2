// The bytes of a connection of HTTP: heads, bodies by their length and in chunks, one request after
// the other, each answered.

#include "sandbox/base/deadline.hpp"
#include "server/http/bearer.hpp"
#include "server/http/flight.hpp"
#include "server/http/host_rules.hpp"
#include "server/transport/http_library.hpp"
#include "tests/fuzz/connection.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/plain_chunks.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace {

using berth::Deadline;
using berth::fuzz::Connection;
using berth::fuzz::require;
using namespace berth::transport;

constexpr std::size_t most_requests = 32; // their answers have room in the socket
constexpr std::size_t longest_body = 8192;
constexpr std::size_t longest_input = 65536;
constexpr std::string_view answer_text = "{\"answered\":true}";

void check_head(const HttpHead& head)
{
    require(head.path.starts_with('/') && head.path.find_first_of("? \r\n") == std::string::npos,
            "a path is one");
    require(!head.chunked || (!head.content_length && !head.is_1_0), "a body has one length");
    require(head.is_1_0 || head.find("host") != nullptr, "a host is named");
    for (const auto& [name, value] : head.fields) {
        require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
                "a value is one line");
        require(std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; }),
                "names are in small letters");
    }
    static const berth::server::http::HostRules rules({}, "127.0.0.1");
    const auto* const host = head.find("host");
    require(!rules.refusal(head).empty() || host == nullptr ||
                host->find_first_of("/@, ") == std::string::npos,
            "a host that is taken is one name");
    (void)berth::server::http::accepted_by(head);
    (void)berth::server::http::bearer_token(head);
}

/// What the body must be; nothing: it does not come whole, or is too long. `rest` becomes what
/// comes after it.
std::optional<std::string> plain_body(const HttpHead& head, std::string_view& rest)
{
    std::optional<std::string> body = "";
    if (head.chunked) {
        auto chunks = berth::fuzz::plain_chunks(rest);
        rest.remove_prefix(chunks ? chunks->length : 0);
        body = chunks ? std::optional(std::move(chunks->body)) : std::nullopt;
    } else if (const auto length = head.content_length.value_or(0); length > rest.size()) {
        body.reset();
    } else {
        body = std::string(rest.substr(0, static_cast<std::size_t>(length)));
        rest.remove_prefix(body->size());
    }
    return body && body->size() <= longest_body ? body : std::nullopt;
}

/// Of "/stream" in pieces what was sent, else always the same.
HttpAnswer answer_to(const HttpHead& head, const std::string& body, bool whole)
{
    HttpAnswer answer{.status = whole ? 200 : 400, .type = "application/json"};
    if (whole && head.path == "/stream") {
        answer.stream = [body](const HttpAnswer::Write& write) {
            std::size_t at = 0;
            for (; at + 1024 < body.size(); at += 1024) {
                (void)write(std::string_view(body).substr(at, 1024));
            }
            return body.substr(at);
        };
    } else {
        answer.body = answer_text;
    }
    return answer;
}

void check_answer(std::string_view said, const HttpHead& head,
                  const std::optional<std::string>& body)
{
    constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    if (said.starts_with(go_on)) {
        require(head.expects_continue, "only who asks is told to go on");
        said.remove_prefix(go_on.size());
    }
    require(said.starts_with(body ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 400 Bad Request\r\n"),
            "the status is the answer's");
    const auto end = said.find("\r\n\r\n");
    require(end != std::string_view::npos, "a head ends");
    const auto content = said.substr(end + 4);
    if (head.method == "HEAD") {
        require(content.empty(), "an answer to HEAD has no body");
    } else if (!body || head.path != "/stream") {
        require(content == answer_text, "the answer comes as it is");
    } else if (head.is_1_0) {
        require(content == *body, "a stream comes as it is");
    } else {
        const auto chunks = berth::fuzz::plain_chunks(content);
        require(chunks && chunks->body == *body && chunks->length == content.size(),
                "a stream comes in chunks, and ends");
    }
}

/// Whether another may follow. `rest` begins with the head.
bool serve(HttpSocket& socket, const Connection& connection, std::string_view& rest)
{
    static HttpLibrary library;
    std::string text;
    if (socket.read_head(text, HttpHeadLimits{}.bytes, Deadline::after({})) !=
        HttpSocket::Head::whole) {
        return false;
    }
    rest.remove_prefix(std::min(rest.find_first_not_of("\r\n"), rest.size()));
    require(rest.starts_with(text), "a request begins where the last one ends");
    rest.remove_prefix(text.size());
    const auto head = parse_http_head(text, {});
    check_head(head);
    const auto expected = plain_body(head, rest);
    std::string body;
    socket.set_read_deadline(Deadline::after({}));
    const bool goes_on = library.process(
        socket, head, head.has_body(),
        [&](std::string_view piece) {
            body += piece;
            return body.size() <= longest_body;
        },
        [&](bool whole) {
            require(whole == expected.has_value(), "a body is whole or is not");
            require(!whole || body == *expected, "the body is what was sent");
            return answer_to(head, body, whole);
        });
    check_answer(connection.received(), head, expected);
    require(!goes_on || (expected && head.keep_alive), "nothing follows what was not understood");
    return goes_on;
}

} // namespace

BERTH_FUZZ_TARGET(http_request)
{
    constexpr std::array statuses{400, 414, 415, 417, 431, 501, 505};
    auto rest = input.substr(0, longest_input);
    Connection connection;
    HttpSocket socket(connection.take_server());
    connection.send(rest);
    try {
        for (std::size_t i = 0; i < most_requests && serve(socket, connection, rest); ++i) {
        }
    } catch (const HttpError& error) {
        require(std::ranges::find(statuses, error.status()) != statuses.end(),
                "a refusal has its status");
    }
}
