#pragma once

#include "sandbox/session/registry.hpp"
#include "sandbox/session/told.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace berth::session {

/// What a server has taken from a record to tell it (Record::untold), until its agent has read it
/// and the record can let go of it. Thread-safe once it is made.
class Untold {
  public:
    Untold() = default;

    /// What the record has, added to `told` with a receipt. `knows`: the news are told in words of
    /// this server's own already, and read with the rest.
    Untold(const Record& record, bool knows, Told& told);

    /// The agent has read it.
    [[nodiscard]] bool is_read() const noexcept { return read_ && *read_; }

    /// Taken at the same time.
    [[nodiscard]] bool is_same(const Untold& other) const noexcept { return read_ == other.read_; }

    /// Takes it out of the record; false where nothing of it is there.
    bool remove_from(Record& record) const;

  private:
    std::string news_;
    std::vector<std::string> outcomes_;
    std::shared_ptr<std::atomic<bool>> read_; ///< shared with the receipt
};

/// Of commands, for whoever comes to the session, until it was read: the server that tells it may
/// die before.
void keep_untold(Record& record, const std::vector<std::string>& notices);

/// The same of a machine that is gone, by what its guest wrote as it ended itself.
void keep_noted_words(Record& record, sandbox::Backend& backend);

} // namespace berth::session
