"""Each attempt of attempts.py, where its layer is and where it is not: what does not work there proves
nothing of the layer."""

import json
import os
import shutil
import subprocess

import attempts
from bait import Bait, as_ordinary_user
from sandbox import HERE, EscapeTest

SHOWN = "/mnt/bait"  # where a sandbox is shown the folder of the bait, read-only


class AttemptsTest(EscapeTest):
    def setUp(self):
        self.program = self.folder()
        shutil.copy(HERE / "attempts.py", self.program)

    def told(self, text):
        return dict(line.split(" ", 1) for line in text.splitlines())

    def inside(self, bait, names, without=None, own=False):
        """What came of each in a sandbox; its server has the bait's word and folder, and gives on neither."""
        folder = os.open(bait.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        berth = self.start("--mount", f"{self.program}:/mnt/attempts", "--mount", f"{bait.folder}:{SHOWN}",
                           without=without, env={"ESCAPE_BAIT": bait.facts["word"]}, pass_fds=[folder])
        facts = json.dumps({**bait.facts, "shown": SHOWN, "own": own})
        output = self.output(berth, f"python3 /mnt/attempts/attempts.py '{facts}' {' '.join(names)}")
        self.assertEqual(self.output(berth, "echo alive"), "alive\n")
        return self.told(output)

    def outside(self, bait, names):
        """And where there is no sandbox at all."""
        folder = os.open(bait.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        program = ["/usr/bin/python3", str(self.program / "attempts.py"), json.dumps(bait.facts), *names]
        done = subprocess.run(
            as_ordinary_user(program), env={"PATH": os.environ["PATH"], "ESCAPE_BAIT": bait.facts["word"]},
            cwd=bait.folder, pass_fds=[folder], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.told(done.stdout)

    def without_layers(self):
        """{name: what came of it where what stops it is not}"""
        came = {}
        for without in {attempt.without for attempt in attempts.ATTEMPTS.values()}:
            names = [name for name, attempt in attempts.ATTEMPTS.items() if attempt.without == without]
            with Bait() as bait:
                if without == "outside":
                    came |= self.outside(bait, names)
                elif without == "own":
                    came |= self.inside(bait, names, own=True)
                else:
                    came |= self.inside(bait, names, without=without)
        return came

    def test_nothing_works_that_works_without_its_layer(self):
        free = self.without_layers()
        with Bait() as bait:
            held = self.inside(bait, list(attempts.ATTEMPTS))
            self.assertEqual(bait.harm(), [])
        print("line".ljust(5), "attempt".ljust(70), "stopped by".ljust(36), "verdict".ljust(20), "without it")
        for name, (line, what, layer, _, _) in attempts.ATTEMPTS.items():
            print(line.ljust(5), what.ljust(70), layer.ljust(36), held[name].ljust(20), free[name])
        self.assertEqual({name for name, came in free.items() if came != "worked"}, set(),
                         "do not work where nothing stops them, so this cannot see whether something does")
        self.assertEqual({name for name, came in held.items() if came == "worked"}, set())
