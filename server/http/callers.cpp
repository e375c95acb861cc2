#include "server/http/callers.hpp"

#include "sandbox/base/small_letters.hpp"
#include "server/options/paths.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace berth::server::http {
namespace {

/// The token of `Authorization: Bearer TOKEN`; nothing: there is none.
std::optional<std::string_view> bearer_token(const transport::HttpHead& head)
{
    constexpr std::string_view scheme = "bearer ";
    const auto* const value = head.find("authorization");
    if (value == nullptr || value->size() <= scheme.size()) {
        return std::nullopt;
    }
    const bool is_bearer = in_small_letters(value->substr(0, scheme.size())) == scheme;
    return is_bearer ? std::optional(std::string_view(*value).substr(scheme.size())) : std::nullopt;
}

std::shared_ptr<const Caller> make_caller(const std::string& principal, const std::string& origin)
{
    return std::make_shared<const Caller>(
        Caller{.principal = principal, .origin = origin, .account = std::make_shared<Account>()});
}

} // namespace

Callers::Callers(const Options& options, TokenFile::Check check, TokenFile::Told changed)
{
    if (!options.http.token_file.empty()) {
        tokens_ = std::make_unique<TokenFile>(options.http.token_file, std::move(check),
                                              std::move(changed));
    }
    if (options.http.no_auth) {
        anybody_ = make_caller(options.session.principal, "insecure_no_auth");
    }
}

std::shared_ptr<const Caller> Callers::identify(const transport::HttpHead& head,
                                                const transport::HttpSocket& socket)
{
    if (tokens_) {
        if (const auto token = bearer_token(head)) {
            return tokens_->find(*token);
        }
    }
    if (const auto uid = socket.peer_user()) {
        return user(*uid);
    }
    return anybody_;
}

std::shared_ptr<const Caller> Callers::user(uid_t uid)
{
    const std::lock_guard lock(mutex_);
    auto& known = users_[uid];
    if (!known) {
        known = make_caller(user_name(uid), "the user of the connection");
    }
    return known;
}

} // namespace berth::server::http
