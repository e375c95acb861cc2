#include "sandbox/base/release_memory.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("release_memory() leaves no buffer behind, also within a structure")
{
    struct Holder {
        std::string text;
    };

    Holder holder{.text = std::string(100'000, 'x')};
    berth::release_memory(holder);
    CHECK(holder.text.empty());
    CHECK(holder.text.capacity() < 100);

    std::string text(100'000, 'x');
    berth::release_memory(text, std::string("short"));
    CHECK(text == "short");
    CHECK(text.capacity() < 100);
}
