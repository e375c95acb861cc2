#include "sandbox/filter/request.hpp"

#include "sandbox/base/small_letters.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace berth::filter {
namespace {

constexpr std::uint16_t default_port = 80;
constexpr std::uint16_t https_port = 443;
constexpr std::string_view version_1_0 = "HTTP/1.0";
constexpr std::string_view line_end = "\r\n";
/// Far from where what is counted with it overflows.
constexpr std::uint64_t longest_body = std::uint64_t{1} << 62U;

using Field = Request::Field;

bool is_token(std::string_view text)
{
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               others.find(c) != std::string_view::npos;
    });
}

std::string_view without_blanks(std::string_view text)
{
    constexpr std::string_view blanks = " \t";
    const auto begin = text.find_first_not_of(blanks);
    return begin == std::string_view::npos
               ? std::string_view()
               : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string_view take_line(std::string_view& text)
{
    const auto end = text.find(line_end);
    const auto line = text.substr(0, end);
    text.remove_prefix(end + line_end.size());
    return line;
}

/// HOST[:PORT], IPv6 in brackets.
Target read_authority(std::string_view text, std::optional<std::uint16_t> usual_port)
{
    if (text.find('@') != std::string_view::npos) {
        throw BadRequest{.status = 400, .reason = "the address has a user in it"};
    }
    const auto bracket = text.rfind(']');
    const auto colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
    auto port = usual_port;
    if (colon != std::string_view::npos) {
        port = port_of(text.substr(colon + 1));
    }
    auto target = port ? target_of(text.substr(0, colon), *port) : std::nullopt;
    if (!target ||
        (target->address && !target->address->is_v4() && bracket == std::string_view::npos)) {
        throw BadRequest{.status = 400,
                         .reason = "the address is no name or IP address with a port"};
    }
    return std::move(*target);
}

/// What is between this connection and the next one's, and not the server's.
bool is_of_connection(const Field& field, const std::vector<std::string>& named)
{
    constexpr std::array<std::string_view, 7> always{
        "connection",       "host", "keep-alive", "proxy-authorization",
        "proxy-connection", "te",   "upgrade"};
    return std::ranges::find(always, field.key) != always.end() ||
           std::ranges::find(named, field.key) != named.end();
}

std::vector<std::string> named_by_connection(const std::vector<Field>& fields)
{
    std::vector<std::string> named;
    for (const auto& field : fields) {
        std::string_view rest;
        if (field.key == "connection") {
            rest = field.value;
        }
        while (!rest.empty()) {
            const auto comma = rest.find(',');
            auto name = in_small_letters(without_blanks(rest.substr(0, comma)));
            // Without its length a body would be another request.
            if (name != "content-length" && name != "transfer-encoding") {
                named.push_back(std::move(name));
            }
            rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        }
    }
    return named;
}

std::optional<std::uint64_t> body_of(const std::vector<Field>& fields)
{
    std::optional<std::uint64_t> length;
    bool is_chunked = false;
    for (const auto& field : fields) {
        if (field.key == "transfer-encoding") {
            if (is_chunked || in_small_letters(field.value) != "chunked") {
                throw BadRequest{.status = 501,
                                 .reason = "of transfer codings only chunked is taken"};
            }
            is_chunked = true;
        } else if (field.key == "content-length") {
            std::uint64_t value = 0;
            const std::string_view digits = field.value;
            const auto [stop, error] =
                std::from_chars(digits.data(), digits.data() + digits.size(), value);
            if (length || error != std::errc() || stop != digits.data() + digits.size() ||
                value > longest_body) {
                throw BadRequest{.status = 400, .reason = "the length of the body cannot be read"};
            }
            length = value;
        }
    }
    if (is_chunked && length) {
        throw BadRequest{.status = 400, .reason = "the body has a length and is chunked"};
    }
    return is_chunked ? std::nullopt : std::optional(length.value_or(0));
}

struct Read {
    std::string_view method;
    std::string_view address;
    std::string_view version;
    std::vector<Field> fields;
};

Read read_head(std::string_view head)
{
    const auto line = take_line(head);
    const auto first = line.find(' ');
    const auto last = line.rfind(' ');
    const auto version = last == std::string_view::npos ? line : line.substr(last + 1);
    if (first == last || !is_token(line.substr(0, first)) ||
        (version != "HTTP/1.1" && version != version_1_0)) {
        throw BadRequest{.status = 400, .reason = "this is no request of HTTP/1.1"};
    }
    Read read{.method = line.substr(0, first),
              .address = line.substr(first + 1, last - first - 1),
              .version = version,
              .fields = {}};
    if (std::ranges::any_of(read.address, [](char c) {
            return static_cast<unsigned char>(c) <= ' ' || c == 0x7F;
        })) {
        throw BadRequest{.status = 400, .reason = "the address has a blank in it"};
    }
    for (auto field = take_line(head); !field.empty(); field = take_line(head)) {
        read.fields.push_back(read_field(field));
    }
    return read;
}

/// Of the head what the server gets, but for where it is. `path`: without a fragment.
void take_over(Request& request, Read read, std::string_view path)
{
    request.form = Request::Form::plain;
    request.body = body_of(read.fields);
    if (!request.body && read.version == version_1_0) {
        throw BadRequest{.status = 400, .reason = "HTTP/1.0 knows no body in chunks"};
    }
    request.method = read.method;
    request.version = read.version;
    request.path = (path.starts_with('/') ? "" : "/") + std::string(path);
    const auto named = named_by_connection(read.fields);
    for (auto& field : read.fields) {
        if (!is_of_connection(field, named)) {
            request.fields.push_back(std::move(field));
        }
    }
}

Request plain_request(Read read)
{
    auto address = read.address;
    constexpr std::string_view scheme = "http://";
    if (in_small_letters(address.substr(0, scheme.size())) != scheme) {
        throw BadRequest{.status = 400,
                         .reason = "this is a proxy: it takes CONNECT and http:// addresses"};
    }
    address.remove_prefix(scheme.size());
    const auto path = address.find_first_of("/?#");
    Request request;
    request.authority = address.substr(0, path);
    request.target = read_authority(request.authority, default_port);
    if (request.target.port == https_port) {
        throw BadRequest{.status = 400,
                         .reason = "over port 443 goes TLS alone: ask with https://"};
    }
    const auto rest = path == std::string_view::npos ? std::string_view() : address.substr(path);
    take_over(request, std::move(read), rest.substr(0, rest.find('#')));
    return request;
}

} // namespace

