#pragma once

#include <cstddef>

namespace berth::local {

/// What ps shows of this process: the sandbox shall see a guest, not a launcher.
class ProcessName {
  public:
    /// `argument`: argv[0] of main, whose memory the kernel shows as the command line.
    explicit ProcessName(char* argument) noexcept;

    /// Cut to the length of what argv[0] was. Without an argv[0] only the short name changes.
    void show(const char* name) const noexcept;

  private:
    char* argument_;
    std::size_t size_; ///< of what it was at first: a shorter name is not to cut a later one
};

} // namespace berth::local
