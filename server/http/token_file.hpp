#pragma once

#include "server/http/accounts.hpp"
#include "server/http/caller.hpp"
#include "server/http/trust_file.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace berth::server::http {

/// The tokens that a server takes, each with whose it is. The file has only their hashes, so
/// whoever reads it, or a copy of it, cannot call. docs/http.md has its form. Looked at again when
/// it has changed, at most once a second; one that is wrong changes nothing. Thread-safe.
class TokenFile {
  public:
    /// Throws Error for what a caller of these settings could not be served with.
    using Check = std::function<void(const Caller&)>;
    using Told = TrustFile::Told;
    using Callers = std::vector<std::shared_ptr<const Caller>>;
    /// Told when the file has changed, under this object's lock: those that no entry has any more,
    /// with what held for them, and those that there are.
    using Gone = std::function<void(const Callers& gone, const Callers& present)>;

    /// Throws Error(invalid_argument) that names file and line: it cannot be read, others than its
    /// owner may write to it, an entry is wrong, or two have the same token. `accounts`: of those
    /// who are named there.
    TokenFile(std::string path, std::shared_ptr<Accounts> accounts, Check check, Told changed,
              Gone gone = {});

    /// Whose token it is; null: nobody's.
    [[nodiscard]] std::shared_ptr<const Caller> find(std::string_view token);

  private:
    struct Entry {
        std::string hash; ///< SHA-256, in small hex digits
        std::shared_ptr<const Caller> caller;
    };

    using Entries = std::vector<Entry>;

    [[nodiscard]] static bool is_known(const Entries& known, const std::string& hash,
                                       const Caller& caller);
    [[nodiscard]] std::shared_ptr<const Entries> read(const Entries& known);
    void tell_gone(const Entries& before, const Entries& now) const;

    std::mutex mutex_; ///< guards what follows
    TrustFile file_;
    const Check check_;
    const Gone gone_;
    const std::shared_ptr<Accounts> accounts_;
    std::shared_ptr<const Entries> entries_; ///< last: read() needs the others
};

} // namespace berth::server::http
