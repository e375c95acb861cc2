#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/e2b/settings.hpp"

#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace berth::e2b {

/// Which key at which control plane: of what another has made E2B says, with the same 404, that it
/// does not exist and that it may not be seen. 16 hexadecimal digits; the key cannot be read from
/// them.
[[nodiscard]] std::string account_of(const Settings& settings);

/// That of a machine's number, at whose end it stands; empty where it has none.
[[nodiscard]] std::string account_in(const std::string& number);

/// What shared books say is one, in which anything may stand: as it is, or something that is none
/// of anybody's.
[[nodiscard]] std::string known_account(const std::string& text);

/// Throws Error(invalid_argument) for what account_of() never is.
void require_accounts(const std::vector<std::string>& accounts);

/// Whose word it is that a sandbox does not exist any more. Thread-safe.
class Accounts {
  public:
    /// `own`: as account_of(). `same`: those that the operator says are of the same team.
    Accounts(std::string own, std::vector<std::string> same);

    [[nodiscard]] const std::string& own() const noexcept { return own_; }

    /// A sandbox that `account` has made was seen with the own key: one team's, whose sandboxes all
    /// of its keys see.
    void note_seen(const std::string& account);

    /// Throws Error(sandbox_unavailable) where `account`, which has made `what`, may be another
    /// team's, or another control plane's. Empty: of a release that did not write it down; taken
    /// for the own one.
    void require_word_on(const std::string& what, const std::string& account) const;

  private:
    const std::string own_;
    mutable std::mutex mutex_;
    std::set<std::string> same_; ///< guarded
};

} // namespace berth::e2b
