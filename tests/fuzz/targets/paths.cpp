// Paths as a caller writes them, in the workspace and in the sandbox.

#include "sandbox/guest/paths.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/workspace/store.hpp"
#include "sandbox/workspace/tree.hpp"
#include "tests/fuzz/guest_document.hpp"

#include <string>

namespace {

using berth::Error;
using berth::ErrorCode;
using berth::fuzz::require;

void in_workspace(std::string_view path)
try {
    const auto normal = berth::workspace::normalise(path);
    require(normal.starts_with('/') && berth::workspace::normalise(normal) == normal,
            "a normal path is one");
    require((normal + "/").find("/../") == std::string::npos &&
                normal.find("//") == std::string::npos,
            "it leads nowhere else");
    const auto parts = berth::workspace::split(normal);
    require((parts.folder == "/" ? "" : parts.folder) + "/" + parts.name == normal,
            "folder and name make the path");
} catch (const Error& error) {
    require(error.code() == ErrorCode::invalid_path, "the path is wrong");
}

void in_sandbox(std::string_view path)
try {
    const berth::fuzz::GuestContext context;
    const auto absolute = berth::guest::absolute_path(path, context.call);
    require(absolute.starts_with('/') && absolute.find('\0') == std::string::npos,
            "a path for the kernel");
    (void)berth::guest::is_own_process(absolute);
} catch (const Error& error) {
    require(error.code() == ErrorCode::invalid_path, "the path is wrong");
}

} // namespace

BERTH_FUZZ_TARGET(paths)
{
    in_workspace(input);
    in_sandbox(input);
    const auto shown = berth::visible(input);
    require(berth::utf8::is_valid(shown) && !berth::utf8::has_control(shown), "it can be shown");
}
