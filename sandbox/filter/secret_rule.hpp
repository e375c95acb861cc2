#pragma once

#include "sandbox/filter/rules.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace berth::filter {

/// Where the value of a secret may go: to one name or address, by one scheme, at one port.
struct SecretPlace {
    Target target;
    bool is_tls = false;
    /// Also in the path and the query of a request, which more services repeat than a header field.
    bool takes_address = false;

    /// As an operator writes it, without the usual port of its scheme.
    [[nodiscard]] std::string to_text() const;

    /// Only where it is.
    [[nodiscard]] std::string site() const;

    [[nodiscard]] bool is(const Target& other, bool tls) const
    {
        return is_tls == tls && target.name == other.name && target.port == other.port;
    }
};

/// One entry of filter.secret: NAME=http://HOST[:PORT] or NAME=https://HOST[:PORT], with ? behind
/// it where the address takes the value too.
struct SecretRule {
    std::string name; ///< of the variable
    SecretPlace place;
};

/// Without a path, a user, and `*`. Throws Error(invalid_argument) that says what is wrong with it
/// and quotes nothing of it: it may be the secret itself, by mistake.
[[nodiscard]] SecretPlace parse_secret_place(std::string_view text);
[[nodiscard]] SecretRule parse_secret_rule(std::string_view text);

/// Why a value cannot be put into a request; empty: it can. It must be no way to add a line to one.
[[nodiscard]] std::string unfit_for_request(std::string_view value);

} // namespace berth::filter
