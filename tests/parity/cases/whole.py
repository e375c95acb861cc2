"""Nothing is ever half written: whoever is killed, and whoever reads meanwhile. Each for a file with
one name, which is replaced by a rename, and for one with two, which is written in place; an append
goes into the file itself, and is taken back."""

import contextlib
import hashlib
import os
import signal
import threading
import time

from suite import ParityTest, local_only

SIZE = 20_000_000


def processor_time(pid):
    """Seconds that a process has worked."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_mixed(path):
    """Whether a write in place is under way: the file begins with the new content only."""
    with open(path, "rb", buffering=0) as file:
        return os.pread(file.fileno(), 1, 0) != os.pread(file.fileno(), 1, SIZE - 1)


class WholeTest(ParityTest):
    environment = {"BERTH_SEARCH_TIME": "60s"}  # a slow host does not count a million lines in ten

    def make(self, letter, linked):
        self.output(f"rm -rf d; mkdir d; head -c {SIZE} /dev/zero | tr '\\0' {letter} >d/f" +
                    ("; ln d/f d/g" if linked else ""))

    def begin_change(self, number, old, new):
        if number % 2:
            return self.berth.call_async("write_file", {"path": "d/f", "content": new * SIZE})
        return self.berth.call_async("edit_file", {"path": "d/f", "old_text": old * 1000,
                                                   "new_text": new * 1000, "replace_all": True})

    def outcome(self, call):
        with contextlib.suppress(EOFError):
            call.result(20)
        # Told of the loss, if there was one; then the next call finds all in order.
        self.berth.call_tool("bash_exec", {"command": "true"})
        return self.output("tr -s ab <d/f; echo; stat -c %s d/f; ls -A d").splitlines()

    def check_whole(self, kill, linked):
        """A large file is changed again and again, and `kill` strikes in the midst of it: the file is
        the old one or the new one, and nothing else is there."""
        self.make("a", linked)
        folder = self.home() / "d"
        old, new, struck = "a", "b", 0
        for number in range(60):
            if number >= 12 and struck:  # on a busy host many a write is over before it is seen
                break
            with self.subTest(number):
                (guest,) = self.living_guests()
                idle = processor_time(guest)
                call = self.begin_change(number, old, new)
                if linked:
                    self.wait_for_a_byte(folder / "f", call, old, number // 2 % 3 * SIZE // 4)
                else:
                    self.wait_for_work(guest, idle, call)
                    time.sleep(number // 2 % 3 * 0.01)
                at_work = is_mixed(folder / "f") if linked else not call.answered()
                kill()
                found = self.outcome(call)
                self.assertIn(found[0], ("a", "b"))
                self.assertEqual(found[1:], [str(SIZE), "f"] + (["g"] if linked else []))
                # Of a guest that is gone the change counts only where it kept it from happening.
                struck += at_work and (kill != self.kill_guests or found[0] == old)
                old, new = ("a", "b") if found[0] == "a" else ("b", "a")
        self.assertGreater(struck, 0, "no kill struck in the midst")

    def kill_server(self):
        self.berth.kill()
        self.berth = self.start("--session", "work")

    def kill_guests(self):
        for guest in self.living_guests():
            os.kill(guest, signal.SIGKILL)

    def test_when_the_server_is_killed(self):
        self.check_whole(self.kill_server, linked=False)

    def test_when_the_server_is_killed_in_place(self):
        self.check_whole(self.kill_server, linked=True)

    @local_only
    def test_when_the_guest_is_killed(self):
        self.check_whole(self.kill_guests, linked=False)

    @local_only
    def test_when_the_guest_is_killed_in_place(self):
        """Then the file may be a mixture, but its old content is beside it, whole."""
        struck = 0
        for number in range(8):
            with self.subTest(number):
                self.make("a", linked=True)
                folder = self.home() / "d"
                (guest,) = self.living_guests()
                call = self.begin_change(number, "a", "b")
                self.wait_for_a_byte(folder / "f", call, "a", 0)
                os.kill(guest, signal.SIGKILL)
                found = self.outcome(call)
                self.assertEqual(self.output("test d/f -ef d/g && cmp d/f d/g && echo one"), "one\n")
                if found[0] in ("a", "b") and found[1:] == [str(SIZE), "f", "g"]:
                    continue
                struck += 1
                (backup,) = set(found[2:]) - {"f", "g"}
                self.assertRegex(backup, "^berth-backup-[0-9a-f]{16}-f$")
                self.assertEqual(self.output(f"tr -s ab <d/{backup}; echo; stat -c %s d/{backup}"),
                                 f"a\n{SIZE}\n")
        self.assertGreater(struck, 0, "no kill struck in the midst")

    @local_only
    def test_when_the_guest_is_killed_as_it_appends(self):
        """What was written of it goes again before the next call."""
        struck = 0
        for number in range(12):
            with self.subTest(number):
                self.output("rm -rf d; mkdir d; head -c 1000 /dev/zero | tr '\\0' a >d/f")
                folder = self.home() / "d"
                (guest,) = self.living_guests()
                call = self.berth.call_async("write_file", {
                    "path": "d/f", "content": "b" * SIZE, "mode": "append"})
                while (folder / "f").stat().st_size == 1000 and not call.answered():
                    pass
                os.kill(guest, signal.SIGKILL)
                with contextlib.suppress(EOFError):
                    call.result(20)
                cut = 1000 < (folder / "f").stat().st_size < 1000 + SIZE
                self.berth.call_tool("bash_exec", {"command": "true"})
                found = self.output("tr -s ab <d/f; echo; stat -c %s d/f; ls -A d; "
                                    "ls -A | grep berth || true").splitlines()
                whole = ["ab", str(1000 + SIZE), "f"]
                self.assertIn(found, [["a", "1000", "f"]] + ([] if cut else [whole]))
                struck += cut
        self.assertGreater(struck, 0, "no kill struck in the midst")

    def wait_for_work(self, guest, idle, call):
        """Until the guest, at rest before, is busy with the call: what it writes has no name yet."""
        while processor_time(guest) - idle < 0.02 and not call.answered():
            time.sleep(0.001)

    def wait_for_a_byte(self, path, call, old, place):
        """Until the write in place has come so far, seen from the host."""
        with open(path, "rb", buffering=0) as file:
            while os.pread(file.fileno(), 1, place) == old.encode() and not call.answered():
                pass

    def check_reads(self, linked):
        """One writes, three look: nobody is shown anything but one of the two contents."""
        # Of short lines a million are found, each with a look at the clock, a system call in tests/uml.sh.
        line = "x" * 100
        contents = {"a": f"a {line}\n" * 20_000, "b": f"b {line}\n" * 16_000}
        hashes = {hashlib.sha256(text.encode()).hexdigest() for text in contents.values()}
        self.call("write_file", path="f", content=contents["a"])
        if linked:
            self.output("ln f g")
        path, done, torn, seen = ("g" if linked else "f"), threading.Event(), [], [0, 0, 0]
        writer = self.start("--session", "work")

        def look(number, tool, arguments, fact, accepted):
            while not done.is_set():
                result = self.berth.call_tool(tool, arguments)
                value = fact(result.data) if not result.is_error else result.text
                if value not in accepted:
                    torn.append((tool, value))
                seen[number] += 1
        threads = [threading.Thread(target=look, args=arguments) for arguments in (
            (0, "read_file", {"path": path, "limit": 1}, lambda data: data["sha256"], hashes),
            (1, "grep_files", {"path": path, "pattern": "^a ", "output_mode": "count"},
             lambda data: data["total_matches"], (0, 20_000)),
            (2, "save_to_workspace", {"sandbox_path": path, "workspace_path": "/saved"},
             lambda data: data["files"][0]["sha256"], hashes))]
        for thread in threads:
            thread.start()
        try:
            for number in range(30):
                letter = "ba"[number % 2]
                result = writer.call_tool("write_file", {"path": "f", "content": contents[letter]})
                self.assertFalse(result.is_error, result)
        finally:
            done.set()
            for thread in threads:
                thread.join(30)
        self.assertEqual(torn, [])
        self.assertGreater(min(seen), 5)
        if linked:
            self.output("test f -ef g")

    def test_who_reads_while_others_write(self):
        self.check_reads(linked=False)

    def test_who_reads_while_others_write_in_place(self):
        self.check_reads(linked=True)
