"""What is outside of the root: reached through what somebody outside hands in. The second wall behind
the mount namespace."""

import os
import socket
import textwrap
import threading

from sandbox import EscapeTest

RECEIVE = textwrap.dedent("""
    import os, socket, errno
    def attempt(what, function):
        try:
            function()
            print(what, "worked")
        except OSError as error:
            print(what, errno.errorcode[error.errno])
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect("/home/user/shared/socket")
        _, (folder, file), _, _ = socket.recv_fds(peer, 1, 2)
    # What is open stays open: who handed it in meant it.
    print("file", os.read(file, 64).decode())
    attempt("read", lambda: os.open("secret", os.O_RDONLY, dir_fd=folder))
    attempt("list", lambda: os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder))
    attempt("climb", lambda: os.open("../../etc/passwd", os.O_RDONLY, dir_fd=folder))
    attempt("write", lambda: os.open("secret", os.O_WRONLY, dir_fd=folder))
    attempt("create", lambda: os.open("planted", os.O_WRONLY | os.O_CREAT, 0o666, dir_fd=folder))
    attempt("truncate", lambda: os.truncate(f"/proc/self/fd/{folder}/secret", 0))
    attempt("remove", lambda: os.unlink("victim", dir_fd=folder))
    attempt("link", lambda: os.link("secret", "/home/user/shared/link", src_dir_fd=folder))
""")
ATTEMPTS = ("read", "list", "climb", "write", "create", "truncate", "remove")

ABSTRACT = textwrap.dedent("""
    import errno, socket, sys
    try:
        socket.socket(socket.AF_UNIX).connect(b"\\0" + sys.argv[1].encode())
        print("worked")
    except OSError as error:
        print(errno.errorcode[error.errno])
""")

QUEUES = textwrap.dedent("""
    import ctypes, errno, os
    libc = ctypes.CDLL(None, use_errno=True)
    create = os.O_CREAT | os.O_RDWR
    for what, made in (("posix", lambda: libc.mq_open(b"/queue", create, 0o600, None)),
                       ("memory", lambda: libc.shmget(0, 4096, 0o600)),
                       ("messages", lambda: libc.msgget(0, 0o600)),
                       ("semaphores", lambda: libc.semget(0, 1, 0o600))):
        print(what, "worked" if made() >= 0 else errno.errorcode[ctypes.get_errno()])
""")


class OutsideTest(EscapeTest):
    def hand_in(self, folder, *paths):
        """Listens in the folder, for one who connects, and gives them these, opened."""
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(folder / "socket"))
        os.chmod(folder / "socket", 0o666)
        listener.listen()
        opened = [os.open(path, os.O_RDONLY) for path in paths]
        for fd in opened:
            self.addCleanup(os.close, fd)

        def answer():
            with listener.accept()[0] as peer:
                socket.send_fds(peer, [b"x"], opened)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 10)

    def attack(self, without=None):
        outside, shared = self.folder(), self.folder()
        os.chmod(outside, 0o777)
        os.chmod(shared, 0o777)
        for name in ("secret", "victim"):
            (outside / name).write_text("of the host")
            os.chmod(outside / name, 0o666)
        self.hand_in(shared, outside, outside / "secret")
        berth = self.start("--mount", f"{shared}:/home/user/shared:rw", without=without)
        output = self.output(berth, f"python3 - <<'END'\n{RECEIVE}\nEND")
        in_force = self.layer(berth, "landlock")
        self.assertIn("file of the host", output)
        return dict(line.split(" ", 1) for line in output.splitlines()), outside, in_force

    def test_a_folder_from_outside_opens_nothing(self):
        free, outside, in_force = self.attack(without="landlock")
        self.assertFalse(in_force)
        self.assertEqual({what: free[what] for what in ATTEMPTS}, dict.fromkeys(ATTEMPTS, "worked"))
        self.assertEqual((outside / "secret").read_text(), "")
        held, outside, in_force = self.attack()
        self.assertTrue(in_force, "this kernel has no Landlock: what is promised cannot be seen here")
        self.assertEqual({what: held[what] for what in ATTEMPTS}, dict.fromkeys(ATTEMPTS, "EACCES"))
        self.assertNotEqual(held["link"], "worked")
        self.assertEqual(sorted(os.listdir(outside)), ["secret", "victim"])
        self.assertEqual((outside / "secret").read_text(), "of the host")

    def test_no_abstract_socket_of_the_host_with_its_network(self):
        name = f"berth-escape-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(b"\0" + name.encode())
            listener.listen()

            def tried(*arguments, without=None):
                berth = self.start(*arguments, without=without)
                return self.output(berth, f"python3 - {name} <<'END'\n{ABSTRACT}\nEND").strip()

            self.assertEqual(tried("--network", "host", without="landlock"), "worked")
            self.assertEqual(tried("--network", "host"), "EPERM")
            self.assertEqual(tried(without="landlock"), "ECONNREFUSED")  # there is none of that name

    def test_queues_lie_below_no_root(self):
        def tried(without=None):
            output = self.output(self.start(without=without), f"python3 - <<'END'\n{QUEUES}\nEND")
            return dict(line.split(" ") for line in output.splitlines())

        free = dict.fromkeys(("posix", "memory", "messages", "semaphores"), "worked")
        self.assertEqual(tried(without="landlock"), free)
        self.assertEqual(tried(), {**free, "posix": "EACCES"})
