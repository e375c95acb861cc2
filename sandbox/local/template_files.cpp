#include "sandbox/local/template_files.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* shell = "/bin/bash";
// Each is an entry of the root's own small file system, which has room for 4096.
constexpr std::size_t most_entries = 2000;

// At the top: the sandbox's own, where mounts go, or for the kernel. /etc and /var are shown in
// part.
constexpr std::array<std::string_view, 14> kept_names{"boot",  "dev", "etc",  "home", "lost+found",
                                                      "media", "mnt", "proc", "root", "run",
                                                      "srv",   "sys", "tmp",  "var"};
constexpr std::array<std::string_view, 3> linked{"bin", "opt", "sbin"}; // and lib*

// In /etc, exactly or up to a '*' at the end: written by berth, of users that do not exist inside,
// or secret. An ordinary user's template belongs to that user, as does what runs in the sandbox: no
// mode would keep the hashes of passwords from it.
constexpr std::array<std::string_view, 24> hidden_in_etc{
    "passwd",           "passwd-",        "group",       "group-",
    "shadow*",          "gshadow*",       "subuid*",     "subgid*",
    "sudoers*",         "hosts",          "hostname",    "resolv.conf",
    "localtime",        "nsswitch.conf",  "machine-id",  "mtab",
    "gitconfig",        "shells",         "berth",       "ssl/private",
    "security/opasswd", "ssh/ssh_host_*", "krb5.keytab", "pki/tls/private"};

bool is_own(std::string_view name)
{
    return std::find(kept_names.begin(), kept_names.end(), name) != kept_names.end();
}

bool is_linked(std::string_view name)
{
    return name.starts_with("lib") || std::find(linked.begin(), linked.end(), name) != linked.end();
}

bool is_hidden(std::string_view name)
{
    return std::any_of(hidden_in_etc.begin(), hidden_in_etc.end(), [&](std::string_view pattern) {
        return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                      : name == pattern;
    });
}

/// Whether something below the folder is hidden, so that it cannot be shown in one piece.
bool is_partly_hidden(const std::string& name)
{
    return std::any_of(hidden_in_etc.begin(), hidden_in_etc.end(),
                       [&](std::string_view pattern) { return pattern.starts_with(name + '/'); });
}

UniqueFd open_part(int directory, const std::string& path, std::uint64_t flags,
                   std::uint64_t resolve)
{
    open_how how{};
    how.flags = flags | O_CLOEXEC;
    how.resolve = resolve | RESOLVE_NO_MAGICLINKS;
    return UniqueFd(sys::openat2(directory, path.c_str(), how));
}

