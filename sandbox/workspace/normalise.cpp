#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/workspace/store.hpp"

#include <algorithm>

namespace berth::workspace {
namespace {

// The kernel's own limits of a name and a path; the depth keeps a walk's open descriptors few.
constexpr std::size_t max_component = 255;
constexpr std::size_t max_path = 4095;
constexpr int max_depth = 100;

[[noreturn]] void refuse(std::string_view path, const std::string& why)
{
    constexpr std::size_t shown = 200;
    throw Error(ErrorCode::invalid_path,
                "workspace path '" + visible_beginning(path, shown) + "': " + why,
                "use a path like /reports/result.csv; '/' is the workspace's root");
}

} // namespace

std::string normalise(std::string_view path)
{
    if (path.empty()) {
        refuse(path, "it is empty");
    }
    if (path.find('\0') != std::string_view::npos) {
        refuse(path, "it contains a NUL character");
    }
    std::string result;
    int depth = 0;
    for (std::size_t start = 0; start < path.size();) {
        const std::size_t end = std::min(path.find('/', start), path.size());
        const std::string_view component = path.substr(start, end - start);
        start = end + 1;
        if (component.empty() || component == ".") {
            continue;
        }
        if (component == "..") {
            // Not resolved but refused: whoever writes it means a place that is not here.
            refuse(path, "'..' is not allowed");
        }
        if (component.size() > max_component) {
            refuse(path, "a component is longer than 255 bytes");
        }
        if (++depth > max_depth) {
            refuse(path, "it has more than 100 components");
        }
        result.append("/").append(component);
    }
    if (result.size() > max_path) {
        refuse(path, "it is longer than 4095 bytes");
    }
    return result.empty() ? "/" : result;
}

} // namespace berth::workspace
