// A Jupyter notebook: OFFSET LIMIT, a byte each ==== JSON.

#include "sandbox/base/utf8.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tools/notebook_report.hpp"

BERTH_FUZZ_TARGET(notebook)
{
    using namespace berth::tools;
    const auto [numbers, text] = berth::fuzz::parts_of<2>(input);
    const auto notebook = parse_notebook(text);
    if (!notebook.fault.empty()) {
        return;
    }
    Settings settings;
    settings.read_budget = 2000;
    settings.read_image = 4096;
    const CellRange range{.offset = static_cast<std::int8_t>(berth::fuzz::byte_at(numbers, 0)),
                          .limit = berth::fuzz::byte_at(numbers, 1)};
    const auto result = notebook_report({.path = "/a.ipynb"}, notebook, range, settings);
    berth::fuzz::require(berth::utf8::is_valid(result.text), "what is shown is UTF-8");
    std::size_t shown = 0;
    for (const auto& image : result.images) {
        shown += image.data.size();
    }
    berth::fuzz::require(shown <= settings.read_image, "pictures are within their limit");
}