UniqueFd open_folder(int directory, const std::string& path)
{
    return open_part(directory, path, O_RDONLY | O_DIRECTORY,
                     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

std::string link_target(int directory, const std::string& name)
{
    std::string target(4096, '\0');
    const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    target.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return target;
}

/// Of a program: class, byte order and machine, by which the kernel knows whether it can run it
/// (elf(5)); empty for a script, and for what cannot be read.
std::string processor_of(const UniqueFd& file)
{
    constexpr std::size_t size = 20; // e_machine is at 18, in two bytes
    std::string head(size, '\0');
    if (!file || ::pread(file.get(), head.data(), size, 0) != static_cast<ssize_t>(size) ||
        !head.starts_with("\177ELF")) {
        return {};
    }
    return head.substr(4, 2) + head.substr(18, 2);
}

/// Gathers what is shown.
class Finder {
  public:
    explicit Finder(const std::string& directory)
        : directory_(directory),
          root_(open_part(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS))
    {
        if (!root_) {
            throw refusal(std::strerror(errno), "it must be a folder that who runs berth may list");
        }
    }

    [[nodiscard]] HostFiles find()
    {
        for (const auto& name : names(root_)) {
            add_top(name);
        }
        for (const char* const folder : {"var/lib", "var/cache"}) {
            if (open_folder(root_.get(), folder)) {
                bind(folder);
            }
        }
        add_etc("etc");
        require_shell();
        return std::move(found_);
    }

  private:
    [[nodiscard]] Error refusal(const std::string& why, const std::string& hint) const
    {
        return {ErrorCode::invalid_argument, "template " + directory_ + ": " + why, hint};
    }

    /// In order, so that one template is always the same.
    [[nodiscard]] static std::vector<std::string> names(const UniqueFd& folder)
    {
        auto found = directory_names(folder.get());
        std::sort(found.begin(), found.end());
        return found;
    }

    /// What is optional may be gone by the time that it is mounted.
    void bind(const std::string& path, bool optional = false)
    {
        found_.binds.push_back(
            {.source = directory_ + '/' + path, .target = '/' + path, .optional = optional});
    }

    void add_top(const std::string& name)
    {
        struct stat status{};
        if (is_own(name) ||
            ::fstatat(root_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
            return;
        }
        if (S_ISDIR(status.st_mode)) {
            bind(name);
        } else if (S_ISLNK(status.st_mode) && is_linked(name)) {
            found_.links.push_back({'/' + name, link_target(root_.get(), name)});
        }
    }

    /// `path`: of /etc or a folder in it, without a slash before it.
    void add_etc(const std::string& path)
    {
        const UniqueFd folder = open_folder(root_.get(), path);
        if (!folder) {
            return;
        }
        for (const auto& name : names(folder)) {
            std::string entry = path;
            entry.append("/").append(name);
            const std::string in_etc = entry.substr(std::strlen("etc/"));
            struct stat status{};
            if (is_hidden(in_etc) ||
                ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
                if (in_etc == "localtime") {
                    found_.localtime_target = link_target(folder.get(), name);
                }
                continue;
            }
            if (S_ISLNK(status.st_mode)) {
                found_.links.push_back({'/' + entry, link_target(folder.get(), name)});
            } else if (S_ISDIR(status.st_mode) && is_partly_hidden(in_etc)) {
                add_etc(entry);
            } else if (S_ISDIR(status.st_mode) || S_ISREG(status.st_mode)) {
                bind(entry, /*optional=*/true); // apt-get replaces files there
            }
        }
        if (found_.binds.size() + found_.links.size() > most_entries) {
            throw refusal("there are more than " + std::to_string(most_entries) +
                              " entries at its top and in its /etc",
                          "take out what no program needs there");
        }
    }

    /// Where it is in the end, which may be a link's target, must be shown too.
    void require_shell() const
    {
        const auto file = open_part(root_.get(), shell, O_PATH, RESOLVE_IN_ROOT);
        struct stat status{};
        if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
            throw refusal(std::string(shell) + " is missing in it, and no command can run without",
                          "make it with bash: Debian's package bash, apk add bash ...");
        }
        // As root a session has a uid of its own.
        const bool runs = ::geteuid() == 0
                              ? (status.st_mode & S_IXOTH) != 0
                              : ::faccessat(file.get(), "", X_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;
        if (!runs || !is_shown(file)) {
            throw refusal(std::string(shell) + " cannot be run by the session's user",
                          "it must be a file below /bin or /usr with the mode 755");
        }
        const auto processor =
            processor_of(open_part(root_.get(), shell, O_RDONLY | O_NONBLOCK, RESOLVE_IN_ROOT));
        const auto own = processor_of(UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)));
        if (!processor.empty() && !own.empty() && processor != own) {
            throw refusal(std::string(shell) + " is a program for another kind of processor",
                          "make the template for this host's: debootstrap --arch, docker pull "
                          "--platform");
        }
    }

    [[nodiscard]] bool is_shown(const UniqueFd& file) const
    {
        const auto path = link_target(AT_FDCWD, "/proc/self/fd/" + std::to_string(file.get()));
        return std::any_of(found_.binds.begin(), found_.binds.end(),
                           [&](const Bind& bind) { return path.starts_with(bind.source + '/'); });
    }

    const std::string directory_;
    const UniqueFd root_;
    HostFiles found_;
};

} // namespace

HostFiles find_template_files(const std::string& directory)
{
    auto found = Finder(directory).find();
    add_devices("/", found.binds);
    return found;
}

} // namespace berth::local
