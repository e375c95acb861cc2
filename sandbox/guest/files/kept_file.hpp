#pragma once

#include "sandbox/guest/files/write_target.hpp"

#include <string>

namespace berth::guest {

/// The old file of a target under a name of ours beside its own, as long as this lives: with it the
/// very file can be put back, hard links, owner and attributes included, and no room is needed for
/// that. Killed in between, the name is a leftover (remove_leftovers()).
class KeptFile {
  public:
    /// `target` exists, and must outlive it.
    explicit KeptFile(WriteTarget& target) noexcept : target_(target) {}

    ~KeptFile();
    KeptFile(const KeptFile&) = delete;
    KeptFile& operator=(const KeptFile&) = delete;

    /// Gives it the second name. False where that does not keep its content: what has several names
    /// or another owner may be written in place (Replacement). Throws Error(conflict) when the file
    /// was changed since the target was found.
    [[nodiscard]] bool link();

    /// Leaves it the second name only. Throws Error.
    void take_away();

    /// Puts it back; over what is there with `replace`. Throws Error.
    void put_back(bool replace);

    [[nodiscard]] bool has_name() const noexcept { return !name_.empty(); }

  private:
    [[noreturn]] void throw_changed() const;

    WriteTarget& target_;
    std::string name_; ///< empty: none
};

} // namespace berth::guest
