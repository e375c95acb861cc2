#include "server/http/operators.hpp"

#include "sandbox/base/error.hpp"
#include "server/http/bearer.hpp"

#include <utility>

namespace berth::server::http {
namespace {

void require_no_settings(const Caller& caller)
{
    if (!caller.settings.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    caller.origin + ": " + caller.settings.begin()->first +
                        " is of one who calls tools, and an operator has no sessions",
                    "An operator's entry has sha256, principal and calls.");
    }
}

} // namespace

Operators::Operators(const std::string& path, Callers& callers, TokenFile::Told changed)
    : callers_(callers),
      tokens_(path.empty() ? nullptr
                           : std::make_unique<TokenFile>(path, std::make_shared<Accounts>(),
                                                         require_no_settings, std::move(changed)))
{
}

Operators::Found Operators::identify(const transport::HttpHead& head)
{
    const auto token = bearer_token(head);
    if (!tokens_ || !token) {
        return {};
    }
    // Both are asked in any case, so that the time tells nothing of which it is.
    auto found = tokens_->find(*token);
    if (callers_.has_token(*token)) {
        return {.standing = Standing::is_caller};
    }
    return found ? Found{Standing::is_operator, std::move(found)} : Found{};
}

bool Operators::has_token(const transport::HttpHead& head)
{
    const auto token = bearer_token(head);
    return tokens_ && token && tokens_->find(*token) != nullptr;
}

} // namespace berth::server::http
