#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/protocol/parting.hpp"

#include <cstddef>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {

/// Where the guest says why it ends. The file is the host's, and only the guest has it open: a
/// command that had it could make a lost machine look like one that ended in order.
class PartingNote {
  public:
    /// `fd`: owned from here on; -1: nobody wants to know.
    explicit PartingNote(int fd) : file_(fd), counts_(has_name()) {}

    /// Whether it has lost its name on the host: somebody has removed the session's folder there,
    /// as by `rm -r`, or has made another machine in it. No server finds this one then, and each
    /// would make another beside it. False where nobody can tell: some file systems count no names.
    [[nodiscard]] bool is_removed() const noexcept { return counts_ && !has_name(); }

    /// In place of the byte that is there, for which a full disk has room. Of several the last one
    /// counts; where it cannot be written the end is told as a loss. Behind it `words`, where there
    /// is room: first, so that they are whole where the byte says that they are there.
    void write(protocol::Parting why, std::string_view words = {}) const noexcept
    {
        (void)!::ftruncate(file_.get(), 1); // longer ones of before
        const auto size = ::pwrite(file_.get(), words.data(), words.size(), 1);
        if (size < 0 || static_cast<std::size_t>(size) != words.size()) {
            (void)!::ftruncate(file_.get(), 1);
        }
        const char byte = static_cast<char>(why);
        (void)!::pwrite(file_.get(), &byte, 1, 0);
    }

  private:
    [[nodiscard]] bool has_name() const noexcept
    {
        struct stat status{};
        return !file_ || ::fstat(file_.get(), &status) != 0 || status.st_nlink > 0;
    }

    UniqueFd file_;
    bool counts_; ///< it had a name when the guest began
};

} // namespace berth::guest
