#!/usr/bin/env python3
"""The lint tests themselves: a rule that refuses nothing protects nothing."""

import re
import unittest

import includes
import raw_calls
import sizes
import sources


class IncludesTest(unittest.TestCase):
    def refused(self, path, header):
        return includes.complaint_about(path, header) is not None

    def test_the_direction(self):
        for path, header in (
                ("sandbox/base/a.cpp", "sandbox/protocol/wire.hpp"),
                ("sandbox/guest/a.cpp", "sandbox/sandbox.hpp"),
                ("sandbox/guest/files/a.cpp", "sandbox/session/key.hpp"),
                ("sandbox/workspace/a.cpp", "sandbox/protocol/wire.hpp"),
                ("sandbox/session/a.cpp", "sandbox/local/local_backend.hpp"),
                ("sandbox/local/a.cpp", "sandbox/session/key.hpp"),
                ("tools/a.cpp", "server/rpc/message.hpp"),
                ("tools/a.cpp", "sandbox/guest/paths.hpp"),
                ("server/rpc/a.cpp", "tools/tool.hpp"),
                ("server/rpc/a.cpp", "server/mcp/era.hpp"),
                ("server/cli/a.cpp", "sandbox/local/doctor.hpp"),
                ("server/a.cpp", "sandbox/direct/direct_backend.hpp"),
                ("server/a.cpp", "../sandbox/sandbox.hpp"),
                ("server/a.cpp", "neighbour.hpp")):
            self.assertTrue(self.refused(path, header), (path, header))

    def test_what_is_allowed(self):
        for path, header in (
                ("server/main.cpp", "sandbox/local/local_backend.hpp"),
                ("server/cli/a.cpp", "sandbox/session/key.hpp"),
                ("sandbox/local/launcher/a.cpp", "sandbox/local/launch_spec.hpp"),
                ("sandbox/guest/a.cpp", "sandbox/guest/exec/shim.hpp"),
                ("sandbox/guest/exec/a.cpp", "sandbox/guest/paths.hpp"),
                ("sandbox/session/a.cpp", "sandbox/backend.hpp"),
                ("tests/unit/a.cpp", "sandbox/direct/direct_backend.hpp")):
            self.assertFalse(self.refused(path, header), (path, header))

    def test_no_exception_is_stale(self):
        for path in includes.COMPOSITION_ROOTS:
            self.assertTrue((sources.ROOT / path).exists(), path)


class SizesTest(unittest.TestCase):
    def body(self, lines, indent=""):
        return f"{indent}int f()\n{indent}{{\n" + f"{indent}    x();\n" * lines + f"{indent}}}\n"

    def test_a_body_of_fifty_lines_is_the_limit(self):
        self.assertEqual(list(sizes.long_functions("a", self.body(50))), [])
        self.assertEqual(len(list(sizes.long_functions("a", self.body(51)))), 1)
        self.assertEqual(len(list(sizes.long_functions("a", self.body(51, "    ")))), 1)
        whole_try = self.body(51).replace("{", "try {", 1).replace("}", "} catch (...) {\n}", 1)
        self.assertEqual(len(list(sizes.long_functions("a", whole_try))), 1)
        self.assertEqual(list(sizes.long_functions("a", "namespace {\n" + "\n" * 99 + "}\n")), [])


# The HTTP server and the E2B client.
TO_COME = (r"#\s*include\s*<httplib\.h>",)


class RawCallsTest(unittest.TestCase):
    def refused(self, text):
        code = raw_calls.blanked(text)
        return any(re.search(pattern, code) for pattern, _, _ in raw_calls.RULES)

    def test_patterns(self):
        for text in ("#include <spdlog/spdlog.h>", "# include <regex>", "::syscall(SYS_x)",
                     "return syscall (1);", "std::system(x)", "::fork()", r"""out += R"(,"isError":true})";"""):
            self.assertTrue(self.refused(text), text)
        for text in ("// #include <regex>", "errors.syscall(1)", "my_syscall(1)",
                     "action.fork()", "#include <nlohmann/json_fwd.hpp>", "sys::openat2(1)"):
            self.assertFalse(self.refused(text), text)

    def test_where_a_rule_allows_something_there_is_a_file(self):
        paths = [path for path, _ in sources.sources(".cpp", ".hpp", folders=raw_calls.PRODUCT)]
        for pattern, allowed, _ in raw_calls.RULES:
            if allowed and pattern not in TO_COME:
                self.assertTrue(any(re.search(allowed, path) for path in paths), allowed)


if __name__ == "__main__":
    unittest.main()
