#pragma once

#include "sandbox/local/spare_folder.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace berth::local {

/// One that waits, and those that were used and are to be removed while nobody waits for that. Safe
/// to call from several threads.
class SpareFolders {
  public:
    /// Nothing where none waits.
    [[nodiscard]] std::unique_ptr<SpareFolder> take();

    void give_back(std::unique_ptr<SpareFolder> used) noexcept;

    /// Removes those, and makes one where none waits. `state`: as for SpareFolder.
    void renew(int state) noexcept;

    /// Removes what there is, also what is just being made. From here on none waits.
    void close() noexcept;

  private:
    std::mutex renewing_; ///< before mutex_
    std::mutex mutex_;
    bool closed_ = false;                            ///< guarded by mutex_
    std::unique_ptr<SpareFolder> next_;              ///< guarded by mutex_
    std::vector<std::unique_ptr<SpareFolder>> used_; ///< guarded by mutex_
};

} // namespace berth::local
