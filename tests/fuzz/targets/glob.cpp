// A glob and paths: PATTERN ==== a path on each line.

#include "sandbox/base/error.hpp"
#include "sandbox/base/glob_pattern.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <string_view>

namespace {

using berth::GlobPattern;
using berth::fuzz::require;

void match(const GlobPattern& glob, std::string_view path)
{
    if (path.empty() || path.front() == '/' || path.back() == '/' ||
        path.find("//") != std::string_view::npos) {
        return; // no path of a walk
    }
    const bool matches = glob.matches(path);
    require(!matches || glob.last_byte() < 0 ||
                static_cast<unsigned char>(path.back()) == glob.last_byte(),
            "a match ends with the byte that all end with");
    for (auto slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/', slash + 1)) {
        require(glob.may_match_below(path.substr(0, slash)) || !matches,
                "what matches is not below a directory that is left out");
    }
}

} // namespace

BERTH_FUZZ_TARGET(glob)
{
    const auto [pattern, paths] = berth::fuzz::parts_of<2>(input);
    for (const bool braces : {true, false}) {
        for (const bool anchored : {true, false}) {
            try {
                const auto glob =
                    GlobPattern::compile(pattern, {.braces = braces, .anchored = anchored});
                berth::fuzz::each_line(paths, [&](std::string_view path) { match(glob, path); });
            } catch (const berth::Error& error) {
                require(error.code() == berth::ErrorCode::invalid_argument, "the pattern is wrong");
            }
        }
    }
}
