#include "server/options/out_of_reach.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <system_error>

namespace berth::server {
namespace {

namespace fs = std::filesystem;

/// As the kernel, which follows no more on one way.
constexpr int most_links = 40;

/// Whether a sandbox with that mount could put another thing in the place of `entry`: a folder that
/// is mounted is none that it could replace, a file is.
bool can_replace(const sandbox::Mount& mount, const fs::path& entry, bool is_last)
{
    if (!mount.writable) {
        return false;
    }
    const fs::path source(mount.source);
    if (source == entry) {
        return is_last;
    }
    const auto [end, other] =
        std::mismatch(source.begin(), source.end(), entry.begin(), entry.end());
    return end == source.end();
}

} // namespace

std::string writable_part(const std::string& path, const std::vector<sandbox::Mount>& mounts)
{
    std::error_code relative;
    std::deque<std::string> rest;
    // Not shortened: where "a/.." leads is for whoever can put a link in the place of a to say.
    for (const auto& each : fs::absolute(path, relative).relative_path()) {
        rest.push_back(each.string());
    }
    fs::path at = "/";
    for (int links = 0; !rest.empty();) {
        const auto name = rest.front();
        rest.pop_front();
        if (name.empty() || name == ".") {
            continue;
        }
        if (name == "..") {
            at = at.parent_path();
            continue;
        }
        const auto entry = at / name;
        if (std::ranges::any_of(mounts, [&](const sandbox::Mount& mount) {
                return can_replace(mount, entry, rest.empty());
            })) {
            return entry.string();
        }
        std::error_code error;
        const auto target = fs::read_symlink(entry, error);
        if (error || ++links > most_links) {
            at = entry;
            continue;
        }
        at = target.is_absolute() ? fs::path("/") : at;
        const auto parts = target.relative_path();
        rest.insert(rest.begin(), parts.begin(), parts.end());
    }
    return {};
}

void require_out_of_reach(const std::vector<std::string>& settings,
                          const std::vector<std::string>& secrets,
                          const std::vector<sandbox::Mount>& mounts)
{
    for (const auto& file : settings) {
        if (const auto part = writable_part(file, mounts); !part.empty()) {
            throw Error(ErrorCode::invalid_argument,
                        "the settings file " + visible(file) + " is within reach of the sandbox: " +
                            visible(part) + " lies in a writable mount",
                        "Commands could give themselves folders, secrets and the network of this "
                        "host with it. Mount the folder read-only, or keep the file elsewhere: "
                        "--config FILE, BERTH_CONFIG.");
        }
    }
    for (const auto& file : secrets) {
        if (const auto part = writable_part(file, mounts); !part.empty()) {
            throw Error(ErrorCode::invalid_argument,
                        "secret: the file " + visible(file) + " is within reach of the sandbox: " +
                            visible(part) + " lies in a writable mount",
                        "A command could put a link there, and be given any file that this server "
                        "may read. Mount the folder read-only, or keep the secret elsewhere.");
        }
    }
}

} // namespace berth::server
