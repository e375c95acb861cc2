#include "sandbox/local/launcher/landlock.hpp"

#include "sandbox/base/landlock.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"

#include <cstdint>

#include <fcntl.h>
#include <linux/landlock.h>

namespace berth::local {
namespace {

constexpr const char* step = "landlock";

constexpr std::uint64_t reading =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

/// Of what a rule for a file, not a folder, may speak.
constexpr std::uint64_t of_a_file = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                    LANDLOCK_ACCESS_FS_READ_FILE | landlock_truncate |
                                    landlock_ioctl_dev;

/// What a kernel of this version knows. A younger one has more, which nobody has looked at here.
/// Not of ports: a rule names a port and no address, and on loopback, which is all that a session
/// without a network has, every port is the session's own.
LandlockAttributes known(unsigned version)
{
    LandlockAttributes attributes;
    attributes.files = (LANDLOCK_ACCESS_FS_REFER << 1U) - 1; // the last of version 2, and before
    attributes.files |= version >= 3 ? landlock_truncate : 0;
    attributes.files |= version >= 5 ? landlock_ioctl_dev : 0;
    attributes.scopes =
        version >= landlock_with_scopes ? landlock_abstract_sockets | landlock_signals : 0;
    return attributes;
}

class Ruleset {
  public:
    explicit Ruleset(unsigned version) : known_(known(version))
    {
        ruleset_ = UniqueFd(sys::landlock_create_ruleset(&known_, sizeof known_, 0));
        require(ruleset_.valid(), step, "landlock_create_ruleset");
    }

    void allow(int folder, std::uint64_t access, bool directory = true)
    {
        const landlock_path_beneath_attr rule{.allowed_access = access & known_.files &
                                                                (directory ? ~0ULL : of_a_file),
                                              .parent_fd = folder};
        require(sys::landlock_add_rule(ruleset_.get(), rule) == 0, step, "landlock_add_rule");
    }

    void allow(const char* folder, std::uint64_t access)
    {
        const UniqueFd opened(::open(folder, O_PATH | O_CLOEXEC | O_DIRECTORY));
        require(opened.valid(), step, folder);
        allow(opened.get(), access);
    }

    /// No device node is made, not even the ones without a device that need no capability.
    [[nodiscard]] std::uint64_t writing() const
    {
        return known_.files &
               ~std::uint64_t{LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK};
    }

    void restrict_self() const
    {
        require(sys::landlock_restrict_self(ruleset_.get()) == 0, step, "landlock_restrict_self");
    }

  private:
    LandlockAttributes known_;
    UniqueFd ruleset_;
};

} // namespace

unsigned landlock_version() noexcept
{
    const int version = sys::landlock_create_ruleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    // Of the first nobody under it may move or link a file from one folder to another, which git,
    // package managers and people do.
    constexpr int first_for_moves = 2; // Linux 5.19
    return version >= first_for_moves ? static_cast<unsigned>(version) : 0;
}

void restrict_files(const Reach& reach)
{
    const unsigned version = landlock_version();
    if (version == 0) {
        return;
    }
    Ruleset rules(version);
    rules.allow("/", reading);
    rules.allow("/dev", rules.writing());
    rules.allow("/proc", reading | LANDLOCK_ACCESS_FS_WRITE_FILE | landlock_truncate);
    for (std::size_t i = 0; i < reach.trees.size(); ++i) {
        const Tree& tree = reach.trees[i];
        if (tree.mount && reach.binds[i].writable) {
            rules.allow(tree.mount.get(), rules.writing(), tree.directory);
        }
    }
    if (reach.cgroups >= 0) {
        rules.allow(reach.cgroups, rules.writing());
    }
    if (reach.program >= 0) {
        rules.allow(reach.program, reading, /*directory=*/false);
    }
    for (const int file : reach.reopened) {
        if (file >= 0) {
            rules.allow(file, LANDLOCK_ACCESS_FS_READ_FILE, /*directory=*/false);
        }
    }
    rules.restrict_self();
}

} // namespace berth::local
