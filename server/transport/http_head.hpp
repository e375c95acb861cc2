#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::transport {

/// What a head may have. Above it is refused with 431 (414 for the target): a peer that has not
/// said who it is must not decide how much memory it takes.
struct HttpHeadLimits {
    std::size_t bytes = std::size_t{16} << 10U; ///< of the whole head
    std::size_t fields = 100;
    std::size_t target = std::size_t{2} << 10U;
};

/// A request that is no HTTP that we take. `status` is what it is answered with.
class HttpError : public std::runtime_error {
  public:
    HttpError(int status, const std::string& message) : std::runtime_error(message), status_(status)
    {
    }

    [[nodiscard]] int status() const noexcept { return status_; }

  private:
    int status_;
};

/// The head of a request, as it was sent: no value is decoded. Of an absolute target
/// (http://HOST/PATH) the host is the value of the field `host`, whatever was sent as such (RFC
/// 9112, 3.2.2).
struct HttpHead {
    std::string method;
    std::string path; ///< of the target, without the query
    std::string query;
    bool is_1_0 = false;
    bool keep_alive = true;
    bool expects_continue = false;
    bool chunked = false;
    std::optional<std::uint64_t> content_length;
    /// Names in small letters, values without white space around them.
    std::vector<std::pair<std::string, std::string>> fields;

    /// The value of a field (its name in small letters); null: it is not there.
    [[nodiscard]] const std::string* find(std::string_view name) const noexcept;

    [[nodiscard]] bool has_body() const noexcept
    {
        return chunked || content_length.value_or(0) > 0;
    }
};

/// `text`: with the empty line that ends it. Throws HttpError. Stricter than RFC 9112 asks where
/// two readers could understand two requests: bare line feeds, folded lines, a length twice or
/// beside Transfer-Encoding (request smuggling past a proxy), and a second field of one that
/// decides who calls or what is called.
[[nodiscard]] HttpHead parse_http_head(std::string_view text, const HttpHeadLimits& limits);

} // namespace berth::transport
