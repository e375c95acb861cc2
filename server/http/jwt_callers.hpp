#pragma once

#include "server/http/accounts.hpp"
#include "server/http/caller.hpp"
#include "server/http/jwt.hpp"
#include "server/http/trust_file.hpp"
#include "server/options/options.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace berth::server::http {

/// Callers that an issuer vouches for, by JWT access tokens that its keys have signed. The file of
/// the keys is looked at again when it has changed, at most once a second; one that is wrong
/// changes nothing. Thread-safe.
class JwtCallers {
  public:
    using Told = TrustFile::Told;

    /// Throws Error(invalid_argument): the file cannot be read, or is none (read_jwt_keys()).
    JwtCallers(const JwtOptions& options, std::shared_ptr<Accounts> accounts, Told changed);

    /// Null: nobody that the token may stand for. Why is logged for who looks for it.
    [[nodiscard]] std::shared_ptr<const Caller> find(std::string_view token);

  private:
    using Keys = std::vector<JwtKey>;

    [[nodiscard]] std::shared_ptr<const Keys> read() const;
    [[nodiscard]] std::shared_ptr<const Keys> keys();

    std::mutex mutex_; ///< guards what follows
    TrustFile file_;
    const JwtRules rules_;
    std::shared_ptr<const Keys> keys_;
    const std::shared_ptr<Accounts> accounts_;
};

} // namespace berth::server::http
