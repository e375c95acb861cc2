"""The documents against the program: every setting with its default and range, every flag, every
tool and argument, every path and test that is named."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mcp"))

from mcp_client import ROOT, Berth, binary_path  # noqa: E402

CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()
OF_THE_USER = {"principal", "state_dir", "workspace"}
EMPTY = "–"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def berth(*arguments, **variables):
    """Without anybody's configuration, whoever runs the tests."""
    with tempfile.TemporaryDirectory(prefix="berth-docs-") as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "BERTH_CONFIG": "",
                       "BERTH_STATE_DIR": f"{home}/state", **variables}
        return subprocess.run([binary_path(), *arguments], env=environment, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)


def rows():
    """{key: (type, default, allowed, flag)} of the tables of settings."""
    found = {}
    for line in CONFIGURATION.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if len(cells) == 8 and re.fullmatch(r"`[a-z0-9_.]+`", cells[1]):
            found[cells[1].strip("`")] = tuple(cell.strip("`") for cell in cells[2:6])
    return found


def sample_below(heading):
    return re.search(rf"^{heading}\n.*?^```toml\n(.*?)^```$", CONFIGURATION,
                     re.MULTILINE | re.DOTALL)[1]


class Configuration(unittest.TestCase):
    def test_every_setting_is_there_with_its_default(self):
        program = json.loads(berth("config", "--json").stdout)
        self.assertEqual(sorted(rows()), sorted(program))
        for key, (_, default, _, _) in rows().items():
            if key not in OF_THE_USER:
                with self.subTest(key):
                    self.assertEqual(program[key]["value"], "" if default == EMPTY else default)

    def test_ranges_are_the_program_s(self):
        for key, (kind, _, allowed, _) in rows().items():
            if kind in ("text", "list", "commands"):
                continue
            variable = "BERTH_" + key.upper().replace(".", "_")
            with self.subTest(key):
                answer = berth("config", **{variable: "no such value"})
                self.assertEqual(answer.returncode, 2)
                self.assertIn(f"Allowed: {allowed}.\n", answer.stderr)

    def test_every_flag_is_there_and_no_other(self):
        program = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", berth("--help").stdout, re.MULTILINE))
        self.assertEqual({flag for *_, flag in rows().values() if flag},
                         program - {"--help", "--config"})
        for command in (["call"], ["sessions", "list"], ["sessions", "kill"], ["status"],
                        ["doctor"], ["config"], ["version"]):
            for flag in re.findall(r"^  (?:-h,)?(--[a-z]+)", berth(*command, "--help").stdout,
                                   re.MULTILINE):
                line = next(line for line in CONFIGURATION.splitlines()
                            if line.startswith(f"| `berth {' '.join(command)}"))
                self.assertTrue(flag == "--help" or flag in line, f"{command} {flag}")

    def test_what_holds_from_the_next_call_on_is_what_the_program_takes(self):
        table = re.search(r"^## The tools\n(.*?)^## ", CONFIGURATION, re.MULTILINE | re.DOTALL)[1]
        keys = set(re.findall(r"^\| `([a-z0-9_.]+)` \|", table, re.MULTILINE))
        (named,) = re.findall(r"the keys under \[The tools\]\(#the-tools\) but (.*?)\)",
                              CONFIGURATION)
        code = (ROOT / "server" / "options" / "live_settings.cpp").read_text()

        def taken(name):
            return set(re.findall(r'"([a-z0-9_.]+)"', re.search(rf"> {name}\{{(.*?)\}}", code, re.DOTALL)[1]))
        self.assertEqual(keys - set(re.findall(r"`(\w+)`", named)), taken("of_tools"))
        table = re.search(r"^## The sandbox\n(.*?)^## ", CONFIGURATION, re.MULTILINE | re.DOTALL)[1]
        self.assertEqual(set(re.findall(r"^\| `([a-z0-9_.]+)` \|", table, re.MULTILINE)), taken("of_machines"))

    def test_every_variable_of_e2b_is_there(self):
        code = "".join(path.read_text() for path in (ROOT / "sandbox" / "e2b").glob("*.cpp"))
        read = set(re.findall(r'"(E2B_[A-Z_]+|HTTPS?_PROXY|NO_PROXY|SSL_CERT_FILE)"', code))
        self.assertGreaterEqual(read, {"E2B_API_KEY", "HTTPS_PROXY", "SSL_CERT_FILE"})
        table = re.search(r"^## Other variables\n(.*?)^## ", CONFIGURATION,
                          re.MULTILINE | re.DOTALL)[1]
        names = "".join(line.split("|")[1] for line in table.splitlines() if "|" in line)
        self.assertLessEqual(read, set(re.findall(r"`([A-Z0-9_]+)`", names)))
        told = berth("serve", "--help").stdout.partition("\nVariables of the backend e2b:\n")[2]
        self.assertLessEqual(read, set(re.findall(r"\b[A-Z0-9_]+\b", told)))

    def test_the_sample_file_is_taken_whole(self):
        sample = sample_below("## A file")
        with tempfile.TemporaryDirectory(prefix="berth-docs-") as folder:
            # Mounts must exist on this host, and be open to what root's sandboxes run.
            os.chmod(folder, 0o755)
            mounted = pathlib.Path(folder) / "mounted"
            mounted.mkdir()
            sample = re.sub(r"/srv/[a-z]+:", f"{mounted}:", sample)
            file = pathlib.Path(folder) / "config.toml"
            file.write_text(sample)
            answer = berth("config", "--json", "--config", str(file))
            self.assertEqual(answer.returncode, 0, answer.stderr)
            taken = [key for key, setting in json.loads(answer.stdout).items()
                     if setting["origin"].startswith(str(file))]
        self.assertEqual(len(taken), len(re.findall(r"^\w+ = ", sample, re.MULTILINE)))

    def test_the_sample_profile_is_one(self):
        with tempfile.TemporaryDirectory(prefix="berth-docs-") as folder:
            file = pathlib.Path(folder) / "config.toml"
            file.write_text(sample_below("## Profiles"))
            answer = berth("config", "--json", "--config", str(file), "--profile", "ci")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        settings = json.loads(answer.stdout)
        for key, value in {"local.pids": "256", "local.memory": "4 GiB", "local.cpus": "0.5",
                           "network": "none", "env": "CI=true", "exec.max_timeout": "30 s"}.items():
            self.assertEqual(settings[key]["value"], value, key)


