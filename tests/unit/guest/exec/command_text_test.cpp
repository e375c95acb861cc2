#include "sandbox/guest/exec/command_text.hpp"

#include <doctest/doctest.h>

#include <ctime>
#include <string>
#include <vector>

using berth::guest::command_text;

namespace {

bool is_kept(const std::string& command)
{
    return command_text(command) == command;
}

std::string repeated(const std::string& part, std::size_t size)
{
    std::string result;
    while (result.size() < size) {
        result += part;
    }
    return result;
}

/// Of this thread, so that a busy host does not count.
double seconds()
{
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

} // namespace

TEST_CASE("two newlines more, but for an open here-document or a backslash at the end")
{
    for (const std::string command :
         {"true", "", "cat <file", "cat <<<word", "cat <<E\nE", "cat <<A <<B\na\nA\nb\nB", "a\\\\",
          ": $((1 << n))", "((n << a))\ntrue", "'((\n' <<E\nE"}) {
        CAPTURE(command);
        CHECK(command_text(command) == command + "\n\n");
    }
    for (const std::string command :
         {"cat <<E\nbody", "true; \\", "((1))\ncat <<E\n", "cat <a <<E\n", "'((\n' <<E\n",
          "((1)) \\\n <<E\n", "cat <<'((\nE' <<F\n((\nE\n"}) {
        CAPTURE(command);
        CHECK(is_kept(command));
    }
}

TEST_CASE("a long command costs what it has of bytes, whatever it consists of")
{
    constexpr std::size_t size = 128UL * 1024; // more goes by a descriptor
    for (const std::string part : {"< ", "<< ", "<<a ", "<<<a ", "<<a<", "(<<a\\\n", "'\n'<", "# ",
                                   "<<a\n", "\"<\"", "\\<"}) {
        CAPTURE(part);
        const std::string command = repeated(part, size);
        const double begin = seconds();
        (void)command_text(command);
        CHECK(seconds() - begin < 0.5);
    }
}
