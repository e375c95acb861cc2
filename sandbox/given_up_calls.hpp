#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace berth::sandbox {

/// Calls of which this server asks the answer no more, where connections are kept: until the guest
/// hears of it with a hello it waits for their repetition, and names what they came to nowhere.
/// Thread-safe.
class GivenUpCalls {
  public:
    /// More than are waited for by a guest (guest::NamedCalls::Options): the oldest is forgotten.
    static constexpr std::size_t most = 64;

    void add(const std::string& name);

    /// To be said until heard() tells that the guest has it.
    [[nodiscard]] std::vector<std::string> all() const;
    void heard(const std::vector<std::string>& names);

    [[nodiscard]] bool empty() const;

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> names_; ///< guarded by mutex_; oldest first
};

} // namespace berth::sandbox