class Tools(unittest.TestCase):
    def test_every_tool_and_every_argument_is_there(self):
        sections = {}
        for section in re.split(r"^## ", (ROOT / "docs" / "tools.md").read_text(),
                                flags=re.MULTILINE)[1:]:
            title, _, text = section.partition("\n")
            sections.update((name, text) for name in title.split(", "))
        sections.pop("Common to all")
        of_jobs = sections.pop("Jobs")
        for name in ("bash_input", "bash_kill", "bash_output"):
            sections[name] += of_jobs
        with tempfile.TemporaryDirectory(prefix="berth-docs-") as state, Berth(state=state) as server:
            tools = {tool["name"]: tool for tool in server.list_tools()}
        self.assertEqual(sorted(sections), sorted(tools))
        for name, tool in tools.items():
            output = json.loads((ROOT / "schemas" / "tools" / f"{name}.output.json").read_text())
            for word in [*tool["inputSchema"]["properties"], *output["properties"]]:
                with self.subTest(f"{name}: {word}"):
                    common = word in ("session", "backend", "ok", "message")
                    self.assertTrue(common or f"`{word}`" in sections[name] or
                                    re.search(rf"\b{word}\b", sections[name]), "is not told")

    def test_every_argument_of_the_dialect_is_there_and_no_other(self):
        sections = re.split(r"^## ", (ROOT / "docs" / "claude-dialect.md").read_text(),
                            flags=re.MULTILINE)
        rows = {}
        for section in sections[1:]:
            cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
            rows[section.partition("\n")[0]] = re.findall(r"`([^`]+)`", "".join(cells))
        with tempfile.TemporaryDirectory(prefix="berth-docs-") as state, \
                Berth("--tool-dialect", "claude", state=state) as server:
            tools = server.list_tools()
        renamed = [tool for tool in tools if tool["name"][0].isupper()]
        self.assertEqual(len(renamed), 7)
        for tool in renamed:
            with self.subTest(tool["name"]):
                self.assertEqual(sorted(rows[tool["name"]]),
                                 sorted(tool["inputSchema"]["properties"]))


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
                if "://" not in target:
                    with self.subTest(f"{page.name}: {target}"):
                        self.assertTrue((page.parent / target).exists())

    def test_paths_in_the_tree_exist(self):
        tops = "docs|packaging|sandbox|schemas|server|tests|tools|subprojects|\\.ci"
        for page in PAGES:
            for path in re.findall(rf"`((?:{tops})/[a-z0-9_./-]+)`", page.read_text()):
                with self.subTest(f"{page.name}: {path}"):
                    self.assertTrue((ROOT / path).exists())

    def test_the_tests_that_security_names_exist(self):
        table = re.findall(r"^\|.*\|.*\|.*\|(.*)\|$", (ROOT / "docs" / "security.md").read_text(),
                           re.MULTILINE)
        named = [(file, name) for cell in table
                 for file, names in re.findall(r'`([\w/]+_test\.cpp)`: ((?:"[^"]+"(?:, )?)+)', cell)
                 for name in re.findall(r'"([^"]+)"', names)]
        self.assertGreater(len(named), 20)
        for file, name in named:
            path = ROOT / file if "/" in file else ROOT / "tests" / "unit" / "local" / file
            with self.subTest(f"{file}: {name}"):
                self.assertIn(f'"{name}")', path.read_text())


if __name__ == "__main__":
    unittest.main()
