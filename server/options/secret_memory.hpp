#pragma once

#include "tools/secret_mask.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace berth::server {

/// The values of secrets that commands of one session have been given: results must be kept free of
/// those too that have been renewed since, or that no setting names any more, for as long as a job
/// that has one may print it. In memory alone. Thread-safe.
class SecretMemory {
  public:
    /// Of each name the last four values are kept.
    void note(const std::string& name, const std::string& value);

    /// The newest of each last.
    [[nodiscard]] std::vector<tools::Secret> all() const;

  private:
    mutable std::mutex mutex_;
    std::vector<tools::Secret> known_; ///< guarded by mutex_
};

} // namespace berth::server
