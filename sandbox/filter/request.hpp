#pragma once

#include "sandbox/filter/rules.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::filter {

inline constexpr std::size_t longest_head = 32UL * 1024;

/// What a client of the proxy asks for with its first bytes.
struct Request {
    enum class Form : std::uint8_t {
        tunnel, ///< CONNECT
        plain,  ///< an http:// address, to which the proxy hands the request on
    };

    struct Field {
        std::string name;  ///< as it was sent
        std::string key;   ///< in small letters
        std::string value; ///< without blanks around it
    };

    Form form = Form::tunnel;
    Target target;
    // Of `plain`:
    std::string method;
    std::string version;   ///< as it was sent: to one of HTTP/1.0 nobody may answer in chunks
    std::string path;      ///< with the query, never empty
    std::string authority; ///< of the target, as it was sent
    /// What the server gets: none that is of this connection alone, nor Host.
    std::vector<Field> fields;
    /// Bytes of the body behind the head; nothing: it is chunked.
    std::optional<std::uint64_t> body = 0;
};

/// Why a request is none that is taken: what the client is told, with a status of HTTP.
struct BadRequest {
    unsigned status = 400;
    std::string reason;
};

/// Blanks, tabs, and what is no control character.
[[nodiscard]] bool is_field_text(std::string_view text);

/// A line of a head, or of what is behind the last chunk, without its end. Throws BadRequest.
[[nodiscard]] Request::Field read_field(std::string_view line);

/// Where the head ends, behind its empty line; npos: not yet.
[[nodiscard]] std::size_t end_of_head(std::string_view bytes) noexcept;

/// A head of a request to a proxy (RFC 9112), with its empty line. Strict, since a server behind it
/// may read what is doubtful in another way. Throws BadRequest.
[[nodiscard]] Request read_request(std::string_view head);

/// The same of a request that its client sends to the server itself, as it means: to `target`,
/// which its one Host must name, with a path for an address.
[[nodiscard]] Request read_request_to(std::string_view head, const Target& target);

/// Of a plain request, as the server gets it: one Host, which is the target, and no second request
/// on the same connection, which could name another.
[[nodiscard]] std::string head_of(const Request& request);

} // namespace berth::filter
