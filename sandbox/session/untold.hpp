#pragma once

#include "sandbox/receipt.hpp"
#include "sandbox/session/host_folders.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/told.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth::session {

/// What a server has taken from a record to tell it (Record::untold), until its agent has read it
/// and the record can let go of it. Thread-safe once it is made.
class Untold {
  public:
    Untold() = default;

    /// The right to tell it.
    struct Right {
        std::shared_ptr<const HostFolders::Teller> here;  ///< among servers of this host
        std::shared_ptr<const Registry::Hold> everywhere; ///< null: no others come to the session

        [[nodiscard]] bool holds() const noexcept
        {
            return here->holds() && (!everywhere || everywhere->holds());
        }
    };

    using Teller = std::shared_ptr<const Right>;

    /// What the record has, added to `told` with a receipt. `knows`: the news are told in words of
    /// this server's own already, and read with the rest. `teller`: the right to that, kept as long
    /// as this is; null where nobody can give it. What `before`, which this takes the place of,
    /// tells already is not added again, and read once both are: the call that has it may still be
    /// at work, on the machine before this one, and who does not hear of it gives it back itself.
    Untold(const Record& record, bool knows, Told& told, Teller teller, const Untold& before);

    /// There is something to be read.
    [[nodiscard]] explicit operator bool() const noexcept { return !reads_.empty(); }

    [[nodiscard]] const Teller& teller() const noexcept { return teller_; }

    /// The agent has read it.
    [[nodiscard]] bool is_read() const;

    /// Calls `action` whenever a part of it was read, so also then; see ReadMark.
    void when_read(const std::function<void()>& action) const;

    /// Taken at the same time.
    [[nodiscard]] bool is_same(const Untold& other) const noexcept
    {
        return reads_ == other.reads_;
    }

    /// Takes it out of the record; false where nothing of it is there.
    bool remove_from(Record& record) const;

  private:
    [[nodiscard]] bool tells(const std::string& outcome) const;

    std::string news_;
    std::string generation_; ///< of the machine that the news are of
    std::vector<std::string> outcomes_;
    std::vector<std::shared_ptr<sandbox::ReadMark>> reads_; ///< shared with the receipts
    Teller teller_;
};

/// Whether there is anything in a record for whoever comes.
[[nodiscard]] inline bool has_untold(const Record& record) noexcept
{
    return !record.news.empty() || !record.untold.empty();
}

/// Of commands, for whoever comes to the session, until it was read: the server that tells it may
/// die before.
void keep_untold(Record& record, const std::vector<std::string>& notices);

/// The same of a machine that is gone, by what its guest wrote as it ended itself.
void keep_noted_words(Record& record, sandbox::Backend& backend);

} // namespace berth::session
