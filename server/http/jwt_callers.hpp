#pragma once

#include "server/http/caller.hpp"
#include "server/http/jwt.hpp"
#include "server/options/file_watch.hpp"
#include "server/options/options.hpp"

#include <chrono>
#include <functional>
#include <map>
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
    /// Told once for each state of the file, with what is wrong; empty: it holds.
    using Told = std::function<void(const std::string& error)>;

    /// Throws Error(invalid_argument): the file cannot be read, or is none (read_jwt_keys()).
    JwtCallers(const JwtOptions& options, Told changed);

    /// Null: nobody that the token may stand for. Why is logged for who looks for it.
    [[nodiscard]] std::shared_ptr<const Caller> find(std::string_view token);

  private:
    using Keys = std::vector<JwtKey>;

    [[nodiscard]] std::shared_ptr<const Keys> read() const;
    [[nodiscard]] std::shared_ptr<const Keys> keys();
    [[nodiscard]] std::shared_ptr<const Caller> caller_of(const std::string& principal);

    const std::string path_;
    const JwtRules rules_;
    const Told changed_;
    std::mutex mutex_; ///< guards what follows
    std::shared_ptr<const Keys> keys_;
    /// Those that have a request, or had the last one: an account is one of all requests at once.
    std::map<std::string, std::weak_ptr<const Caller>> callers_;
    std::size_t swept_at_ = 0;
    FileWatch watch_;
    std::chrono::steady_clock::time_point looked_;
};

} // namespace berth::server::http
