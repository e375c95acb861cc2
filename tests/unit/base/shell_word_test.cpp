#include "sandbox/base/shell_word.hpp"

#include <doctest/doctest.h>

using berth::shell_word;

TEST_CASE("a word of a shell is one word, whatever is in it")
{
    CHECK(shell_word("") == "''");
    CHECK(shell_word("a b\n$c") == "'a b\n$c'");
    CHECK(shell_word("it's") == R"('it'\''s')");
    CHECK(shell_word("''") == R"(''\'''\''')");
}
