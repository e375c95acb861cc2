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

} // namespace

JwtCallers::JwtCallers(const JwtOptions& options, std::shared_ptr<Accounts> accounts, Told changed)
    : file_(options.keys, "jwt_keys: ", std::move(changed)),
      rules_(
          {.issuer = options.issuer, .audience = options.audience, .principal = options.principal}),
      keys_(read()), accounts_(std::move(accounts))
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

std::shared_ptr<const Caller> JwtCallers::find(std::string_view token)
{
    const auto verdict = check_jwt(token, *keys(), rules_, std::chrono::system_clock::now());
    if (verdict.principal.empty()) {
        log::write(log::Level::debug, "a token is not taken", {{"reason", verdict.why}});
        return nullptr;
    }
    return std::make_shared<const Caller>(Caller{.principal = verdict.principal,
                                                 .origin = "a token of the issuer",
                                                 .account = accounts_->of(verdict.principal)});
}

} // namespace berth::server::http
