#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/session/key.hpp"
#include "server/options/toml_file.hpp"

#include <string>
#include <vector>

namespace berth::server {

/// Where folders to mount may be (`allowed_mount_roots`), templates too. What profiles mount must
/// be below one, so that whoever may write or choose a profile is not the one who says what of the
/// host there is to see. What is said beside the profiles is the operator's own word; but where
/// roots are given it must be below one too. docs/adr/0021-mount-roots.md. Immutable.
class MountRoots {
  public:
    /// Throws Error(invalid_argument) for one that is not an absolute path.
    explicit MountRoots(const RawValue& roots);

    /// Of a source without symbolic links, and where it was said. `what`: as errors name it. Throws
    /// Error(invalid_argument).
    void require(const std::string& source, const std::string& said,
                 const std::string& what = "mount of") const;

    /// What becomes of a workspace that is missing.
    enum class Missing {
        is_left,
        is_made,      ///< with the folders on the way, for the server's user alone
        is_made_open, ///< the same, but all users may enter and read the workspace itself
    };

    /// The folder that `default_workspace` means for a session, with {principal}, {session} and
    /// {profile} in it. Absolute, as it is below the root, and none of it was a link: do not follow
    /// one that came since. Throws Error(invalid_argument).
    [[nodiscard]] std::string workspace(const RawValue& templ, const session::SessionId& id,
                                        const std::string& profile, Missing missing) const;

  private:
    [[nodiscard]] const std::string* root_of(const std::string& path) const;

    std::vector<std::string> roots_; ///< without symbolic links, as far as they exist
    std::string origin_;
};

/// Where the workspace that nobody named is mounted, as LangBot's Box has it.
inline constexpr const char* workspace_target = "/workspace";

} // namespace berth::server
