// UTF-8 and what is none: cut, counted, replaced. SIZE, a byte ==== TEXT.

#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tools/render.hpp"

BERTH_FUZZ_TARGET(utf8_text)
{
    using berth::fuzz::require;
    namespace utf8 = berth::utf8;
    const auto [number, text] = berth::fuzz::parts_of<2>(input);
    const std::size_t size = berth::fuzz::byte_at(number, 0);
    const std::string clean = utf8::sanitize(text);
    require(utf8::is_valid(clean), "what was replaced is UTF-8");
    require(!utf8::is_valid(text) || clean == text, "what is UTF-8 stays");
    require(utf8::count(clean) == utf8::count(text), "a byte that is none counts as a character");
    const auto head = utf8::prefix_bytes(clean, size);
    const auto tail = utf8::suffix_bytes(clean, size);
    require(utf8::is_valid(head) && utf8::is_valid(tail), "no character is cut");
    require(head.size() <= size && tail.size() <= size, "no more than wanted");
    require(clean.size() <= size || head.size() + 4 > size, "no less than there is room for");
    (void)utf8::prefix_bytes(text, size);
    (void)utf8::suffix_bytes(text, size);
    const std::string visible = berth::visible(text);
    require(utf8::is_valid(visible) && !utf8::has_control(visible), "nothing for a terminal");
    (void)berth::tools::hexdump(text.substr(0, size));
}
