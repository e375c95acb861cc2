#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// What session.quota counts: the files of the home, without what is mounted into it. Immutable.
class HomeArea {
  public:
    /// `mounts`: where folders and files of the host are, absolute; those below the home count.
    HomeArea(const std::string& home, const std::vector<std::string>& mounts);

    /// `path`: absolute, and where the file really is.
    [[nodiscard]] bool contains(std::string_view path) const noexcept;

    /// The room on the disk that all of it takes, in bytes, a file with several names counted once
    /// if all of them are here. What the guest cannot read, and what is deeper than a path can be
    /// long, is not seen. `milliseconds`: at most, 0 is no limit. Nothing when it was not done by
    /// then, was stopped, or the home cannot be opened. Blocks.
    [[nodiscard]] std::optional<std::uint64_t> count(const std::stop_token& stop,
                                                     std::uint64_t milliseconds) const;

  private:
    std::string home_;
    std::vector<std::string> mounts_;
};

} // namespace berth::guest
