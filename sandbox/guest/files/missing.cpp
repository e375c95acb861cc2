#include "sandbox/guest/files/missing.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/spelling.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/guest/paths.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace berth::guest {
namespace {

/// A directory with more entries is not searched to its end for a hint.
constexpr int max_candidates = 20'000;
/// Nor one of long names: pairs of bytes that are compared, in some 0.2 s.
constexpr std::size_t max_compared = 40'000'000;

/// As many as leave a file's name recognisable: an ending like .txt says nothing, and of a short
/// name most must be there.
std::size_t most_slips_in(std::string_view name)
{
    const auto dot = name.rfind('.');
    const std::size_t stem = dot == name.npos || dot == 0 ? name.size() : dot;
    return std::min(most_slips(name.size()), (stem + 1) / 3);
}

/// The entry of the directory whose name is nearest to `name`, empty when none is near.
std::string nearest_entry(int directory, const std::string& name)
{
    const auto stream = open_stream(directory);
    std::size_t best = most_slips_in(name) + 1;
    std::string nearest;
    std::size_t compared = 0;
    for (int i = 0; stream && i < max_candidates; ++i) {
        const dirent* entry = ::readdir(stream.get());
        if (entry == nullptr) {
            break;
        }
        const std::string candidate = entry->d_name;
        const std::size_t longer = std::max(candidate.size(), name.size());
        const std::size_t shorter = std::min(candidate.size(), name.size());
        if (candidate == "." || candidate == ".." || longer - shorter >= best) {
            continue;
        }
        compared += name.size() * candidate.size();
        if (compared > max_compared) {
            break;
        }
        const std::size_t steps = slips_between(name, candidate);
        if (steps < best || (steps == best && !nearest.empty() && candidate < nearest)) {
            best = steps;
            nearest = candidate;
        }
    }
    return nearest;
}

struct Existing {
    UniqueFd directory;
    std::string path;    ///< real
    std::string missing; ///< the first component that is not there
    bool is_last = true; ///< nothing follows `missing`
};

/// The deepest directory on the way to `path` that is there.
Existing deepest_existing(const std::string& path)
{
    Existing found;
    std::string_view rest = path;
    while (rest.ends_with('/')) {
        rest.remove_suffix(1);
    }
    while (!rest.empty()) {
        const auto slash = rest.rfind('/');
        found.missing = rest.substr(slash + 1);
        rest = rest.substr(0, slash);
        found.directory.reset(open_without_magic(AT_FDCWD, rest.empty() ? "/" : std::string(rest),
                                                 O_PATH | O_DIRECTORY));
        if (found.directory) {
            found.path = path_of(found.directory.get());
            return found;
        }
        found.is_last = false;
    }
    return found;
}

/// Where a directory on the way may not be entered, that one is named: what is below it may not
/// even be there.
[[noreturn]] void throw_denied(int error, const std::string& path, const CallContext& context)
{
    const Existing found = deepest_existing(path);
    if (found.directory && ::faccessat(AT_FDCWD, descriptor_path(found.directory.get()).c_str(),
                                       X_OK, AT_EACCESS) != 0) {
        require_readable(found.path, context);
        throw Error(ErrorCode::permission_denied,
                    "open " + visible(path) + ": the folder " + visible(found.path) +
                        " may not be entered",
                    "look at its mode and owner with ls -ld in bash_exec; chmod u+x it if it is "
                    "yours");
    }
    throw errno_error(error, "open " + visible(path),
                      "look at its mode and owner with ls -l in bash_exec; in a mount those of the "
                      "host hold");
}

/// `base`: the path of the directory, with which those of its entries begin.
std::string hint_of_what_is_there(const Existing& found, const std::string& base)
{
    std::string hint;
    if (!found.is_last) {
        hint = "the directory " + visible(base + "/" + found.missing) + " does not exist";
    }
    const std::string nearest = nearest_entry(found.directory.get(), found.missing);
    if (!nearest.empty()) {
        hint +=
            (hint.empty() ? "" : "; ") + ("did you mean " + visible(base + "/" + nearest)) + "?";
    } else if (hint.empty()) {
        hint = "list the directory " + visible(found.path) + " to see what is there";
    }
    return hint;
}

/// Of an entry that is there, and that something is to be below.
[[noreturn]] void throw_no_directory(const Existing& found, const std::string& entry)
{
    struct stat status = {};
    if (::fstatat(found.directory.get(), found.missing.c_str(), &status, 0) != 0) {
        status.st_mode = S_IFREG;
    }
    throw Error(ErrorCode::invalid_path,
                visible(entry) + " is " + type_in_words(status) + ", not a directory",
                S_ISREG(status.st_mode) ? "name the file itself, or a path that is not below it"
                                        : "name a path that is not below it");
}

} // namespace

void throw_open_error(int error, const std::string& path, const CallContext& context)
{
    const std::string shown = visible(path);
    if (error == ELOOP) {
        throw Error(ErrorCode::invalid_path,
                    shown + " leads through too many symbolic links, or "
                            "through one of /proc/<pid> that is refused",
                    "name the file itself");
    }
    if (error == ENAMETOOLONG) {
        throw Error(ErrorCode::invalid_path, shown + " has a name of more than 255 bytes",
                    "shorten it");
    }
    if (error == EACCES || error == EPERM) {
        throw_denied(error, path, context);
    }
    if (error != ENOENT && error != ENOTDIR) {
        throw errno_error(error, "open " + shown);
    }
    const Existing found = deepest_existing(path);
    if (!found.directory) {
        throw errno_error(
            error, "open " + shown,
            "no directory on the way to it can be opened; end the session to have a new machine");
    }
    const std::string base = found.path == "/" ? "" : found.path;
    // Behind a link the name that was given says nothing of where that is.
    require_readable(found.path, context,
                     path.starts_with(base + "/") ? path : base + "/" + found.missing);
    const UniqueFd entry(
        ::openat(found.directory.get(), found.missing.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (entry && error == ENOTDIR) {
        throw_no_directory(found, base + "/" + found.missing);
    }
    const std::string hint = entry ? visible(base + "/" + found.missing) +
                                         " is a symbolic link to something that does not exist"
                                   : hint_of_what_is_there(found, base);
    throw Error(Error(ErrorCode::not_found, shown + " does not exist", hint)
                    .with_detail("cwd", visible(context.session.cwd())));
}

} // namespace berth::guest
