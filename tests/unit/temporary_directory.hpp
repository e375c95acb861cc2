#pragma once

#include "sandbox/base/random.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

namespace berth::tests {

/// For tests that make files by the thousand and look at none of their contents: a disk takes a
/// minute to remove them again.
[[nodiscard]] inline std::filesystem::path place_in_memory()
{
    const std::filesystem::path memory = "/dev/shm";
    return ::access(memory.c_str(), W_OK | X_OK) == 0 ? memory
                                                      : std::filesystem::temp_directory_path();
}

/// A folder of its own for one test case, removed at its end.
class TemporaryDirectory {
  public:
    explicit TemporaryDirectory(
        const std::filesystem::path& place = std::filesystem::temp_directory_path())
        : path_((place / ("berth-test-" + random_hex(8))).string())
    {
        std::filesystem::create_directory(path_);
    }

    ~TemporaryDirectory()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    [[nodiscard]] std::string operator/(const std::string& name) const
    {
        return path_ + "/" + name;
    }

  private:
    std::string path_;
};

} // namespace berth::tests
