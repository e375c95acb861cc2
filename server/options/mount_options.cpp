#include "server/options/mount_options.hpp"

#include "sandbox/base/error.hpp"
#include "server/options/mount_roots.hpp"
#include "server/options/paths.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace berth::server {
namespace {

/// The folder that a session has for its work where nobody has mounted one.
void add_workspace(const Layers& layers, const Given& given, const session::SessionId& id,
                   const std::string& state_directory, const MountRoots& roots,
                   MountOptions& options)
{
    const auto& raw = layers.raw("default_workspace");
    auto& mounts = options.mounts;
    const auto text = layers.text("default_workspace");
    const bool is_taken =
        std::any_of(mounts.begin(), mounts.end(),
                    [](const sandbox::Mount& mount) { return mount.target == workspace_target; });
    const auto locked_by = layers.locked_by("default_workspace");
    if (!text.empty() && is_taken && !locked_by.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    std::string("mount (") + layers.raw("mount").origin + "): " + workspace_target +
                        " is the place of default_workspace, which " + locked_by + " has locked",
                    "Mount the folder elsewhere, or have default_workspace unlocked.");
    }
    if (text.empty() || is_taken) {
        return;
    }
    // Who lists, ends or clears up sessions, or tells of settings, names none as his own.
    if (id.session.empty() && (given.only_looks || given.shows) &&
        text.find("{session}") != std::string::npos) {
        if (given.shows) { // what does not need the name is checked
            const session::SessionId any{id.principal, "any", {}};
            (void)roots.workspace(raw, any, layers.profile(), MountRoots::Missing::is_left);
        }
        return;
    }
    const bool writable = layers.choice("mount_mode") != "ro";
    // The commands of root's sessions have other uids, which a mount that is not writable does not
    // map to that of the folder.
    const auto missing = !writable && ::geteuid() == 0 ? MountRoots::Missing::is_made_open
                                                       : MountRoots::Missing::is_made;
    sandbox::Mount mount{
        .source = roots.workspace(raw, id, layers.profile(), MountRoots::Missing::is_left),
        .target = workspace_target,
        .writable = writable};
    if (!given.only_looks) {
        // The place it leads to is not taken: a session that may write above could have put a link
        // there since it was made, to a folder outside of the roots or of somebody else. The
        // launcher follows none on the way to the source as it stands.
        options.make_workspace = [roots, raw, id, profile = layers.profile(), missing, mount,
                                  state_directory] {
            (void)roots.workspace(raw, id, profile, missing);
            (void)resolve_source(mount, raw.origin, state_directory);
        };
        if (!given.makes_nothing_yet) {
            options.make_workspace();
        }
    }
    mounts.push_back(std::move(mount));
}

} // namespace

MountOptions make_mounts(const Layers& layers, const Given& given, const session::SessionId& id,
                         const std::string& state_directory)
{
    const MountRoots roots(layers.raw("allowed_mount_roots"));
    const auto& raw = layers.raw("mount");
    const bool only_read = layers.choice("mount_mode") == "ro"; // see excess() too
    MountOptions options;
    for (const auto& text : raw.items) {
        auto mount = parse_mount(text, raw.origin);
        if (only_read && mount.writable) {
            throw Error(ErrorCode::invalid_argument,
                        "mount \"" + text + "\" (" + raw.origin +
                            ") is writable, and mount_mode is \"ro\" (" +
                            layers.raw("mount_mode").origin + ")",
                        "Leave its :rw out, or take another profile or mount_mode.");
        }
        if (!given.only_looks) {
            mount.source = resolve_source(mount, raw.origin, state_directory);
            roots.require(mount.source, raw.origin);
        }
        options.mounts.push_back(std::move(mount));
    }
    add_workspace(layers, given, id, state_directory, roots, options);
    return options;
}

} // namespace berth::server
