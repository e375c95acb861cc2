#pragma once

#include "sandbox/guest/protection/protected_book.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/messages.hpp"

#include <string>
#include <vector>

namespace berth::guest {

/// The protected files that one call of a writing tool comes upon.
class ProtectedWrites {
  public:
    ProtectedWrites(const protocol::Protection& protection, const protocol::GuestConfig& config)
        : protection_(protection), config_(config)
    {
    }

    /// Before anything is written to `path`, which is where the file really is. Throws
    /// Error(permission_denied) where that is refused.
    void judge(const std::string& path, bool exists);

    /// Once the call has done its work: what it changed.
    [[nodiscard]] std::vector<protocol::ProtectedChange> done(ProtectedBook& book);

  private:
    const protocol::Protection& protection_;
    const protocol::GuestConfig& config_;
    std::vector<protocol::ProtectedChange> met_;
};

} // namespace berth::guest
