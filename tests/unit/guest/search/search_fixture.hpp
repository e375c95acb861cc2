#pragma once

#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/operations.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <string_view>

namespace berth::tests {

/// A tree of its own and a session whose working directory it is.
class SearchTree {
  public:
    SearchTree() = default;

    explicit SearchTree(const std::filesystem::path& place) : directory_(place) {}

    void write(const std::string& name, std::string_view content) const
    {
        const std::filesystem::path path(directory_ / name);
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << content;
    }

    [[nodiscard]] protocol::GrepReply grep(protocol::GrepRequest request) const
    {
        return guest::grep_files(request, context());
    }

    [[nodiscard]] protocol::GlobReply glob(protocol::GlobRequest request) const
    {
        return guest::glob_files(request, context());
    }

    [[nodiscard]] const std::string& path() const noexcept { return directory_.path(); }

    void cancel() const { stop_.request_stop(); }

  private:
    [[nodiscard]] guest::CallContext context() const
    {
        return {.config = config_, .session = session_, .stop = stop_.get_token()};
    }

    TemporaryDirectory directory_;
    protocol::GuestConfig config_;
    mutable guest::SessionState session_{directory_.path()};
    mutable std::stop_source stop_;
};

} // namespace berth::tests
