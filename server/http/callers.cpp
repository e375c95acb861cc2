#include "server/http/callers.hpp"

#include "server/http/bearer.hpp"
#include "server/options/paths.hpp"

#include <utility>

namespace berth::server::http {
namespace {

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

bool Callers::has_token(std::string_view token)
{
    return tokens_ && tokens_->find(token) != nullptr;
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
