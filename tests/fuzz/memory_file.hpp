#pragma once

#include "sandbox/base/io.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "tests/fuzz/target.hpp"

#include <string>
#include <string_view>

#include <sys/mman.h>

namespace berth::fuzz {

/// A file that is nowhere but in memory, with this content.
class MemoryFile {
  public:
    explicit MemoryFile(std::string_view content) : fd_(::memfd_create("fuzz", MFD_CLOEXEC))
    {
        require(fd_.valid(), "memfd_create works");
        write_full(fd_.get(), content);
    }

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd()); }

  private:
    UniqueFd fd_;
};

} // namespace berth::fuzz
