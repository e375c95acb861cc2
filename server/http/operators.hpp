#pragma once

#include "server/http/caller.hpp"
#include "server/http/callers.hpp"
#include "server/http/token_file.hpp"
#include "server/transport/http_head.hpp"

#include <memory>
#include <string>

namespace berth::server::http {

/// Who runs the server, by tokens of a file of their own. What opens the operator's API calls no
/// tool, and what calls tools opens no operator's API: a token that is in both files does neither.
/// Thread-safe.
class Operators {
  public:
    /// `path`: empty, there is none. Throws as TokenFile(), and for an entry that has settings: an
    /// operator has no sessions.
    Operators(const std::string& path, Callers& callers, TokenFile::Told changed);

    /// False: nobody is, whatever he shows.
    [[nodiscard]] bool are_there() const noexcept { return tokens_ != nullptr; }

    enum class Standing : unsigned char {
        is_operator,
        is_caller, ///< who is known, and not for this
        unknown,
    };

    struct Found {
        Standing standing = Standing::unknown;
        std::shared_ptr<const Caller> who{}; ///< the operator
    };

    [[nodiscard]] Found identify(const transport::HttpHead& head);

    /// Whether the request shows a token of an operator's.
    [[nodiscard]] bool has_token(const transport::HttpHead& head);

  private:
    Callers& callers_;
    std::unique_ptr<TokenFile> tokens_;
};

} // namespace berth::server::http
