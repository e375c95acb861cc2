#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace berth::local {

/// What the folder of a session will need, made while nobody waits for it, in
/// `<state>/ahead/<random>`, to be moved there: its home, its temporary folders, its machine-id,
/// and blank files for what is noted of it. To make one of them costs several times what it costs
/// to move it, and more by far where many files were removed of late: ext4 (`recently_deleted` in
/// fs/ext4/ialloc.c) gives none of their inodes away for a minute or more, and looks at each
/// whenever it seeks a free one. Used by one thread at a time.
class SpareFolder {
  public:
    /// `state`: an open directory that only berth can write; it is not needed later on. Throws
    /// std::system_error.
    explicit SpareFolder(int state);
    /// Removes what nobody has taken.
    ~SpareFolder();
    SpareFolder(const SpareFolder&) = delete;
    SpareFolder& operator=(const SpareFolder&) = delete;

    /// Moves the part of that name into the open directory `folder`, where nothing is called so.
    /// False where it cannot be had: it is to be made.
    [[nodiscard]] bool give(const char* part, int folder) noexcept;

    /// An empty folder, 0700, that becomes `name` in the open directory `at`, where nothing is
    /// called so. False where it cannot be had.
    [[nodiscard]] bool give_empty(int at, const std::string& name) noexcept;

    /// A blank file, open for writing, that takes the place of `path`; invalid where none is left.
    [[nodiscard]] UniqueFd place_blank(int at, const std::string& path) noexcept;

    /// The content of a blank file that then takes the place of `path`, in one step. False where it
    /// cannot be had. Throws std::system_error.
    [[nodiscard]] bool write(int at, const std::string& path, std::string_view content);

    /// Removes what servers have left that were killed. Waits for nobody.
    static void clear_up(int state) noexcept;

  private:
    void make() const;
    void remove() noexcept;
    [[nodiscard]] UniqueFd open_blank(std::string& name) noexcept;

    UniqueFd all_; ///< <state>/ahead
    std::string name_;
    UniqueFd folder_; ///< locked for as long as this lives
    int blanks_ = 0;  ///< that are left
};

/// As write_file_atomically() of 0600 without a sync, by a blank file of `spare` where one is left;
/// null: there is none. Throws std::system_error.
void write_note(SpareFolder* spare, int at, const std::string& path, std::string_view content);

} // namespace berth::local
