#pragma once

#include "sandbox/base/random.hpp"

#include <filesystem>
#include <string>
#include <system_error>

namespace berth::tests {

/// A folder of its own for one test case, removed at its end.
class TemporaryDirectory {
  public:
    TemporaryDirectory()
        : path_((std::filesystem::temp_directory_path() / ("berth-test-" + random_hex(8))).string())
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
