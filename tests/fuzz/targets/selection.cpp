// What a search looks at: TYPE ==== a glob on each line ==== a path on each line.

#include "sandbox/guest/search/selection.hpp"

#include "sandbox/base/error.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <optional>
#include <string>
#include <vector>

BERTH_FUZZ_TARGET(selection)
{
    using berth::fuzz::each_line;
    using berth::guest::search::Selection;
    const auto [type, globs, paths] = berth::fuzz::parts_of<3>(input);
    std::vector<std::string> include;
    each_line(globs, [&](std::string_view glob) { include.emplace_back(glob); });
    std::optional<Selection> selection;
    try {
        selection.emplace("/home/user", include, type, (type.size() & 1U) != 0);
    } catch (const berth::Error& error) {
        berth::fuzz::require(error.code() == berth::ErrorCode::invalid_argument,
                             "a glob or the type is wrong");
        return;
    }
    each_line(paths, [&](std::string_view path) {
        if (!path.empty() && !path.starts_with('/')) {
            for (const bool directory : {false, true}) {
                (void)selection->choose(nullptr, "/home/user/" + std::string(path), directory,
                                        nullptr);
            }
        }
    });
}
