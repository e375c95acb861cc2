#include "server/transport/http_head.hpp"

#include "sandbox/base/small_letters.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace berth::transport {
namespace {

constexpr std::string_view line_end = "\r\n";

/// Of these a second one is refused.
constexpr std::array<std::string_view, 16> single{
    "accept-encoding", "authorization",        "berth-session",  "connection", "content-encoding",
    "content-length",  "content-type",         "expect",         "host",       "mcp-method",
    "mcp-name",        "mcp-protocol-version", "mcp-session-id", "origin",     "transfer-encoding",
    "traceparent",
};

bool is_token(std::string_view text)
{
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    });
}

std::string_view trimmed(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t");
    const auto last = text.find_last_not_of(" \t");
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, last - first + 1);
}

/// A carriage return or a line feed by itself would end a line for another reader.
bool has_control(std::string_view text)
{
    return std::ranges::any_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < ' ' && c != '\t') || byte == 0x7f;
    });
}

std::string_view next_line(std::string_view& rest)
{
    const auto end = rest.find(line_end);
    if (end == std::string_view::npos) {
        throw HttpError(400, "a line of the request does not end");
    }
    const auto line = rest.substr(0, end);
    rest.remove_prefix(end + line_end.size());
    if (has_control(line)) {
        throw HttpError(400, "control characters in the head of the request");
    }
    return line;
}

/// The absolute form of a target (RFC 9112, 3.2.2), as who takes this server for a proxy sends it:
/// leaves of `target` the path, and returns whose it is. Empty: it has no such form.
std::string_view take_authority(std::string_view& target)
{
    constexpr std::string_view scheme = "http://";
    if (in_small_letters(target.substr(0, scheme.size())) != scheme) {
        return {};
    }
    const auto rest = target.substr(scheme.size());
    const auto authority = rest.substr(0, rest.find_first_of("/?#"));
    // A name before an @ is no host, and would look like one to who does not know.
    if (authority.empty() || authority.find('@') != std::string_view::npos) {
        throw HttpError(400, "the target of the request names no host");
    }
    target = rest.size() == authority.size() ? "/" : rest.substr(authority.size());
    return authority;
}

/// What an absolute target says counts, whatever the header does.
void set_host(HttpHead& head, std::string_view authority)
{
    const auto host =
        std::ranges::find(head.fields, "host", &std::pair<std::string, std::string>::first);
    if (host != head.fields.end()) {
        host->second = authority;
    } else {
        head.fields.emplace_back("host", authority);
    }
}

/// Returns what an absolute target names.
std::string_view take_request_line(std::string_view line, const HttpHeadLimits& limits,
                                   HttpHead& head)
{
    const auto space = line.find(' ');
    const auto last = line.rfind(' ');
    if (space == std::string_view::npos || space == last || !is_token(line.substr(0, space))) {
        throw HttpError(400, "the request line is not METHOD TARGET HTTP/1.1");
    }
    const auto version = line.substr(last + 1);
    head.is_1_0 = version == "HTTP/1.0";
    if (version != "HTTP/1.1" && !head.is_1_0) {
        throw HttpError(505, "only HTTP/1.1 and HTTP/1.0 are spoken");
    }
    auto target = line.substr(space + 1, last - space - 1);
    if (target.size() > limits.target) {
        throw HttpError(414,
                        "the target is longer than " + std::to_string(limits.target) + " bytes");
    }
    const bool visible = std::ranges::all_of(target, [](char c) { return c > ' ' && c < '\x7f'; });
    const auto authority = take_authority(target);
    if (!target.starts_with('/') || !visible) {
        throw HttpError(400, "the target of the request is not a path");
    }
    const auto question = target.find('?');
    head.method = std::string(line.substr(0, space));
    head.path = std::string(target.substr(0, question));
    head.query = question == std::string_view::npos ? "" : std::string(target.substr(question + 1));
    return authority;
}

void take_field(std::string_view line, const HttpHeadLimits& limits, HttpHead& head)
{
    const auto colon = line.find(':');
    // A space before the colon, or a line that goes on the last one, is a field's name to some and
    // none to others.
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
        throw HttpError(400, "a header is not NAME: VALUE");
    }
    if (head.fields.size() == limits.fields) {
        throw HttpError(431, "more than " + std::to_string(limits.fields) + " headers");
    }
    auto name = in_small_letters(line.substr(0, colon));
    if (head.find(name) != nullptr && std::ranges::find(single, name) != single.end()) {
        throw HttpError(400, "the header " + name + " is there twice");
    }
    head.fields.emplace_back(std::move(name), std::string(trimmed(line.substr(colon + 1))));
}

std::uint64_t length_of(const std::string& text)
{
    std::uint64_t length = 0;
    const auto* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, length);
    if (text.empty() || error != std::errc() || stopped != end) {
        throw HttpError(400, "Content-Length is not a number of bytes");
    }
    return length;
}

void take_body_fields(HttpHead& head)
{
    if (const auto* length = head.find("content-length")) {
        head.content_length = length_of(*length);
    }
    if (const auto* coding = head.find("transfer-encoding")) {
        if (head.content_length || head.is_1_0) {
            throw HttpError(400, "Transfer-Encoding beside Content-Length, or in HTTP/1.0");
        }
        if (in_small_letters(*coding) != "chunked") {
            throw HttpError(501, "no Transfer-Encoding but chunked is read");
        }
        head.chunked = true;
    }
    // A few bytes of gzip are gigabytes.
    if (const auto* coding = head.find("content-encoding");
        coding != nullptr && in_small_letters(*coding) != "identity") {
        throw HttpError(415, "a body with Content-Encoding is not read: send it as it is");
    }
    if (const auto* expected = head.find("expect")) {
        if (in_small_letters(*expected) != "100-continue") {
            throw HttpError(417, "nothing but 100-continue can be expected");
        }
        head.expects_continue = true;
    }
}

void take_connection(HttpHead& head)
{
    const auto* field = head.find("connection");
    const auto wish = field == nullptr ? std::string() : in_small_letters(*field);
    head.keep_alive = head.is_1_0 ? wish.find("keep-alive") != std::string::npos
                                  : wish.find("close") == std::string::npos;
}

} // namespace

const std::string* HttpHead::find(std::string_view name) const noexcept
{
    const auto found = std::ranges::find(fields, name, &std::pair<std::string, std::string>::first);
    return found == fields.end() ? nullptr : &found->second;
}

HttpHead parse_http_head(std::string_view text, const HttpHeadLimits& limits)
{
    HttpHead head;
    const auto authority = take_request_line(next_line(text), limits, head);
    for (auto line = next_line(text); !line.empty(); line = next_line(text)) {
        take_field(line, limits, head);
    }
    if (!head.is_1_0 && head.find("host") == nullptr) {
        throw HttpError(400, "the header Host is missing");
    }
    if (!authority.empty()) {
        set_host(head, authority);
    }
    take_body_fields(head);
    take_connection(head);
    return head;
}

} // namespace berth::transport
