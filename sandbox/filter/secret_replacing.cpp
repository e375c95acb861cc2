#include "sandbox/filter/secret_replacing.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/percent.hpp"
#include "sandbox/base/small_letters.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace berth::filter {
namespace {

/// Of a head with values in it: who writes one placeholder a thousand times shall not have this
/// process keep a thousand times the value.
constexpr std::size_t longest_written = 4 * longest_head;
constexpr unsigned not_allowed = 405;
constexpr unsigned too_large = 431;

/// What a denial has room for.
constexpr std::size_t most_of_places = 600;

using Denied = std::optional<protocol::Denial>;

protocol::Denial denial(const Request& request, const Replacement& secret)
{
    if (secret.is_for_target) {
        return {.kind = "secret",
                .target = request.target.to_text(),
                .reason = "the value of the secret " + secret.name + " is not known to the proxy",
                .remedy = "It comes with each command: run the command again."};
    }
    return {.kind = "secret",
            .target = request.target.to_text(),
            .reason = "the request has the placeholder of the secret " + secret.name +
                      " in it, whose value goes to " +
                      visible_beginning(secret.places, most_of_places) + " alone",
            .remedy = "Send it there. If it is needed here, the operator of this sandbox can add "
                      "this place to filter.secret."};
}

std::size_t size_of(const Request& request)
{
    std::size_t size = request.path.size();
    for (const auto& field : request.fields) {
        size += field.name.size() + field.value.size();
    }
    return size;
}

/// Which servers send back as a matter of course, and by which nobody says who he is: a value in
/// one of these would be in the answer, which the sandbox reads.
bool is_echoed(std::string_view key)
{
    constexpr std::array<std::string_view, 14> echoed{
        "accept",     "accept-language", "content-type", "expect",      "forwarded",
        "from",       "origin",          "range",        "referer",     "traceparent",
        "tracestate", "user-agent",      "via",          "x-request-id"};
    return std::ranges::find(echoed, key) != echoed.end() || key == "x-correlation-id" ||
           key.starts_with("access-control-") || key.starts_with("x-forwarded-");
}

class Putting {
  public:
    Putting(Request& request, const Replacement& secret)
        : request_(request), secret_(secret), size_(size_of(request))
    {
    }

    [[nodiscard]] Denied put()
    {
        if (secret_.is_for_target && !secret_.takes_address &&
            request_.path.find(secret_.placeholder) != std::string::npos) {
            return in_address();
        }
        if (auto denied = put_into(request_.path, /*encoded=*/true)) {
            return denied;
        }
        for (auto& field : request_.fields) {
            if (is_echoed(field.key) &&
                field.value.find(secret_.placeholder) != std::string::npos) {
                return echoed(field.name);
            }
            auto denied = put_into(field.value, /*encoded=*/false);
            if (!denied && field.key == "authorization") {
                denied = put_into_basic(field.value);
            }
            if (denied) {
                return denied;
            }
        }
        return std::nullopt;
    }

  private:
    [[nodiscard]] protocol::Denial echoed(const std::string& field) const
    {
        return {.kind = "secret",
                .target = request_.target.to_text(),
                .reason = "the placeholder of the secret " + secret_.name + " is in the field " +
                          visible_beginning(field, 60) + ", where no value is put",
                .remedy = "Send it in a field by which the service tells who asks, such as "
                          "Authorization."};
    }

    /// Pages and links repeat the address that they were asked by, and logs keep it.
    [[nodiscard]] protocol::Denial in_address() const
    {
        return {.kind = "secret",
                .target = request_.target.to_text(),
                .reason = "the placeholder of the secret " + secret_.name +
                          " is in the address of the request, where no value is put",
                .remedy = "Send it in a header field, such as Authorization. If the service takes "
                          "it in its address alone, the operator of this sandbox can write ? "
                          "behind this place in filter.secret."};
    }

    [[nodiscard]] Denied put_into(std::string& text, bool encoded)
    {
        auto at = text.find(secret_.placeholder);
        if (at == std::string::npos) {
            return std::nullopt;
        }
        if (!secret_.value) {
            return denial(request_, secret_);
        }
        // RFC 9110, 9.3.8: the answer would be this very head, with the value in it.
        if (request_.method == "TRACE" || request_.method == "TRACK") {
            throw BadRequest{.status = not_allowed,
                             .reason = "what the server sends back gets no secret"};
        }
        const auto value = encoded ? percent_encoded(*secret_.value) : *secret_.value;
        for (; at != std::string::npos; at = text.find(secret_.placeholder, at + value.size())) {
            text.replace(at, secret_.placeholder.size(), value);
            size_ += value.size(); // what it took the place of is small beside that
            if (size_ > longest_written) {
                throw BadRequest{.status = too_large,
                                 .reason = "the head of the request is too long"};
            }
        }
        return std::nullopt;
    }

    /// RFC 7617. What is no base64 is left as it is: the server refuses it.
    [[nodiscard]] Denied put_into_basic(std::string& value)
    {
        const auto blank = value.find(' ');
        if (blank == std::string::npos || in_small_letters(value.substr(0, blank)) != "basic") {
            return std::nullopt;
        }
        const auto begin = value.find_first_not_of(' ', blank);
        auto credentials = base64_decode(
            std::string_view(value).substr(begin == std::string::npos ? value.size() : begin));
        if (!credentials) {
            return std::nullopt;
        }
        const auto before = *credentials;
        auto denied = put_into(*credentials, /*encoded=*/false);
        if (!denied && *credentials != before) {
            value = "Basic " + base64_encode(*credentials);
        }
        return denied;
    }

    Request& request_;
    const Replacement& secret_;
    std::size_t size_; ///< of the head, at most
};

} // namespace

std::optional<protocol::Denial> put_secrets_in(Request& request,
                                               const std::vector<Replacement>& replacements)
{
    for (const auto& secret : replacements) {
        if (secret.placeholder.empty()) {
            continue;
        }
        if (auto denied = Putting(request, secret).put()) {
            return denied;
        }
    }
    if (!replacements.empty() && size_of(request) > longest_written) {
        throw BadRequest{.status = too_large, .reason = "the head of the request is too long"};
    }
    return std::nullopt;
}

} // namespace berth::filter