bool is_field_text(std::string_view text)
{
    return std::ranges::all_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte == '\t' || (byte >= ' ' && byte != 0x7F);
    });
}

Request::Field read_field(std::string_view line)
{
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) ||
        !is_field_text(line)) {
        throw BadRequest{.status = 400, .reason = "a header field cannot be read"};
    }
    return {.name = std::string(line.substr(0, colon)),
            .key = in_small_letters(line.substr(0, colon)),
            .value = std::string(without_blanks(line.substr(colon + 1)))};
}

std::size_t end_of_head(std::string_view bytes) noexcept
{
    constexpr std::string_view end = "\r\n\r\n";
    const auto at = bytes.find(end);
    return at == std::string_view::npos ? at : at + end.size();
}

Request read_request(std::string_view head)
{
    auto read = read_head(head);
    if (read.method == "CONNECT") {
        return {.form = Request::Form::tunnel,
                .target = read_authority(read.address, std::nullopt)};
    }
    return plain_request(std::move(read));
}

Request read_request_to(std::string_view head, const Target& target)
{
    auto read = read_head(head);
    if (!read.address.starts_with('/') || read.method == "CONNECT") {
        throw BadRequest{.status = 400, .reason = "the address is no path"};
    }
    Request request;
    request.target = target;
    for (const auto& field : read.fields) {
        if (field.key != "host") {
            continue;
        }
        // A server that serves several goes by this one: it must be the one that was connected.
        const auto named = read_authority(field.value, target.port);
        if (!request.authority.empty() || named.name != target.name || named.port != target.port) {
            throw BadRequest{.status = 421, .reason = "Host is not what was connected to"};
        }
        request.authority = field.value;
    }
    if (request.authority.empty()) {
        throw BadRequest{.status = 400, .reason = "the request has no Host"};
    }
    const auto path = read.address.substr(0, read.address.find('#'));
    take_over(request, std::move(read), path);
    return request;
}

std::string head_of(const Request& request)
{
    std::string head = request.method + ' ' + request.path + ' ' + request.version +
                       "\r\nHost: " + request.authority + "\r\nConnection: close\r\n";
    for (const auto& field : request.fields) {
        head.append(field.name).append(": ").append(field.value).append(line_end);
    }
    head += line_end;
    return head;
}

} // namespace berth::filter
