#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/covers.hpp"
#include "sandbox/local/host_files.hpp"
#include "sandbox/local/own_folders.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace berth::local {

/// Whose programs a sandbox has, and what of them is covered.
struct Programs {
    explicit Programs(HostFiles shown, Private hidden);

    const HostFiles files;
    Covers covers;
};

/// The programs of this host, found once, and those of the template that was used last: of a
/// template's files the host may have changed some since, by apt-get in a chroot. Safe for several
/// threads at once.
class ProgramFinder {
  public:
    /// `runtime`: the folder of the sockets.
    ProgramFinder(const std::string& state, const std::string& workspace,
                  const std::string& runtime);

    /// Which no sandbox may see.
    [[nodiscard]] const std::vector<OwnFolder>& own() const noexcept { return own_; }

    /// Those of a sandbox with this template, or without one, and with these mounts. Throws
    /// Error(sandbox_unavailable) where the template is none, or may not be used as one.
    [[nodiscard]] std::shared_ptr<Programs> find(const std::string& template_directory,
                                                 const std::vector<sandbox::Mount>& mounts);

  private:
    const std::vector<OwnFolder> own_;
    const Private hidden_;
    const std::shared_ptr<Programs> host_;
    std::mutex mutex_;
    std::shared_ptr<Programs> latest_; ///< guarded by mutex_; of a template
};

} // namespace berth::local
