#include "sandbox/local/own_folders.hpp"

#include "sandbox/base/real_path.hpp"

#include <cstdlib>
#include <utility>

#include <unistd.h>

namespace berth::local {

std::vector<OwnFolder> own_folders(const std::string& state, const std::string& workspace)
{
    std::vector<OwnFolder> found{{state, "--state-dir"}};
    if (!workspace.empty()) {
        found.push_back({workspace, "--workspace"});
    }
    if (::geteuid() == 0) {
        found.push_back({"/run/berth", ""});
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the server changes no environment after its start
    if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime && runtime[0] == '/') {
        found.push_back({std::string(runtime) + "/berth", ""});
    }
    return found;
}

std::string home_folder()
{
    // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
    const char* home = std::getenv("HOME");
    return home != nullptr && home[0] == '/' ? home : "";
}

std::string real_place(const std::string& path)
{
    if (auto real = real_path(path)) {
        return std::move(*real);
    }
    const auto slash = path.rfind('/');
    if (slash == std::string::npos || path == "/") {
        return path;
    }
    const auto parent = real_place(slash == 0 ? "/" : path.substr(0, slash));
    return (parent == "/" ? "" : parent) + path.substr(slash);
}

} // namespace berth::local
