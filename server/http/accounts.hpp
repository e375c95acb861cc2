#pragma once

#include "server/http/caller.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace berth::server::http {

/// The accounts of all principals that call one server: one for each, however it comes, by tokens
/// of a file or of an issuer, or over a unix socket. With one for each way in, whoever has several
/// would have the limits as many times. Thread-safe.
class Accounts {
  public:
    /// The same as long as anybody has it.
    [[nodiscard]] std::shared_ptr<Account> of(const std::string& principal);

  private:
    std::mutex mutex_; ///< guards what follows
    std::map<std::string, std::weak_ptr<Account>> known_;
    std::size_t swept_at_ = 0;
};

} // namespace berth::server::http
