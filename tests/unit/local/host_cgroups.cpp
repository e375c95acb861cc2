#include "tests/unit/local/host_cgroups.hpp"

#include "tests/unit/local/machine_fixture.hpp"

#include <functional>
#include <sstream>

#include <unistd.h>

namespace berth::local::test {
namespace {

/// Whether a mount of this type, with its place and options, is such that `fits`.
bool any_mount(const std::string& wanted,
               const std::function<bool(const std::string&, const std::string&)>& fits)
{
    std::istringstream lines(read_text("/proc/mounts"));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string source;
        std::string place;
        std::string type;
        std::string options;
        words >> source >> place >> type >> options;
        if (type == wanted && fits(place, options)) {
            return true;
        }
    }
    return false;
}

bool has(const std::string& list, const std::string& word)
{
    return (" " + list + " ").find(" " + word + " ") != std::string::npos;
}

std::string words_of(std::string list)
{
    for (char& byte : list) {
        byte = byte == ',' || byte == '\n' ? ' ' : byte;
    }
    return list;
}

bool is_writable(const std::string& place)
{
    return ::access(place.c_str(), W_OK) == 0;
}

} // namespace

bool host_limits(const std::string& controller)
{
    const auto v2 = [](const std::string& place, const std::string&) {
        const auto controllers = words_of(read_text(place + "/cgroup.controllers"));
        return is_writable(place) && has(controllers, "memory") && has(controllers, "pids") &&
               has(controllers, "cpu");
    };
    const auto v1 = [&](const std::string& place, const std::string& options) {
        return is_writable(place) && has(words_of(options), controller);
    };
    return is_root() && (any_mount("cgroup2", v2) || any_mount("cgroup", v1));
}

bool host_has_cgroup2()
{
    return is_root() && any_mount("cgroup2", [](const std::string& place, const std::string&) {
               return is_writable(place);
           });
}

bool host_delegates_by_namespace()
{
    return any_mount("cgroup2", [](const std::string&, const std::string& options) {
        return has(words_of(options), "nsdelegate");
    });
}

} // namespace berth::local::test
