"""What goes from a sandbox to others by way of the server: archives and links to the workspace, files that
programs outside obey, secrets in results. Each is seen to do harm where nothing looks."""

import base64
import io
import tarfile
import urllib.parse
import zipfile

from sandbox import EscapeTest

SECRET = "correct/horse+battery staple=4711"
PROTECTED = (".git/hooks/pre-commit", ".bashrc", ".envrc", ".mcp.json", ".vscode/tasks.json")


def evil_tar():
    """Above its folder, at the root, and through a link that it brings along."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        def add(name, **fields):
            entry = tarfile.TarInfo(name)
            for field, value in fields.items():
                setattr(entry, field, value)
            text = b"" if "linkname" in fields else b"planted\n"
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
        add("../../above")
        add("/tmp/absolute")
        add("way", type=tarfile.SYMTYPE, linkname="/tmp")
        add("way/through")
    return packed.getvalue()


PLANTED = "ls -d above /tmp/absolute /tmp/through 2>/dev/null; echo listed"


class ArchiveTest(EscapeTest):
    def test_no_archive_is_unpacked_on_the_way(self):
        berth = self.start()
        berth.call_tool("write_file", {"path": "evil.tar", "encoding": "base64",
                                       "content": base64.b64encode(evil_tar()).decode()})
        # Who unpacks it and believes it plants files.
        self.output(berth, "mkdir -p a/b; tar -xPf evil.tar -C a/b")
        self.assertEqual(self.output(berth, PLANTED), "/tmp/absolute\n/tmp/through\nabove\nlisted\n")
        self.output(berth, "rm -rf a above /tmp/absolute /tmp/through")
        self.assertFalse(berth.call_tool("save_to_workspace", {"sandbox_path": "evil.tar"}).is_error)
        for target in ("a/evil.tar", "/tmp/evil.tar"):
            loaded = berth.call_tool("load_from_workspace", {"workspace_path": "/evil.tar",
                                                             "sandbox_path": target})
            self.assertFalse(loaded.is_error, loaded)
            self.output(berth, f"cmp evil.tar {target}")
        berth.call_tool("read_file", {"path": "evil.tar"})  # which looks into it
        self.assertEqual(self.output(berth, PLANTED), "listed\n")
        self.assertEqual(self.output(berth, "find a"), "a\na/evil.tar\n")

    def test_no_name_or_link_leads_a_load_elsewhere(self):
        host = self.folder()
        (host / "kept").write_text("of the host\n")
        berth = self.start("--mount", f"{host}:/mnt/host")
        self.output(berth, "mkdir -p d/e && echo loaded >d/e/kept")
        for path in ("../../x", "/../x", "d/../../x"):
            with self.subTest(path):
                saved = berth.call_tool("save_to_workspace", {"sandbox_path": "d/e/kept",
                                                              "workspace_path": path})
                self.assertEqual(saved.error and saved.error["code"], "invalid_path", saved)
        self.assertFalse(berth.call_tool("save_to_workspace", {"sandbox_path": "d"}).is_error)
        # A link in the way, to what is there and to what is not yet; a copy by hand follows it.
        for link, place in (("into", "/mnt/host"), ("above", "/etc"), ("dangling", "/mnt/host/none")):
            self.output(berth, f"rm -rf t && mkdir t && ln -s {place} t/{link}")
            with self.subTest(link):
                loaded = berth.call_tool("load_from_workspace", {"workspace_path": "/d/e/kept",
                                                                 "sandbox_path": f"t/{link}/kept"})
                self.assertIn(loaded.error and loaded.error["code"],
                              ("invalid_path", "permission_denied", "not_found"), loaded)
        self.output(berth, "rm -rf t && mkdir -p t/d o && ln -s ~/o t/d/e")
        loaded = berth.call_tool("load_from_workspace", {"workspace_path": "/d", "sandbox_path": "t/d"})
        # Within what it may write a link of the session's own leads where the session could write anyway.
        self.assertIn(self.output(berth, "cat o/kept t/d/e/kept 2>/dev/null | head -n 1; true"),
                      ("loaded\n", ""), loaded)
        self.assertEqual((host / "kept").read_text(), "of the host\n")
        self.assertEqual([path.name for path in host.iterdir()], ["kept"])

    def test_a_bomb_is_listed_in_little_memory(self):
        berth = self.start()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("zeros", "w", force_zip64=True) as entry:
                for _ in range(100):
                    entry.write(bytes(1 << 20))
        content = packed.getvalue()
        self.assertGreater((100 << 20) / len(content), 100)
        berth.call_tool("write_file", {"path": "bomb.zip", "encoding": "base64",
                                       "content": base64.b64encode(content).decode()})
        free = self.output(berth, "python3 -c 'import zipfile; print(len(zipfile.ZipFile(\"bomb.zip\")"
                                  ".read(\"zeros\")))'")
        self.assertEqual(free, f"{100 << 20}\n")  # who unpacks it has it all
        (guest,) = self.state.guests()
        before = [self.peak(pid) for pid in (guest, berth.pid)]
        shown = berth.call_tool("read_file", {"path": "bomb.zip"})
        self.assertFalse(shown.is_error, shown)
        self.assertLess(len(shown.text), 10_000)
        for pid, then in zip((guest, berth.pid), before):
            self.assertLess(self.peak(pid) - then, 20 << 10)

    def peak(self, pid):
        """In KiB."""
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("VmHWM:")).split()[1])


class ProtectedTest(EscapeTest):
    def told(self, result):
        return sorted(change["path"].removeprefix("/home/user/p/").removeprefix("/home/user/")
                      for change in result.data.get("protected_changes", []))

    def make(self, berth):
        self.output(berth, "mkdir -p p && git init -q p", workdir="/home/user")
        self.output(berth, "true", workdir="/home/user/p")

    def by_command(self, berth, text):
        files = " ".join(name if name != ".bashrc" else "~/.bashrc" for name in PROTECTED)
        return self.told(berth.call_tool("bash_exec", {
            "command": f"mkdir -p .vscode; for file in {files}; do echo {text} >$file; done",
            "workdir": "/home/user/p"}))

    def test_what_programs_outside_obey_is_told_when_it_comes_and_when_it_changes(self):
        free = self.start(env={"BERTH_PROTECTED_ACTION": "off"})
        self.make(free)
        self.assertEqual(self.by_command(free, "new"), [])  # it works, and nobody hears of it
        berth = self.start()
        self.make(berth)
        for text in ("new", "changed"):  # absent before, then there
            self.assertEqual(self.by_command(berth, text), sorted(PROTECTED))
        for name in PROTECTED:
            path = f"/home/user/{'' if name == '.bashrc' else 'p/'}{name}"
            for tool, arguments in (
                    ("write_file", {"path": path, "content": "by a tool\n"}),
                    ("edit_file", {"path": path, "old_text": "tool", "new_text": "second tool"})):
                with self.subTest(path, tool=tool):
                    self.assertEqual(self.told(berth.call_tool(tool, arguments)), [name])
        self.output(berth, "echo from elsewhere >f")
        berth.call_tool("save_to_workspace", {"sandbox_path": "f"})
        self.assertEqual(self.told(berth.call_tool("load_from_workspace", {
            "workspace_path": "/f", "sandbox_path": "/home/user/p/.mcp.json"})), [".mcp.json"])

    def test_a_profile_has_them_refused_to_every_tool(self):
        berth = self.start(env={"BERTH_PROTECTED_ACTION": "refuse"})
        self.make(berth)
        self.output(berth, "echo here >p/.envrc; echo x >f; ln -s .envrc p/plain; ln p/.envrc p/other",
                    workdir="/home/user")
        berth.call_tool("save_to_workspace", {"sandbox_path": "/home/user/f"})
        for path in ("p/.mcp.json", "p/.envrc", "p/plain", "p/.vscode/tasks.json"):
            for tool, arguments in (
                    ("write_file", {"path": f"/home/user/{path}", "content": "planted\n"}),
                    ("edit_file", {"path": f"/home/user/{path}", "old_text": "", "new_text": "planted\n"}),
                    ("load_from_workspace", {"workspace_path": "/f", "sandbox_path": f"/home/user/{path}"})):
                with self.subTest(path, tool=tool):
                    done = berth.call_tool(tool, arguments)
                    self.assertTrue(done.is_error, done)
        self.assertEqual(self.output(berth, "cat p/.envrc; ls p/.mcp.json p/.vscode 2>/dev/null; true",
                                     workdir="/home/user"), "here\n")


# A way to print it: whether the value can be had from what the result shows, by whom nothing keeps from it.
WAYS = {
    "plain": ("printf %s \"$WORD\"", lambda text: text),
    "base64": ("printf %s \"$WORD\" | base64 -w0", lambda text: base64.b64decode(text).decode()),
    "base64 in lines": ("printf 'token=%s' \"$WORD\" | base64 -w 12",
                        lambda text: base64.b64decode(text).decode().removeprefix("token=")),
    "hexadecimal": ("printf %s \"$WORD\" | od -An -v -tx1 | tr -d ' \\n'",
                    lambda text: bytes.fromhex(text).decode()),
    "percent-encoded": ("python3 -c 'import os, urllib.parse as u; "
                        "print(u.quote(os.environ[\"WORD\"], safe=\"\"))'",
                        lambda text: urllib.parse.unquote(text.strip())),
    "in a file": ("printf %s \"$WORD\" >kept; cat kept", lambda text: text),
    "in an error": ("printf %s \"$WORD\" >&2", lambda text: text.replace("[stderr]", "").strip()),
}
# What is said not to be found.
OPEN_WAYS = {
    "reversed": ("printf %s \"$WORD\" | rev", lambda text: text[::-1]),
    "encoded twice": ("printf %s \"$WORD\" | base64 -w0 | base64 -w0",
                      lambda text: base64.b64decode(base64.b64decode(text)).decode()),
    "with spaces": ("printf %s \"$WORD\" | sed 's/./& /g'", lambda text: text[::2]),
}


class SecretTest(EscapeTest):
    def read(self, berth, ways):
        """Those by which the value was learned."""
        learned = set()
        for name, (command, decode) in ways.items():
            shown = berth.call_tool("bash_exec", {"command": command}).text
            try:
                if decode(shown) == SECRET:
                    learned.add(name)
            except ValueError:
                pass
        return learned

    def test_a_secret_is_shown_in_none_of_its_usual_forms(self):
        free = self.start("--env", f"WORD={SECRET}")
        self.assertEqual(self.read(free, {**WAYS, **OPEN_WAYS}), {*WAYS, *OPEN_WAYS})
        berth = self.start("--secret", "WORD=env:GIVEN", env={"GIVEN": SECRET})
        self.assertEqual(self.read(berth, {**WAYS, **OPEN_WAYS}), set(OPEN_WAYS))  # docs/configuration.md

    def test_nor_by_another_tool(self):
        word = SECRET.replace("/", "_")
        berth = self.start("--secret", "WORD=env:GIVEN", env={"GIVEN": word})
        self.output(berth, "printf 'x %s y' \"$WORD\" >file; touch \"name $WORD\"")
        for tool, arguments in (("read_file", {"path": "file"}), ("grep_files", {"pattern": "x .* y"}),
                                ("glob_files", {"pattern": "name*"}), ("read_file", {"path": "."}),
                                ("read_file", {"path": f"none {word}"}),
                                ("edit_file", {"path": "file", "old_text": "x", "new_text": "z"})):
            with self.subTest(tool, **arguments):
                done = berth.call_tool(tool, arguments)
                self.assertNotIn(word, done.text)
                self.assertNotIn(word, str(done.data))
        # One sign of it in each exit status is not found, and is not said to be.
        told = [berth.call_tool("bash_exec", {"command": f"exit $(printf %d \"'${{WORD:{place}:1}}\")"})
                .data["exit_code"] for place in range(3)]
        self.assertEqual("".join(map(chr, told)), word[:3])
