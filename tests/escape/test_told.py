"""What is refused for what it is, not for where it comes from: spellings of an address, files that cannot
be written."""

import http.server
import os
import subprocess
import threading

from sandbox import EscapeTest


class Counting(http.server.BaseHTTPRequestHandler):
    """Notes whoever comes."""

    def do_GET(self):  # noqa: N802: as the library has it
        self.server.reached.append(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class FilteredTest(EscapeTest):
    def setUp(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counting)
        server.reached = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.server, self.port = server, server.server_address[1]

    def rules(self, **more):
        return {"BERTH_FILTER_ALLOW": f"allowed.invalid,localhost:{self.port}", **more}

    def forms_of_loopback(self):
        return [f"{host}:{self.port}" for host in (
            "127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.1", "127.1", "0x7f000001", "[::ffff:127.0.0.1]",
            "[::1]", "127.0.0.1.", "localhost", "LOCALHOST", "localhost.")]

    def tried(self, berth, target):
        """As the proxy is asked by who minds no rules: the answer's first line, and who came."""
        script = (f"exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://{target}/x HTTP/1.1\\r\\nHost: {target}"
                  "\\r\\nConnection: close\\r\\n\\r\\n' >&3; timeout 5 head -n 1 <&3; true")
        del self.server.reached[:]
        result = berth.call_tool("bash_exec", {"command": script})
        return result.text.split("\r")[0], list(self.server.reached), result.data["denials"]

    def test_no_spelling_of_an_address_gets_where_its_plain_one_may_not(self):
        free = self.start("--network", "host")
        reached = set()
        for target in self.forms_of_loopback():
            del self.server.reached[:]
            free.call_tool("bash_exec", {"command": f"curl -s --noproxy '*' --max-time 5 'http://{target}/x'"})
            if self.server.reached:
                reached.add(target)
        self.assertGreaterEqual(len(reached), 6, reached)  # they do lead there where nothing looks
        berth = self.start("--network", "filtered", env=self.rules())
        for target in self.forms_of_loopback():
            with self.subTest(target):
                line, came, denials = self.tried(berth, target)
                self.assertEqual(came, [])
                self.assertRegex(line, r"^HTTP/1.1 4\d\d")
                self.assertEqual(len(denials), 1)


    def test_no_name_is_taken_for_an_allowed_one(self):
        others = [f"{host}:{self.port}" for host in (
            "allowed.invalid.evil.invalid", "evilallowed.invalid", "sub.allowed.invalid", "allowed.invalidx",
            "xn--llowed-9cd.invalid")]
        wrong = ["allowed.invalid:22", f"allowed.invalid@169.254.169.254:{self.port}",
                 f"allowed.invalid.:{self.port}", f"\u0430llowed.invalid:{self.port}"]
        metadata = [f"{host}:{port}" for port in (80, self.port) for host in (
            "169.254.169.254", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[2002:a9fe:a9fe::]",
            "[64:ff9b::a9fe:a9fe]", "[64:ff9b::169.254.169.254]", "2852039166", "0xa9fea9fe",
            "0251.0376.0251.0376", "169.254.43518", "169.254.169.254.", "[fe80::1]", "[fd00:ec2::254]")]
        free = self.start("--network", "filtered", env={"BERTH_FILTER_ALLOW": f"*:{self.port}"})
        for target in others:  # a rule for any name lets them pass: they are not found, and not denied
            line, _, denials = self.tried(free, target)
            self.assertEqual((line[:12], denials), ("HTTP/1.1 502", []), target)
        # Opened as far as rules can open them.
        berth = self.start("--network", "filtered", env=self.rules(
            BERTH_FILTER_ALLOW=f"allowed.invalid:{self.port},169.254.0.0/16:*"))
        for target in [*others, *wrong, *metadata]:
            with self.subTest(target):
                line, came, denials = self.tried(berth, target)
                self.assertEqual(came, [])
                self.assertRegex(line, r"^HTTP/1.1 4\d\d")
                self.assertEqual(len(denials), 1)
                self.assertTrue(denials[0]["reason"] and denials[0]["remedy"])


class FileTest(EscapeTest):
    def test_a_write_that_finds_no_room_leaves_the_file_whole(self):
        if os.geteuid() != 0:
            return  # nobody else may mount a disk that is small
        folder = self.folder()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M,mode=777", "none", folder], check=True)
        self.addCleanup(subprocess.run, ["umount", folder], check=True)
        berth = self.start("--mount", f"{folder}:/mnt/small:rw")
        text = "kept\n" * 100_000
        big = "new line\n" * 200_000
        self.output(berth, "yes kept | head -n 100000 >/mnt/small/file; cp /mnt/small/file /tmp/file")
        self.assertEqual((folder / "file").read_text(), text)
        for tool, arguments in (("write_file", {"content": big}),
                                ("edit_file", {"old_text": text[:10], "new_text": big, "replace_all": False,
                                               "if_sha256": ""}),
                                ("write_file", {"content": big, "mode": "append"})):
            with self.subTest(tool, mode=arguments.get("mode")):
                done = berth.call_tool(tool, {"path": "/mnt/small/file", **arguments})
                self.assertTrue(done.is_error, done)
                self.assertEqual((folder / "file").read_text(), text)
                self.assertEqual(os.listdir(folder), ["file"])
        berth.call_tool("bash_exec", {"command": "yes new line | head -n 200000 >/mnt/small/file"})
        self.assertNotEqual((folder / "file").read_text(), text)  # what a command does

    def test_a_file_that_cannot_be_written_stays_whole(self):
        folder = self.folder()
        os.chmod(folder, 0o777)
        text = "kept\n" * 1000
        foreign, fixed = folder / "foreign", folder / "fixed"
        for path in (foreign, fixed):
            path.write_text(text)
            os.chmod(path, 0o644)
        if os.geteuid() == 0: # nobody else may
            os.chown(foreign, 0, 0)
            os.chown(folder, 65534, 65534)
            subprocess.run(["chattr", "+i", fixed], check=True)
            self.addCleanup(subprocess.run, ["chattr", "-i", fixed], check=True)
        else:
            os.chmod(fixed, 0o444)
        berth = self.start("--mount", f"{folder}:/mnt/shared:rw")
        self.output(berth, f"printf '%s' '{text}' >closed; chmod 000 closed")
        for path in ("/mnt/shared/fixed", "closed", "/mnt/shared/foreign"):
            for tool, arguments in (("write_file", {"content": "new"}),
                                    ("edit_file", {"old_text": "kept\nkept\n", "new_text": "new\n",
                                                   "replace_all": True})):
                with self.subTest(path, tool=tool):
                    berth.call_tool(tool, {"path": path, **arguments})
                    now = self.output(berth, f"chmod u+r {path} 2>/dev/null; cat {path}")
                    self.assertIn(now, (text, text[:-1], "new", "new\n" * 500))
        if os.geteuid() == 0:
            self.assertEqual(fixed.read_text(), text)
        self.assertEqual(sorted(os.listdir(folder)), ["fixed", "foreign"])  # nor half of one beside it
