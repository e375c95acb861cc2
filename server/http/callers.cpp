#include "server/http/callers.hpp"

#include "server/http/bearer.hpp"
#include "server/options/paths.hpp"

#include <utility>

namespace berth::server::http {
namespace {

std::shared_ptr<const Caller> make_caller(const std::string& principal, const std::string& origin,
                                          Accounts& accounts)
{
    return std::make_shared<const Caller>(
        Caller{.principal = principal, .origin = origin, .account = accounts.of(principal)});
}

} // namespace

Callers::Callers(const Options& options, TokenFile::Check check, TokenFile::Told changed,
                 JwtCallers::Told keys_changed, TokenFile::Gone gone)
{
    if (!options.http.token_file.empty()) {
        tokens_ = std::make_unique<TokenFile>(options.http.token_file, accounts_, std::move(check),
                                              std::move(changed), std::move(gone));
    }
    if (options.http.jwt.is_wanted()) {
        issued_ =
            std::make_unique<JwtCallers>(options.http.jwt, accounts_, std::move(keys_changed));
    }
    if (options.http.no_auth) {
        anybody_ = make_caller(options.session.principal, "insecure_no_auth", *accounts_);
    }
}

std::shared_ptr<const Caller> Callers::identify(const transport::HttpHead& head,
                                                const transport::HttpSocket& socket)
{
    if (tokens_ || issued_) {
        if (const auto token = bearer_token(head)) {
            return of_token(*token);
        }
    }
    if (const auto uid = socket.peer_user()) {
        return user(*uid);
    }
    return anybody_;
}

std::shared_ptr<const Caller> Callers::of_token(std::string_view token)
{
    auto found = tokens_ ? tokens_->find(token) : nullptr;
    return !found && issued_ && looks_like_jwt(token) ? issued_->find(token) : std::move(found);
}

bool Callers::has_token(std::string_view token)
{
    return of_token(token) != nullptr;
}

std::shared_ptr<const Caller> Callers::user(uid_t uid)
{
    const std::lock_guard lock(mutex_);
    auto& known = users_[uid];
    if (!known) {
        known = make_caller(user_name(uid), "the user of the connection", *accounts_);
    }
    return known;
}

} // namespace berth::server::http
