#include "server/http/jwt_callers.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "server/log.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::server::http {
namespace {

constexpr std::size_t largest_set = std::size_t{1} << 20U;
/// So many names more are remembered before those that nobody uses are let go.
constexpr std::size_t sweep_step = 256;

} // namespace

JwtCallers::JwtCallers(const JwtOptions& options, Told changed)
    : file_(options.keys, "jwt_keys: ", std::move(changed)),
      rules_(
          {.issuer = options.issuer, .audience = options.audience, .principal = options.principal}),
      keys_(read())
{
    if (keys_->empty()) {
        throw Error(ErrorCode::invalid_argument,
                    "jwt_keys: " + file_.path() + ": there is no key that a token is checked by",
                    "RS256 (RSA), ES256 (P-256) and EdDSA (Ed25519) are taken.");
    }
}

std::shared_ptr<const JwtCallers::Keys> JwtCallers::read() const
{
    file_.require_unwritable();
    std::string text;
    try {
        text = read_file_limited(AT_FDCWD, file_.path(), largest_set);
    } catch (const std::exception& error) {
        throw Error(ErrorCode::invalid_argument,
                    "jwt_keys: " + file_.path() + " cannot be read: " + error.what(),
                    "It is the issuer's JSON Web Key Set, 1 MiB at most.");
    }
    try {
        return std::make_shared<const Keys>(read_jwt_keys(text));
    } catch (const Error& error) {
        throw Error(error.code(), "jwt_keys: " + file_.path() + ": " + error.what(), error.hint());
    }
}

std::shared_ptr<const JwtCallers::Keys> JwtCallers::keys()
{
    const std::lock_guard lock(mutex_);
    file_.look([this] {
        keys_ = read(); // without any key too: whoever takes the last one away means it
        return keys_->empty() ? std::string("no key in it checks a token: no token is taken")
                              : std::string();
    });
    return keys_;
}

std::shared_ptr<const Caller> JwtCallers::caller_of(const std::string& principal)
{
    const std::lock_guard lock(mutex_);
    if (auto known = callers_[principal].lock()) {
        return known;
    }
    auto caller = std::make_shared<const Caller>(Caller{.principal = principal,
                                                        .origin = "a token of the issuer",
                                                        .account = std::make_shared<Account>()});
    callers_[principal] = caller;
    if (callers_.size() > swept_at_ + sweep_step) {
        std::erase_if(callers_, [](const auto& each) { return each.second.expired(); });
        swept_at_ = callers_.size();
    }
    return caller;
}

std::shared_ptr<const Caller> JwtCallers::find(std::string_view token)
{
    const auto verdict = check_jwt(token, *keys(), rules_, std::chrono::system_clock::now());
    if (verdict.principal.empty()) {
        log::write(log::Level::debug, "a token is not taken", {{"reason", verdict.why}});
        return nullptr;
    }
    return caller_of(verdict.principal);
}

} // namespace berth::server::http
