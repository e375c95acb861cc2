"""What a sandbox has of this host, and that the programs people expect work with it."""

import os
import shutil
import subprocess
import sys
import tempfile

from suite import ParityTest, local_only

# Run at the host and inside: both must print the same.
ETC = r"""cd /etc || exit; export LC_ALL=C
find -L ssl/certs ld.so.conf.d -type f -perm -o=r -exec sha256sum {} + 2>/dev/null | sort
for file in ld.so.cache ld.so.conf ssl/openssl.cnf ca-certificates.conf mime.types protocols services
do [ ! -r $file ] || sha256sum $file; done
find alternatives -type l -printf '%p %l\n' | sort
"""
ETC_NEEDED = (" ssl/certs/ca-certificates.crt\n", " ld.so.cache\n", " ssl/openssl.cnf\n",
              "alternatives/awk ")
DEVICES = r"""
for name in null zero full random urandom tty ptmx; do test -c /dev/$name || echo no $name; done
echo x >/dev/null; cat /dev/null
head -c 3 /dev/zero | od -An -tx1
{ echo x | cat >/dev/full; } 2>&1 | grep -o 'No space left on device'
for name in random urandom; do head -c 16 /dev/$name | wc -c; done
cat /dev/stdin; cat /dev/fd/3 3<<<three
echo out >/dev/stdout; echo err >/dev/stderr
python3 -c 'import pty; pty.spawn(["sh", "-c", "echo terminal >/dev/tty"])' </dev/null | tr -d '\r'
echo shared >/dev/shm/f; cat /dev/shm/f
"""
DEVICES_SAY = (" 00 00 00\nNo space left on device\n16\n16\ngiven\nthree\nout\nterminal\nshared\n",
               "err\n")
TRUST = r"""
import java.security.KeyStore;
import javax.net.ssl.*;
public class Trust {
    public static void main(String[] none) throws Exception {
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init((KeyStore) null);
        SSLContext.getDefault().createSSLEngine();
        int known = ((X509TrustManager) trust.getTrustManagers()[0]).getAcceptedIssuers().length;
        System.out.println(known > 10 ? "trusts" : "trusts nobody");
    }
}
"""
# {program: (command, what its output ends with)}
NEEDED = {  # by the packages of packages.txt and packages-test.txt
    "awk": ("echo 1 2 | awk '{print $1+$2}'", "3\n"),
    "cc": ("echo 'int main(void){return 7;}' >a.c && cc a.c -o a && { ./a; echo $?; }", "7\n"),
    "g++": ("echo '#include <string>\nint main(){return int(std::string(\"ab\").size());}' >b.cpp && "
            "g++ b.cpp -o b && { ./b; echo $?; }", "2\n"),
    "curl": ("curl --version | head -n 1 | cut -c 1-5; curl -s file:///etc/hostname", "berth\n"),
    "git": ("git init -q r && cd r && echo a >f && git add f && git commit -qm first && "
            "git log --format=%s", "first\n"),
    # Those that a filter of system calls or a second wall may break: what does is wrong, not they.
    "gcc": ("printf '#include <stdlib.h>\nint main(int n, char **v) { char *p = malloc(8); free(p); "
            "return p[n]; }' >u.c && cc -fsanitize=address u.c -o u && ./u 2>&1 | "
            "grep -o heap-use-after-free | head -n 1; printf '#include <stdlib.h>\nvoid *p; int main(void) "
            "{ p = malloc(7); p = 0; return 0; }' >l.c && cc -fsanitize=address l.c -o l && "
            "./l 2>&1 | grep -o '7 byte(s) leaked'", "heap-use-after-free\n7 byte(s) leaked\n"),
    "gdb": ("echo 'int f(int a){return a*2;} int main(void){return f(21);}' >g.c && cc -g g.c -o g && "
            "gdb -q -batch -ex 'break f' -ex run -ex finish ./g 2>&1 | tail -n 1",
            "Value returned is $1 = 42\n"),
    "strace": ("strace -f -e trace=execve -o t sh -c 'true; /bin/true' && grep -c execve t; "
               "strace -o t -e trace=chdir -e inject=chdir:error=ENOENT sh -c 'cd / 2>t2 || echo left out'",
               "2\nleft out\n"),
    "ip": ("ip -o address show lo | grep -o 127.0.0.1", "127.0.0.1\n"),
    "setarch": ("setarch -R uname -s", "Linux\n"),
    "make": ("printf 'all: a b c\\n\\t@echo made\\na b c:\\n\\t@sleep 0.1\\n' >Makefile && make -j4", "made\n"),
    "perl": ("perl -MPOSIX -e 'print +(getpwuid($<))[0], \"\\n\"'", "user\n"),
    "python3": ("python3 -c 'import os, pwd, ssl; print(pwd.getpwuid(os.getuid()).pw_dir, "
                "len(ssl.create_default_context().get_ca_certs()) > 10)'; python3 -c '"
                "import multiprocessing, concurrent.futures as f; "
                "print(sum(f.ThreadPoolExecutor(8).map(int, \"1234\")), "
                "sum(multiprocessing.Pool(2).map(int, \"1234\")))'", "/home/user True\n10 10\n"),
    "rg": ("echo found >f.txt && rg -o found f.txt", "found\n"),
}
WHERE_INSTALLED = {
    "java": ("if command -v javac >/dev/null; then java Trust.java; else "
             "keytool -list -cacerts -storepass changeit | grep -q trustedCertEntry && echo trusts; "
             "fi", "trusts\n"),
    "node": ("node -e 'require(\"tls\").createSecureContext(); "
             "console.log(require(\"os\").userInfo().username)'", "user\n"),
    # From a server on loopback, as from a registry.
    "npm": ("mkdir p q && cd p && npm init -y >/dev/null && npm pack --silent >/dev/null && "
            "{ python3 -m http.server --bind 127.0.0.1 8123 >/dev/null 2>&1 & } && cd ../q && "
            "npm init -y >/dev/null && curl -s --retry 20 --retry-connrefused --retry-delay 1 "
            "http://127.0.0.1:8123/ >/dev/null && npm install --silent --no-audit --no-fund "
            "http://127.0.0.1:8123/p-1.0.0.tgz >/dev/null && kill %1 && npm ls --parseable | tail -n 1",
            "/home/user/q/node_modules/p\n"),
    "pip": ("mkdir -p w/simple/tiny && cd w && python3 -c 'import zipfile as z\n"
            "f = z.ZipFile(\"simple/tiny/tiny-1-py3-none-any.whl\", \"w\")\n"
            "f.writestr(\"tiny.py\", \"print(42)\")\n"
            "f.writestr(\"tiny-1.dist-info/METADATA\", \"Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n\")\n"
            "f.writestr(\"tiny-1.dist-info/WHEEL\", \"Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n\")\n"
            "f.writestr(\"tiny-1.dist-info/RECORD\", \"\")' && "
            "{ python3 -m http.server --bind 127.0.0.1 8124 >/dev/null 2>&1 & } && "
            "curl -s --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:8124/ >/dev/null && "
            "pip install -q --index-url http://127.0.0.1:8124/simple tiny && kill %1 && python3 -m tiny",
            "42\n"),
    "vim": ("vim -es -u NONE -c 'normal ihello' -c wq v.txt; cat v.txt", "hello\n"),
}


