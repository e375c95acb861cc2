"""What a session must be after its server was killed, looked at by the next one, and by the host."""

import re
import time

from load import follow

REMEMBERED = 32  # jobs that have ended and are known
CHECK = ": check; "  # what a command that only looks begins with


def told_jobs(notices, world):
    """({token: job id} of the outcomes that the notices name, how many more there are, what is wrong)"""
    named, more, wrong = {}, 0, []
    for notice in notices:
        if found := re.match(r"nor did the results of (\d+) earlier commands? reach anybody", notice):
            more += int(found[1])
            continue
        if f"`{CHECK}" in notice:
            continue  # it was read, and the server killed before it knew
        commands, jobs = world.named_in(notice), re.findall(r"job-\d+-\w+", notice)
        known = "was left to run" in notice  # somebody was told that it goes on
        if len(commands) != 1 or not jobs or not ("reached nobody" in notice or known):
            wrong.append(f"told, and of nothing that was begun: {notice}")
        elif commands[0].refused:
            wrong.append(f"refused, and told of: {notice}")
        else:
            named[commands[0].token] = jobs[0]
    return named, more, wrong


class Books:
    """The checks of one world, by a server whose first call they are."""

    def __init__(self, world, server, whispered=False):
        """`whispered`: a server before this one was killed at its first call, and may have been told
        what nobody knows. Then the list of jobs must know it."""
        self.world = world
        self.server = server
        self.wrong = []
        self.twice = 0  # told though their results were read
        self.unseen = 0
        self._whispered = whispered

    def call(self, tool, **arguments):
        result = self.server.call_tool(tool, arguments)
        # Of a job that its server had told and that ends meanwhile any result may tell.
        news = [notice for notice in result.notices if "was left to run, nobody has been told" not in notice]
        if result.is_error or news:
            self.wrong.append(f"{tool} {arguments}: {result} {result.notices}")
        return result.data

    def run(self, command, **arguments):
        return self.call("bash_exec", command=CHECK + command, **arguments).get("stdout", "")

    def check(self):
        """What is wrong; the world knows afterwards what is."""
        first = self.server.call_tool("bash_exec", {"command": CHECK + "pwd"})
        if first.is_error:
            return [f"the first call: {first}"]
        self._check_outcomes(first.notices)
        self._check_jobs()
        self._check_ledger()
        self._check_directory(first.data["stdout"].rstrip("\n"))
        self._check_files()
        self._check_workspace()
        return self.wrong

    # ---- outcomes

    def _check_outcomes(self, notices):
        named, more, wrong = told_jobs(notices, self.world)
        self.wrong += wrong
        info = self.call("session_info")
        listed = {}
        for job in info["jobs"] + info["ended_jobs"]:
            for command in self.world.named_in(job["command"]):
                listed[command.token] = job["job_id"]
        self._check_kept(info)
        unknown = [command for command in self.world.commands.values()
                   if not (command.answered or command.refused or command.job)]
        untold = []
        for command in unknown:
            command.job = named.get(command.token) or listed.get(command.token) or ""
            if command.job and command.token not in named:
                untold.append(command.token)
        if len(untold) > more and not self._whispered:
            jobs = [job for job in info["jobs"] + info["ended_jobs"]
                    if any(f"echo {token} >>" in job["command"] for token in untold)]
            self.wrong.append(f"not told, though they ran: {jobs}; told: {notices}")
        self.unseen += len([command for command in unknown if command.job])
        self._check_told_twice(named)

    def _check_told_twice(self, named):
        for token, job in named.items():
            command = self.world.commands[token]
            if command.answered:
                self.twice += 1
                if command.background and command.job != job:
                    self.wrong.append(f"{token} was {command.job} and is {job}")
            elif command.done:
                self.wrong.append(f"{token} is told again")

    def _check_kept(self, info):
        """One may be forgotten for later ones whose outcomes are known too, not for those of which nobody
        knows. Which of these a server that was killed at its first call was told, nobody can tell."""
        listed = {job["job_id"] for job in info["jobs"] + info["ended_jobs"]}
        known = [job for job in info["ended_jobs"]
                 if self._whispered or all(command.job or command.answered
                                           for command in self.world.named_in(job["command"]))]
        for command in self.world.jobs():
            if command.job not in listed:
                command.done = True
                if len(known) < REMEMBERED:
                    self.wrong.append(f"{command.token}: {command.job} is forgotten")

    # ---- jobs

    def _check_jobs(self):
        """From their beginnings and from their cursors; those of the foreground come to their ends."""
        for command in self.world.jobs():
            whole = self.call("bash_output", job_id=command.job)
            if "stdout" not in whole:
                continue  # which is wrong, and said
            if not whole["stdout"].startswith(command.read):
                self.wrong.append(f"{command.token}: {command.read!r} became {whole['stdout']!r}")
            while True:
                self.wrong += follow(command, self.call(
                    "bash_output", job_id=command.job, since=command.cursor,
                    wait=0 if command.background else 5))
                if command.done or command.background or self.wrong:
                    break

    def _check_ledger(self):
        """What is not known by now has not run, and will not."""
        lines = self.run("cat ~/ledger 2>/dev/null; true").split()
        counts = {token: lines.count(token) for token in set(lines)}
        for command in list(self.world.commands.values()):
            count = counts.pop(command.token, 0)
            least = command.answered or bool(command.job)
            if command.job and command.background and not command.done and count == 0:
                continue  # it has just been begun
            if not least <= count <= (0 if command.refused else least):
                self.wrong.append(f"{command.token} ran {count} times: {command}")
        if counts:
            self.wrong.append(f"nobody sent {counts}")

    # ---- files

    def _check_directory(self, found):
        home = self.call("session_info")["home"]
        could = [f"{home}/{name}".rstrip("/") for name in self.world.directories]
        if found not in could:
            self.wrong.append(f"it stands in {found}, and not in one of {could}")
        self.world.directories = [found[len(home):].lstrip("/")]

    def _check_files(self):
        texts = self.world.home()
        expected = {text.path for text in texts} | {"ledger"}
        end = time.monotonic() + 2
        while True:  # what was in flight may still be written
            names = self.run("cd ~ && find . -type f -printf '%P\\n'", workdir="/tmp").split("\n")[:-1]
            strange = [name for name in names if name not in expected]
            if not strange or time.monotonic() > end:
                break
            time.sleep(0.05)
        if strange:
            self.wrong.append(f"files that nobody wrote: {strange}")
        sums = self._sums("~")
        for text in texts:
            self.wrong += text.settle(sums.get(text.path))

    def _sums(self, folder):
        """{path below the folder: sha256}"""
        told = self.run(f"cd {folder} && find . -type f -exec sha256sum -- {{}} +", workdir="/tmp")
        return {line[68:]: line[:64] for line in told.splitlines()}  # SHA, two spaces, "./"

    # ---- the workspace

    def _check_workspace(self):
        """As the list tells it, and as it is when it is loaded."""
        top = f"/{self.world.name}"
        listed = {file["workspace_path"]: file["sha256"] for file in
                  self.call("list_workspace_files", prefix=top, limit=10_000).get("files", [])}
        if listed:
            self.call("load_from_workspace", workspace_path=top, sandbox_path="~/looked")
            whole = {f"{top}/{name}": found for name, found in self._sums("~/looked").items()}
            self.run("rm -r ~/looked", workdir="/tmp")
            if whole != listed:
                self.wrong.append(f"the workspace lists {listed} and has {whole}")
        for shelf in self.world.shelves:
            self.wrong += shelf.one.settle(listed.pop(shelf.one.path, None))
            below = [path for path in listed if path.startswith(shelf.all.path + "/")]
            self.wrong += shelf.all.settle({path.rpartition("/")[2]: listed.pop(path) for path in below})
        if listed:
            self.wrong.append(f"nobody saved {listed}")

