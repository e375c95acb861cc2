#pragma once

#include "sandbox/local/remove_tree.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fcntl.h>

namespace berth::local::test {

/// A temporary directory, removed at the end.
class TemporaryTree {
  public:
    TemporaryTree()
    {
        std::string pattern = "/tmp/berth-unit-XXXXXX";
        path_ = ::mkdtemp(pattern.data()) == nullptr ? "" : pattern;
    }

    ~TemporaryTree() { remove_tree(AT_FDCWD, path_); }

    TemporaryTree(const TemporaryTree&) = delete;
    TemporaryTree& operator=(const TemporaryTree&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// A file with its directories.
    void add(const std::string& name, const std::string& content) const
    {
        const std::filesystem::path file = path_ + "/" + name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << content;
    }

    void add_directory(const std::string& name) const
    {
        std::filesystem::create_directories(path_ + "/" + name);
    }

  private:
    std::string path_;
};

} // namespace berth::local::test