def sanitizers_work_here():
    """User Mode Linux (tests/uml.sh) has other things at their addresses."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        return "User Mode Linux" not in file.read()


@local_only
class InsideTest(ParityTest):
    def test_devices(self):
        data = self.run_command(DEVICES, stdin="given\n").data
        self.assertEqual((data["stdout"], data["stderr"]), DEVICES_SAY)

    def test_etc_has_what_programs_read(self):
        outside = subprocess.run(["sh", "-c", ETC], capture_output=True, text=True, timeout=60,
                                 check=True).stdout
        for line in ETC_NEEDED:
            self.assertIn(line, outside)  # else there is nothing to compare
        self.output(f"sh >etc.txt <<'END'\n{ETC}\nEND")
        inside = self.whole("etc.txt")
        self.assertEqual(inside.splitlines(), outside.splitlines())

    def whole(self, path):
        text, offset = "", 0
        while True:
            page = self.call("read_file", path=path, offset=offset, line_numbers=False).data
            text, offset = text + page["content"], page["next_offset"]
            if not offset:
                return text

    def test_git_works_in_a_mount_of_somebody_else(self):
        """The files of a read-only mount may belong to nobody inside."""
        with tempfile.TemporaryDirectory(prefix="berth-git-") as folder:
            repository = os.path.join(folder, "r")
            git = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b.invalid"]
            for command in (["git", "init", "-q", repository],
                            [*git, "commit", "-q", "--allow-empty", "-m", "first"]):
                subprocess.run(command, check=True, timeout=30)
            berth = self.start("--mount", f"{repository}:/mnt/r:ro")
            result = berth.call_tool("bash_exec", {
                "command": "cd /mnt/r && stat -c %U . && git log --format=%s && git status -s"})
            owner = "nobody" if os.geteuid() == 0 else "user"
            self.assertEqual((result.data["stdout"], result.data["stderr"]), (f"{owner}\nfirst\n", ""))

    def test_programs(self):
        self.call("write_file", path="Trust.java", content=TRUST)
        missing = []
        for name, (command, end) in {**NEEDED, **WHERE_INSTALLED}.items():
            with self.subTest(name):
                if shutil.which(name, path="/usr/local/bin:/usr/bin:/bin"):
                    if name == "gcc" and not sanitizers_work_here():
                        continue
                    data = self.run_command(f"cd; {command}", timeout=60).data
                    self.assertEqual(data["exit_code"], 0, data)
                    self.assertTrue(data["stdout"].endswith(end), data)
                else:
                    self.assertNotIn(name, NEEDED, "see packaging/packages-test.txt")
                    missing.append(name)
        if missing:
            print(f"not installed here, so not tried inside: {', '.join(missing)}", file=sys.stderr)
