#include "server/options/mount_roots.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/is_in.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/visible.hpp"
#include "server/options/paths.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* roots_hint =
    "allowed_mount_roots, outside of the profiles, lists the folders below which it may be.";

[[noreturn]] void refuse_workspace(const RawValue& templ, const std::string& why,
                                   const std::string& hint)
{
    throw Error(
        ErrorCode::invalid_argument,
        "default_workspace = \"" + templ.items.front() + "\" (" + templ.origin + "): " + why, hint);
}

/// What stands for a variable in a name that has `beside` bytes more. What is too long for a file
/// system is cut, and told from others by a hash: `~` is in no coded value.
std::string coded(const RawValue& templ, std::string_view value, std::size_t beside)
{
    constexpr std::size_t hash_size = 32;
    auto name = as_component(value);
    if (name.size() + beside <= NAME_MAX) {
        return name;
    }
    if (beside + 1 + hash_size > NAME_MAX) {
        refuse_workspace(templ, "a name in it is too long for a folder",
                         "A name may have 255 bytes with what stands in braces: take less text "
                         "beside that.");
    }
    name.resize(NAME_MAX - beside - 1 - hash_size);
    return name + '~' + sha256_hex(value).substr(0, hash_size);
}

/// Of the name in `path` that has what is at `at`.
std::size_t name_size(const std::string& path, std::size_t at)
{
    const auto begin = path.rfind('/', at);
    const auto end = std::min(path.find('/', at), path.size());
    return end - (begin == std::string::npos ? 0 : begin + 1);
}

/// Of what a session.key of one's own makes of a name there may be several, which are told apart as
/// in the workspace (server/session_saver.cpp): one that could write to another's folder would be
/// no sandbox of its own.
std::string tail_of(const session::SessionId& id)
{
    return id.key.empty() ? std::string() : key_tail(session::key_hash(id));
}

struct Variable {
    std::string_view name;
    std::string_view value;
    std::string tail; ///< behind the coded value
};

std::string expanded(const RawValue& templ, const session::SessionId& id,
                     const std::string& profile)
{
    const std::array<Variable, 3> variables{{{"{principal}", id.principal, {}},
                                             {"{session}", id.session, tail_of(id)},
                                             {"{profile}", profile, {}}}};
    std::string path = templ.items.front();
    for (const auto& name : fs::path(path)) {
        const auto component = name.string();
        if (std::count(component.begin(), component.end(), '{') > 1) {
            // "a" with "b-c" would have the folder of "a-b" with "c".
            refuse_workspace(templ, visible(component) + " is one name made of two",
                             "Put a / between what stands in braces.");
        }
    }
    for (const auto& [name, value, tail] : variables) {
        for (auto at = path.find(name); at != std::string::npos; at = path.find(name, at)) {
            if (value.empty()) {
                refuse_workspace(templ, "there is no value for " + std::string(name),
                                 "Name the session (--session), or leave that out of the path.");
            }
            const auto beside = name_size(path, at) - name.size() + tail.size();
            const auto component = coded(templ, value, beside) + tail;
            path.replace(at, name.size(), component);
            at += component.size();
        }
    }
    if (path.find_first_of("{}") != std::string::npos) {
        refuse_workspace(templ, "only {principal}, {session} and {profile} can be in it",
                         "Take other braces out.");
    }
    return path;
}

/// Each folder on the way opened as what it is: a link that somebody put there would lead out. One
/// that is there already keeps its mode, which is its owner's to say.
bool make_below(const std::string& root, const fs::path& rest, bool open_to_all)
{
    constexpr mode_t readable = 0755;
    UniqueFd folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool made = false;
    for (const auto& name : rest) {
        if (folder && !name.empty() && name != ".") {
            folder = open_or_make_subdirectory(folder.get(), name.string(), &made);
        }
    }
    return folder && (!made || !open_to_all || ::fchmod(folder.get(), readable) == 0);
}

} // namespace

MountRoots::MountRoots(const RawValue& roots) : origin_(roots.origin)
{
    for (const auto& item : roots.items) {
        if (!item.starts_with('/')) {
            throw Error(ErrorCode::invalid_argument,
                        "allowed_mount_roots: \"" + item + "\" (" + roots.origin +
                            ") is not an absolute path",
                        "A root is a folder of this host, as /srv/projects.");
        }
        std::error_code error;
        const auto real = fs::weakly_canonical(item, error);
        auto root = (error ? fs::path(item) : real).lexically_normal().string();
        while (root.size() > 1 && root.ends_with('/')) {
            root.pop_back();
        }
        roots_.push_back(std::move(root));
    }
}

const std::string* MountRoots::root_of(const std::string& path) const
{
    const auto found = std::find_if(roots_.begin(), roots_.end(),
                                    [&](const std::string& root) { return is_in(path, root); });
    return found == roots_.end() ? nullptr : &*found;
}

void MountRoots::require(const std::string& source, const std::string& said,
                         const std::string& what) const
{
    if (roots_.empty()) {
        if (said.starts_with("profile ")) {
            throw Error(ErrorCode::invalid_argument,
                        what + ' ' + source + " (" + said +
                            "): profiles may mount nothing, since no allowed_mount_roots are given",
                        roots_hint);
        }
        return;
    }
    if (root_of(source) == nullptr) {
        throw Error(ErrorCode::invalid_argument,
                    what + ' ' + source + " (" + said + "): it is below none of " + joined(roots_) +
                        " (allowed_mount_roots, " + origin_ + ")",
                    "Take a folder below one of these, links followed; or add one there.");
    }
}

std::string MountRoots::workspace(const RawValue& templ, const session::SessionId& id,
                                  const std::string& profile, Missing missing) const
{
    const auto said = fs::path(expanded(templ, id, profile));
    auto path = said.lexically_normal(); // without doubled slashes
    if (!said.is_absolute() || path != said) {
        refuse_workspace(templ, "it is no absolute path without \".\" and \"..\"",
                         "Name a folder below one of allowed_mount_roots.");
    }
    if (!path.has_filename()) {
        path = path.parent_path(); // a slash at the end
    }
    const auto* const root = root_of(path.string());
    if (root == nullptr) {
        refuse_workspace(templ,
                         roots_.empty() ? "no allowed_mount_roots are given"
                                        : "it is below none of allowed_mount_roots (" + origin_ +
                                              "), written without symbolic links",
                         roots_hint);
    }
    if (missing != Missing::is_left &&
        !make_below(*root, path.lexically_relative(*root), missing == Missing::is_made_open)) {
        const std::string why = std::generic_category().message(errno);
        if (std::error_code error; !fs::exists(*root, error) && !error) {
            refuse_workspace(templ, "the root " + visible(*root) + " does not exist",
                             "Make that folder, which is of allowed_mount_roots (" + origin_ +
                                 "): berth makes only those below it.");
        }
        refuse_workspace(templ, "the folder " + visible(path.string()) + " cannot be made: " + why,
                         "Each folder below " + *root +
                             " must be one, not a link, that who runs berth may enter and write "
                             "to.");
    }
    return path.string();
}

} // namespace berth::server
