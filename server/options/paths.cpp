#include "server/options/paths.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <pwd.h>
#include <unistd.h>

namespace berth::server {
namespace {

namespace fs = std::filesystem;

/// A relative `$HOME` is none, as the XDG specification has it of its own variables: where sessions
/// are kept would depend on the directory that berth is started in.
std::string home_directory(const Environment& environment)
{
    if (const auto home = environment("HOME"); home && home->starts_with('/')) {
        return *home;
    }
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
    return found != nullptr ? found->pw_dir : "/";
}

/// `$variable`, if absolute as the XDG specification demands, else `~/fallback`.
std::string xdg_directory(const Environment& environment, const std::string& variable,
                          const std::string& fallback)
{
    const auto value = environment(variable);
    if (value && value->starts_with('/')) {
        return *value;
    }
    return home_directory(environment) + '/' + fallback;
}

bool contains(const fs::path& outer, const fs::path& inner)
{
    const auto [at, rest] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
    return at == outer.end();
}

std::string mount_form()
{
    std::error_code error;
    const auto here = fs::current_path(error).string();
    return "A mount is HOST:TARGET[:ro|rw], e.g. " + (error ? "/srv/project" : here) +
           ":/home/user/project:rw. In a flag or variable a comma separates mounts; a path with a "
           "comma in it can be given in the file.";
}

[[noreturn]] void refuse(const std::string& text, const std::string& origin, const std::string& why,
                         const std::string& hint = mount_form())
{
    throw Error(ErrorCode::invalid_argument, "mount \"" + text + "\" (" + origin + "): " + why,
                hint);
}

} // namespace

std::string default_state_directory(const Environment& environment)
{
    if (::geteuid() == 0) {
        return "/var/lib/berth";
    }
    return xdg_directory(environment, "XDG_STATE_HOME", ".local/state") + "/berth";
}

std::vector<std::string> default_config_files(const Environment& environment)
{
    return {xdg_directory(environment, "XDG_CONFIG_HOME", ".config") + "/berth/config.toml",
            "/etc/berth/config.toml"};
}

std::string default_config_file(const Environment& environment)
{
    for (const auto& path : default_config_files(environment)) {
        if (::access(path.c_str(), F_OK) == 0) {
            return path;
        }
    }
    return {};
}

std::string user_name()
{
    return user_name(::geteuid());
}

std::string user_name(uid_t uid)
{
    constexpr std::size_t longest_entry = 64UL * 1024;
    std::vector<char> buffer(longest_entry);
    passwd entry{};
    passwd* found = nullptr;
    const int error = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
    // Who is taken for another for a moment has other sessions and another workspace in it.
    constexpr std::array<int, 5> absent{0, ENOENT, ESRCH, EBADF, EPERM};
    if (found == nullptr && std::ranges::find(absent, error) == absent.end()) {
        throw Error(Error(ErrorCode::sandbox_unavailable,
                          "the name of user " + std::to_string(uid) +
                              " cannot be looked up: " + std::generic_category().message(error),
                          "It is the principal: the users of this host (getent passwd) must be "
                          "known, or name the principal (--principal).")
                        .set_retryable(true));
    }
    return found != nullptr ? found->pw_name : "uid-" + std::to_string(uid);
}

std::string absolute_path(const std::string& path)
{
    std::error_code error;
    const auto absolute = fs::absolute(path, error);
    return error ? path : absolute.lexically_normal().string();
}

std::string as_component(std::string_view value)
{
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string coded;
    for (const char c : value) {
        if (plain.find(c) != std::string_view::npos && (c != '.' || !coded.empty())) {
            coded += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        coded += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
    return coded;
}

std::string key_tail(std::string_view key)
{
    constexpr std::size_t shown_key = 16;
    return '~' + std::string(key.substr(0, shown_key));
}

sandbox::Mount parse_mount(const std::string& text, const std::string& origin)
{
    std::string rest = text;
    sandbox::Mount mount;
    if (rest.ends_with(":rw") || rest.ends_with(":ro")) {
        mount.writable = rest.ends_with(":rw");
        rest.resize(rest.size() - 3);
    }
    const auto colon = rest.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        refuse(text, origin, "HOST or TARGET is missing");
    }
    mount.target = rest.substr(colon + 1);
    while (mount.target.size() > 1 && mount.target.ends_with('/')) {
        mount.target.pop_back();
    }
    if (rest.size() < text.size() && (mount.target == "rw" || mount.target == "ro")) {
        refuse(text, origin, "it has two modes, " + text.substr(colon + 1), "Give one, ro or rw.");
    }
    if (mount.target.find('/') == std::string::npos && rest.find(":/") < colon) {
        refuse(text, origin, "the mode is ro or rw, not \"" + mount.target + '"');
    }
    if (!mount.target.starts_with('/') || fs::path(mount.target).lexically_normal() == "/" ||
        ("/" + mount.target + "/").find("/../") != std::string::npos) {
        refuse(text, origin, "TARGET must be an absolute path below /, without \"..\"");
    }
    mount.source = absolute_path(rest.substr(0, colon));
    return mount;
}

std::string resolve_source(const sandbox::Mount& mount, const std::string& origin,
                           const std::string& state_directory)
{
    const auto text = mount.source + ':' + mount.target + (mount.writable ? ":rw" : "");
    std::error_code error;
    const auto source = fs::canonical(mount.source, error);
    if (error) {
        refuse(text, origin, mount.source + ": " + error.message(),
               error == std::errc::permission_denied
                   ? "Who runs berth may not enter a folder on the way."
               : mount.source.find("/~") != std::string::npos // behind where berth was started
                   ? "~ stands for a home only where a shell reads it: give HOST as a whole path."
                   : "HOST is a folder or a file of this host that is there already.");
    }
    const auto state = fs::weakly_canonical(state_directory, error);
    if (contains(source, state) || contains(state, source)) {
        refuse(text, origin, "it contains, or lies in, the state directory " + state.string(),
               "A sandbox could read the secrets of all others there. Mount " +
                   (source == "/" ? std::string("the folders below / that are wanted, one by one.")
                                  : "another folder, or move the state: --state-dir."));
    }
    return source.string();
}

namespace {

[[noreturn]] void throw_no_template(const std::string& given, const std::string& origin,
                                    const std::string& why, const std::string& hint)
{
    throw Error(ErrorCode::invalid_argument,
                "template \"" + visible(given) + "\" (" + origin + "): " + why, hint);
}

} // namespace

std::string resolve_template(const std::string& given, const std::string& origin)
{
    const auto refuse_template = [&](const std::string& why, const std::string& hint) {
        throw_no_template(given, origin, why, hint);
    };
    if (!given.starts_with('/') || !utf8::is_valid(given)) {
        refuse_template("it is not an absolute path",
                        "A template is a folder of this host that holds a root file system, e.g. "
                        "/srv/templates/debian.");
    }
    std::error_code error;
    const auto folder = fs::canonical(given, error);
    if (error) {
        refuse_template(error.message(),
                        error == std::errc::permission_denied
                            ? "Who runs berth may not enter a folder on the way."
                            : "It is a folder of this host that is there already, made e.g. with "
                              "debootstrap (docs/configuration.md, \"Templates\").");
    }
    if (!fs::is_directory(folder, error)) {
        refuse_template("it is not a folder",
                        "Of an archive or an image unpack it, and name the folder.");
    }
    return folder.string();
}

void require_template_name(const std::string& given, const std::string& origin)
{
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-_.:/";
    constexpr std::size_t longest = 256;
    if (given.starts_with('/') || given.size() > longest ||
        given.find_first_not_of(allowed) != std::string::npos) {
        throw_no_template(given, origin, "it is not the name of a template of E2B's",
                          "On the backend e2b a template is one of E2B's, by its name or id, e.g. "
                          "base; a folder of this host is one for --backend local.");
    }
}

} // namespace berth::server
