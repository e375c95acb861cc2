#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/protocol/parting.hpp"

#include <cstddef>
#include <string_view>

#include <unistd.h>

namespace berth::guest {

/// Where the guest says why it ends. The file is the host's, and only the guest has it open: a
/// command that had it could make a lost machine look like one that ended in order.
class PartingNote {
  public:
    /// `fd`: owned from here on; -1: nobody wants to know.
    explicit PartingNote(int fd) : file_(fd) {}

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
    UniqueFd file_;
};

} // namespace berth::guest
