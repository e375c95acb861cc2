#pragma once

#include <cstdint>
#include <string>

namespace berth::local {

/// What a file or folder has to do with project quotas.
struct ProjectMark {
    std::uint32_t id = 0;   ///< of the project that it counts for; 0: of none
    bool inherited = false; ///< what is made in this folder counts for the same

    friend bool operator==(const ProjectMark&, const ProjectMark&) = default;
};

/// Project quotas of the file systems of this host (ext4, XFS). Of each descriptor the file system
/// is meant that it is on. For unit tests another can take its place. Thread-safe. Throws
/// std::system_error.
class ProjectKernel {
  public:
    ProjectKernel() = default;
    ProjectKernel(const ProjectKernel&) = delete;
    ProjectKernel& operator=(const ProjectKernel&) = delete;
    virtual ~ProjectKernel() = default;

    /// Why limits of projects are not kept there; empty: they are.
    [[nodiscard]] virtual std::string obstacle(int fd) = 0;

    /// Of an open file or folder (no O_PATH).
    [[nodiscard]] virtual ProjectMark mark(int fd) = 0;
    virtual void set_mark(int fd, const ProjectMark& mark) = 0;

    /// Whether nothing counts for the project.
    [[nodiscard]] virtual bool is_unused(int fd, std::uint32_t id) = 0;

    /// Bytes, a multiple of 1024; 0: none.
    [[nodiscard]] virtual std::uint64_t limit(int fd, std::uint32_t id) = 0;
    virtual void set_limit(int fd, std::uint32_t id, std::uint64_t bytes) = 0;
};

/// The real one, by quotactl_fd(2): Linux 5.14. What an older kernel has is not used: before 5.13 a
/// file's owner could take its folder's mark away from inside of a user namespace.
[[nodiscard]] ProjectKernel& linux_projects();

} // namespace berth::local
