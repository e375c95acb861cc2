#include "sandbox/local/host_files.hpp"

#include "sandbox/base/io.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <functional>
#include <set>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

// Names in /etc that programs below /usr read, exactly or up to a '*' at the end. What holds
// passwords, keys, users or the machine's identity is not here and must never be.
constexpr std::array etc_names{
    "alternatives",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates*",
    "pki/tls/certs",
    "pki/ca-trust",
    "ld.so.*",
    "mime.types",
    "protocols",
    "services",
    "terminfo",
    "java-*",
    "maven",
    "fonts",
    "groff",
    "python2*",
    "python3*",
    "perl",
    "vim",
    "emacs",
    "php",
    "R",
    "ghc",
    "ImageMagick-*",
    "texmf",
    "locale.alias",
    "xml",
    "sgml",
    "crypto-policies",
    "lua",
    "gnutls",
};
constexpr std::array root_links{"bin", "sbin", "lib", "lib32", "lib64", "libx32"};
// One level of these is looked at for links into /etc; a walk of all of /usr takes a second.
constexpr std::array link_folders{"usr/lib", "usr/share", "usr/lib/jvm", "usr/local/lib"};

void for_each_entry(const std::string& path,
                    const std::function<void(const std::string& name, unsigned char type)>& visit)
{
    DIR* stream = ::opendir(path.c_str());
    if (stream == nullptr) {
        return;
    }
    while (const dirent* entry = ::readdir(stream)) {
        if (entry->d_name[0] != '.') {
            visit(entry->d_name, entry->d_type);
        }
    }
    ::closedir(stream);
}

/// As root everything could be bound; the sandbox shall only have what any user of the host may
/// read.
bool world_readable(const std::string& path)
{
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
        return false;
    }
    if (S_ISDIR(status.st_mode)) {
        return (status.st_mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH);
    }
    return S_ISREG(status.st_mode) && (status.st_mode & S_IROTH) != 0;
}

std::string link_target(const std::string& path)
{
    std::string target(4096, '\0');
    const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
    target.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return target;
}

void expand(const std::string& root, std::string_view name, std::set<std::string>& found)
{
    if (!name.ends_with('*')) {
        found.emplace(name);
        return;
    }
    const auto prefix = name.substr(0, name.size() - 1);
    for_each_entry(root + "etc", [&](const std::string& entry, unsigned char /*type*/) {
        if (entry.starts_with(prefix)) {
            found.insert(entry);
        }
    });
}

/// Adds the entries of /etc that links in `folder` lead to.
void follow_links(const std::string& root, const std::string& folder, std::set<std::string>& found)
{
    constexpr std::string_view etc = "/etc/";
    for_each_entry(root + folder, [&](const std::string& entry, unsigned char type) {
        if (type != DT_LNK) {
            return;
        }
        const std::string target = link_target(root + folder + "/" + entry);
        if (!target.starts_with(etc) || target.find("..") != std::string::npos) {
            return;
        }
        const std::string name = target.substr(etc.size());
        // ssl/private is readable for nobody, but its name need not be known inside either.
        if (!name.empty() && !name.starts_with("ssl/private") &&
            !name.starts_with("alternatives/")) {
            found.insert(name);
        }
    });
}

/// Whether a parent of `name` is in the set: one bind shows both.
bool covered(const std::set<std::string>& names, const std::string& name)
{
    for (auto slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
        if (names.contains(name.substr(0, slash))) {
            return true;
        }
    }
    return false;
}

void add_etc(const std::string& root, std::vector<Bind>& binds)
{
    // Written by berth, never the host's.
    static constexpr std::array own{"passwd",     "group",         "shadow",      "gshadow",
                                    "hosts",      "nsswitch.conf", "resolv.conf", "hostname",
                                    "machine-id", "gitconfig",     "localtime",   "mtab",
                                    "os-release", "shells",        "sudoers",     "environment"};
    std::set<std::string> names;
    for (const std::string_view name : etc_names) {
        expand(root, name, names);
    }
    for (const char* folder : link_folders) {
        follow_links(root, folder, names);
    }
    const std::string etc = root + "etc/";
    for (const auto& name : names) {
        const std::string path = etc + name;
        const bool is_own = std::find(own.begin(), own.end(), name) != own.end();
        if (!is_own && !covered(names, name) && world_readable(path)) {
            binds.push_back(
                {.source = path, .target = "/etc/" + name, .follow_links = true, .optional = true});
        }
    }
}

} // namespace

void add_devices(const std::string& root, std::vector<Bind>& binds)
{
    for (const char* name : device_names) {
        binds.push_back({.source = root + "dev/" + name,
                         .target = std::string("/dev/") + name,
                         .follow_links = true,
                         .devices = true});
    }
}

HostFiles find_host_files(const std::string& root)
{
    HostFiles found;
    found.binds.push_back({.source = root + "usr", .target = "/usr", .follow_links = true});
    found.binds.push_back(
        {.source = root + "opt", .target = "/opt", .follow_links = true, .optional = true});
    for (const char* name : root_links) {
        const std::string path = root + name;
        struct stat status{};
        if (::lstat(path.c_str(), &status) != 0) {
            continue;
        }
        if (S_ISLNK(status.st_mode)) {
            found.links.push_back({std::string("/") + name, link_target(path)});
        } else if (S_ISDIR(status.st_mode)) {
            found.binds.push_back(
                {.source = path, .target = std::string("/") + name, .follow_links = true});
        }
    }
    add_devices(root, found.binds);
    add_etc(root, found.binds);
    found.localtime_target = link_target(root + "etc/localtime");
    return found;
}

std::string resolv_conf_for(sandbox::Network network)
{
    if (network == sandbox::Network::filtered) {
        // There names are refused, and told (protocol/filtered_network.hpp): nothing to wait for.
        return "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
    }
    if (network != sandbox::Network::host) {
        return {};
    }
    try {
        return read_file_limited(AT_FDCWD, "/etc/resolv.conf", 64UL * 1024);
    } catch (const std::exception&) {
        return {};
    }
}

} // namespace berth::local
