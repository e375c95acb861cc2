"""read_file: text, its windows, line ends and encodings, and what is no regular file."""

import base64
import hashlib

from tables.calls import CallRow as Row

LINES = [f"{number}\n" for number in range(1, 11)]
MOST = 10 ** 15


def bytes_of(content):
    """The command that makes the file f of it."""
    return f"base64 -d >f <<<'{base64.b64encode(content).decode()}'"


def window(offset, limit):
    """Of the ten lines of f, as head and tail have it."""
    begin = offset if offset >= 0 else max(len(LINES) + offset, 0)
    shown = LINES[begin:begin + (limit or len(LINES))]
    end = begin + len(shown)
    more = end < len(LINES)
    start = f"+{begin + 1}" if offset >= 0 else str(-offset)
    return Row(f"window {offset} {limit}".replace("-", "minus "), {"path": "f", "offset": offset,
          **({"limit": limit} if limit else {})},
               setup="seq 10 >f", same_as=f"tail -n {start} f | head -n {limit or 10}",
               data={"content": "".join(shown), "first_line": begin + 1 if shown else 0, "line_count": len(shown),
                     "total_lines": 10, "next_offset": end if more else 0, "truncated_by": "limit" if more else "",
                     "totals_partial": False},
               parts=() if shown else (f"offset {offset:,} is past the end: the file has 10 lines",))


def ends(name, content, lines, ending, final, *parts):
    """Text whose line ends are unusual is given back as it is, and told."""
    return Row("ends " + name, {"path": "f", "line_numbers": False}, setup=bytes_of(content.encode()),
          same_as="cat f",
               data={"kind": "text", "total_lines": lines, "line_count": lines, "line_ending": ending,
                     "final_newline": final, "size_bytes": len(content.encode())}, parts=parts)


def encoded(name, content, shown, encoding, **more):
    return Row("encoding " + name, {"path": "f", "line_numbers": False}, setup=bytes_of(content),
               data={"kind": "text", "content": shown, "encoding": encoding, **more})


def invalid(name, content):
    """Each byte that is no part of a character is one U+FFFD."""
    shown = "".join("\ufffd" if 0xdc80 <= ord(c) <= 0xdcff else c for c in content.decode(errors="surrogateescape"))
    return Row("invalid UTF-8 " + name, {"path": "f", "line_numbers": False}, setup=bytes_of(content),
               data={"kind": "text", "content": shown, "encoding": "invalid-utf-8"}, parts=("not valid UTF-8",))


def pages_are_the_whole(test, row, result):
    """From next_offset to next_offset, until nothing follows."""
    text, count = result.data["content"], 1
    while result.data["next_offset"]:
        result = test.call("read_file", **{**row.arguments, "offset": result.data["next_offset"]})
        text, count = text + result.data["content"], count + 1
    test.assertGreater(count, 1)
    test.assertEqual(hashlib.sha256(text.encode()).hexdigest(), test.output("sha256sum <f")[:64])


def bytes_window(offset, limit):
    begin = offset if offset >= 0 else max(21 + offset, 0)
    taken = "".join(LINES).encode()[begin:][:limit or 21]
    end = begin + len(taken)
    more = bool(taken) and end < 21
    return Row(f"bytes {offset} {limit}".replace("-", "minus "),
               {"path": "f", "encoding": "base64", "offset": offset, **({"limit": limit} if limit else {})},
               setup="seq 10 >f", data={"content": base64.b64encode(taken).decode(), "size_bytes": 21,
                                        "next_offset": end if more else 0, "truncated_by": "limit" if more else ""})


def named(number, name):
    quoted = "'" + name.replace("'", "'\\''") + "'"
    return Row(f"name {number}", {"path": name}, setup=f"echo text >./{quoted}",
               data={"content": "text\n", "path": "{dir}/" + name})


WINDOW_ROWS = (
    *(window(offset, limit) for offset, limit in (
        (0, None), (0, 1), (0, 9), (0, 10), (0, 11), (0, MOST), (1, None), (5, 3), (9, None), (9, 1), (10, None),
        (11, 1), (MOST, MOST), (-1, None), (-1, 1), (-3, 2), (-9, 9), (-10, None), (-11, 1), (-MOST, None),
        (-MOST, MOST))),
    *(bytes_window(offset, limit) for offset, limit in (
        (0, None), (0, 1), (0, 21), (20, 5), (21, None), (MOST, 1), (-1, None), (-5, 2), (-21, None), (-MOST, 3))),
    Row("by default two thousand lines", {"path": "f"}, setup="seq 2001 >f",
        data={"line_count": 2000, "next_offset": 2000, "truncated_by": "limit", "total_lines": 2001},
        parts=("[lines 1–2,000 of 2,001 · next: offset 2000", "\n2000\t2000\n"), lacks=("\t2001",)),
    Row("pages of lines", {"path": "f", "limit": 700}, setup="seq 2500 >f", look=pages_are_the_whole),
    Row("pages of what a result takes", {"path": "f", "limit": MOST}, setup="seq 20000 >f",
        data={"truncated_by": "budget"}, look=pages_are_the_whole),
    Row("pages of wide characters", {"path": "f", "limit": MOST}, data={"truncated_by": "budget"},
        setup="for ((i = 0; i < 2000; i++)); do echo '日本語 ünï 𝄞 日本語日本語日本語日本語'; done >f",
        look=pages_are_the_whole),
    Row("pages without a final newline", {"path": "f", "limit": 3}, setup="seq 10 | head -c -1 >f",
        look=pages_are_the_whole),
    Row("pages with CRLF", {"path": "f", "limit": 4}, setup="seq -f '%g\r' 10 >f", look=pages_are_the_whole),
    Row("numbers of lines", {"path": "f", "offset": 8, "limit": 2}, setup="seq 10 >f", parts=("\n9\t9\n10\t10\n",)),
    Row("no numbers of lines", {"path": "f", "line_numbers": False}, setup="seq 3 >f", parts=("1\n2\n3\n",),
        lacks=("\t",)),
    *(Row(f"refused {name}", {"path": "f", **arguments}, setup="seq 10 >f", refused="invalid_argument", parts=parts)
      for name, arguments, parts in (
          ("limit 0", {"limit": 0}, ("limit",)), ("limit -1", {"limit": -1}, ("limit",)),
          ("limit 1.5", {"limit": 1.5}, ("limit",)), ("limit too large", {"limit": MOST + 1}, ("limit",)),
          ("offset too large", {"offset": MOST + 1}, ("offset",)),
          ("offset too small", {"offset": -MOST - 1}, ("offset",)), ("offset true", {"offset": True}, ("offset",)),
          ("offset text", {"offset": "ten"}, ("offset",)), ("an encoding", {"encoding": "latin-1"}, ("encoding",)),
          ("line_numbers text", {"line_numbers": "maybe"}, ("line_numbers",)),
          ("an unknown key", {"lines": 3}, ("lines",)), ("pages of text", {"pages": "1"}, ("pages",)),
          ("pages 0", {"pages": "0"}, ("pages",)), ("pages backwards", {"pages": "3-2"}, ("pages",)))),
)

TEXT_ROWS = (
    ends("empty", "", 0, "", False, "[the file is empty"),
    ends("a newline", "\n", 1, "lf", True),
    ends("newlines", "\n\n\n", 3, "lf", True),
    ends("one line", "a\n", 1, "lf", True),
    ends("no newline", "a", 1, "", False, "no newline at the end"),
    ends("no final newline", "a\nb", 2, "lf", False, "no newline at the end"),
    ends("blank last line", "a\n\n", 2, "lf", True),
    ends("CRLF", "a\r\nb\r\n", 2, "crlf", True, "CRLF line ends"),
    ends("CRLF without the last", "a\r\nb", 2, "crlf", False, "CRLF line ends", "no newline at the end"),
    ends("only CRLF", "\r\n", 1, "crlf", True, "CRLF line ends"),
    ends("mixed", "a\r\nb\nc\r\n", 3, "mixed", True, "mixed LF and CRLF"),
    ends("CR alone", "a\rb\rc", 1, "", False, "lines end with CR alone"),
    ends("CR at the end", "a\nb\r", 2, "lf", False, "no newline at the end"),
    ends("CR within LF lines", "a\rb\nc\n", 2, "lf", True),
    ends("CR CR LF", "a\r\r\nb\r\r\n", 2, "crlf", True),
    ends("LF CR", "a\n\rb\n\r", 3, "lf", False),
    ends("form feed and vertical tab", "a\fb\vc\n", 1, "lf", True),
    ends("line and paragraph separators", "a\u2028b\u2029c\u0085d\n", 1, "lf", True),
    ends("control characters", "\x1b[31mred\x1b[0m \x07 \x08\x7f\n", 1, "lf", True),
    ends("wide characters", "ünï→𝄞 日本\n", 1, "lf", True),
    ends("a BOM in the midst", "a\ufeffb\n", 1, "lf", True),
    encoded("UTF-8 with a BOM", b"\xef\xbb\xbfa\nb\n", "a\nb\n", "utf-8-bom", total_lines=2, line_ending="lf"),
    encoded("UTF-8 of a BOM alone", b"\xef\xbb\xbf", "", "utf-8-bom", total_lines=0, line_count=0),
    encoded("UTF-16LE", b"\xff\xfe" + "ä\n日𝄞\n".encode("utf-16-le"), "ä\n日𝄞\n", "utf-16le", total_lines=2),
    encoded("UTF-16BE", b"\xfe\xff" + "ä\n日𝄞\n".encode("utf-16-be"), "ä\n日𝄞\n", "utf-16be", total_lines=2),
    encoded("UTF-16LE with CRLF", b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le"), "a\r\nb\r\n", "utf-16le",
            line_ending="crlf", total_lines=2),
    encoded("UTF-16LE of a BOM alone", b"\xff\xfe", "", "utf-16le", total_lines=0),
    encoded("UTF-16LE with no final newline", b"\xff\xfe" + "a\nb".encode("utf-16-le"), "a\nb", "utf-16le",
            final_newline=False, total_lines=2),
    encoded("UTF-16BE with 0a0a", b"\xfe\xff" + "\u0a0a\u0a0ax\n".encode("utf-16-be"), "\u0a0a\u0a0ax\n", "utf-16be",
            total_lines=1),
    encoded("UTF-16LE with 0a00", b"\xff\xfe" + "\u0a00\u000a".encode("utf-16-le"), "\u0a00\n", "utf-16le",
            total_lines=1),
    encoded("UTF-16LE with half a character", b"\xff\xfea\0\x00\xd8b\0\n\0", "a\ufffdb\n", "utf-16le"),
    encoded("UTF-16LE with an odd byte", b"\xff\xfea\0b", "a\ufffd", "utf-16le"),
    invalid("Latin 1", b"stra\xdfe\n"),
    invalid("cut character", b"a\xe2\x82\nb\n"),
    invalid("cut at the end", b"a\xf0\x9f\x98"),
    invalid("overlong", b"\xc0\xaf \xe0\x80\xaf\n"),
    invalid("surrogates", b"\xed\xa0\xbd\xed\xb8\x80\n"),
    invalid("above U+10FFFF", b"\xf4\x90\x80\x80 \xff\xfe\n"),
    invalid("lone continuation", b"\x80\xbf\n"),
    Row("the last lines of UTF-16BE", {"path": "f", "offset": -2, "limit": 1, "line_numbers": False},
        setup="printf '\\xfe\\xff' >f; seq 50 | iconv -t UTF-16BE >>f",
        data={"content": "49\n", "first_line": 49, "next_offset": 49}),
    Row("the last line of a BOM alone", {"path": "f", "offset": -1}, setup=bytes_of(b"\xef\xbb\xbf"),
        data={"content": "", "line_count": 0, "next_offset": 0}),
    Row("the last line of an empty file", {"path": "f", "offset": -1}, setup=": >f",
        data={"content": "", "line_count": 0, "next_offset": 0}, parts=("the file is empty",)),
    Row("bytes of an empty file", {"path": "f", "encoding": "base64"}, setup=": >f",
        data={"content": "", "size_bytes": 0, "next_offset": 0}, parts=("the file is empty",)),
    Row("NUL early", {"path": "f"}, setup=bytes_of(b"a\0b\n"),
        data={"kind": "binary", "content": "", "size_bytes": 4}, parts=("61 00 62 0a",)),
    Row("NUL late", {"path": "f", "limit": 1}, setup="seq 100000 >f; printf 'a\\0b\\n' >>f",
        data={"content": "1\n", "total_lines": 100001}),
    Row("NUL late at the end", {"path": "f", "offset": -1, "line_numbers": False},
        setup="seq 100000 >f; printf 'a\\0b\\n' >>f", data={"content": "a\0b\n", "first_line": 100001}),
    Row("UTF-16 without a BOM", {"path": "f"}, setup=bytes_of("text\n".encode("utf-16-le")), data={"kind": "binary"}),
    Row("UTF-32 with a BOM", {"path": "f"}, setup=bytes_of(b"\xff\xfe\0\0" + "text\n".encode("utf-32-le")),
        data={"kind": "binary"}),
    Row("an ELF file", {"path": "/usr/bin/env"}, data={"kind": "binary", "mime_type": "application/x-executable"},
        parts=("7f 45 4c 46",)),
    Row("a line of more than a result", {"path": "f"},
          setup="head -c 200000 /dev/zero | tr '\\0' x >f; echo >>f; echo z >>f",
        data={"line_count": 1, "truncated_by": "line", "next_offset": 1, "total_lines": 2},
              parts=("is too long and was cut",)),
    Row("a long line behind a short one", {"path": "f"},
        setup="echo a >f; head -c 200000 /dev/zero | tr '\\0' x >>f; echo >>f",
        data={"content": "a\n", "line_count": 1, "truncated_by": "budget", "next_offset": 1}),
    Row("a long line of wide characters", {"path": "f"},
        setup="for ((i = 0; i < 6000; i++)); do printf '日本語日本語日本語日'; done >f",
        data={"line_count": 1, "truncated_by": "line", "next_offset": 0},
        look=lambda test, row, result: test.assertEqual(set(result.data["content"]), set("日本語"))),
    Row("a sparse file", {"path": "f"}, setup="truncate -s 10G f",
        data={"kind": "binary", "size_bytes": 10 << 30, "sha256": ""}),
    Row("bytes in a sparse file", {"path": "f", "encoding": "base64", "offset": 5 << 30, "limit": 3},
        setup="truncate -s 10G f", data={"content": "AAAA", "next_offset": (5 << 30) + 3}),
    Row("bytes behind a sparse file", {"path": "f", "encoding": "base64", "offset": 11 << 30},
        setup="truncate -s 10G f", data={"content": "", "next_offset": 0}, parts=("is past the end",)),
)

PLACE_ROWS = (
    *(named(number, name) for number, name in enumerate(("a b", " ", "a\nb", "\ttab", "ü", "日本", "e\u0301", "-rf",
          "--", "~x", "a\\b", "*", "[z]",
                               "%s", "$HOME", "'", '"', "`id`", "a;b", "#", "...", "x" * 255, "(deleted)",
                               "a (deleted)"))),
    *(Row(f"path {name}", {"path": path},
          setup="mkdir d; echo text >f; ln -s f link; ln -s . here; ln -s {dir}/f far",
          data={"content": "text\n"})
      for name, path in (("relative", "f"), ("with a dot", "./f"), ("absolute", "/{dir}/f"), ("slashes", "d/..///f"),
                         ("link", "link"), ("link of a folder", "here/here/f"), ("above and back",
                               "../path_above_and_back/f"),
                         ("of the root", "/../{dir}/f"))),
    Row("a file called tilde", {"path": "./~"}, setup="echo text >./~", data={"content": "text\n"}),
    Row("the home", {"path": "~"}, data={"kind": "directory"}),
    Row("below the home", {"path": "~/rows"}, data={"kind": "directory"}),
    Row("the path of a link is what it leads to", {"path": "link"}, setup="echo text >f; ln -s f link",
        data={"path": "{dir}/f"}),
    *(Row(f"no file {name}", {"path": path}, refused=word, parts=parts,
          setup="echo text >file.txt; mkdir folder; ln -s gone dangling; ln -s b a; ln -s a b; ln -s self self")
      for name, path, word, parts in (
          ("missing", "other.txt", "not_found", ("{dir}/other.txt does not exist",)),
          ("near", "flie.txt", "not_found", ("did you mean {dir}/file.txt?",)),
          ("other case", "FILE.TXT", "not_found", ("did you mean {dir}/file.txt?",)),
          ("near folder", "floder/x", "not_found", ("{dir}/floder does not exist", "did you mean {dir}/folder?")),
          ("deep", "x/y/z", "not_found", ("the directory {dir}/x does not exist",)),
          ("dangling", "dangling", "not_found", ("is a symbolic link to something that does not exist",)),
          ("loop of links", "a", "invalid_path", ("symbolic links",)),
          ("link to itself", "self", "invalid_path", ("symbolic links",)),
          ("below a file", "file.txt/x", "invalid_path", ("{dir}/file.txt is a file",)),
          ("file with a slash", "file.txt/", "invalid_path", ("{dir}/file.txt is a file",)),
          ("name too long", "x" * 256, "invalid_path", ("255",)),
          ("path too long", "x/" * 2100, "invalid_path", ("4095",)),
          ("NUL in it", "a\0b", "invalid_path", ("NUL",)), ("of a user", "~nobody/f", "not_found", ()))),
    *(Row(f"special {name}", {"path": path}, refused="not_a_file", parts=parts, setup=setup)
      for name, path, setup, parts in (
          ("fifo", "p", "mkfifo p", ("a named pipe",)),
          ("socket", "s", "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'",
                ("a socket",)),
          ("zero", "/dev/zero", "", ("a device",)), ("null", "/dev/null", "", ("a device",)),
          ("tty", "/dev/tty", "", ("a device",)), ("link to a device", "l", "ln -s /dev/zero l", ("a device",)),
          ("link to a fifo", "l", "mkfifo p; ln -s p l", ("a named pipe",)))),
    Row("may not be read", {"path": "f"}, setup="echo text >f; chmod 0 f", refused="permission_denied",
        parts=("{dir}/f",), sandboxes_only=True),
    Row("folder may not be entered", {"path": "d/f"}, setup="mkdir d; touch d/f; chmod 0 d",
          refused="permission_denied",
        parts=("the folder {dir}/d may not be entered",), sandboxes_only=True),
    Row("folder may not be listed", {"path": "d"}, setup="mkdir d; chmod 300 d", refused="permission_denied",
        sandboxes_only=True),
    Row("file in a folder that may not be listed", {"path": "d/f"}, setup="mkdir d; echo text >d/f; chmod 300 d",
        data={"content": "text\n"}),
    *(Row(f"proc {path}", {"path": path, "line_numbers": False}, same_as=f"cat {path}", data={"kind": "text"})
      for path in ("/proc/sys/kernel/ostype", "/proc/filesystems", "/proc/version", "/proc/cmdline")),
    Row("the end of proc", {"path": "/proc/filesystems", "offset": -2, "line_numbers": False},
        same_as="tail -n 2 /proc/filesystems"),
    Row("the memory of the guest", {"path": "/proc/self/mem"}, refused="permission_denied"),
    Row("the environment of the guest", {"path": "/proc/self/environ"}, refused="permission_denied"),
    Row("a folder", {"path": "."}, setup="mkdir b .c; echo text >a; ln -s a l; mkfifo p; touch 'x\ny'",
        data={"kind": "directory", "total_entries": 6, "entries": [
            {"name": ".c", "type": "directory", "size_bytes": 0, "target": ""},
            {"name": "a", "type": "file", "size_bytes": 5, "target": ""},
            {"name": "b", "type": "directory", "size_bytes": 0, "target": ""},
            {"name": "l", "type": "symlink", "size_bytes": 0, "target": "a"},
            {"name": "p", "type": "fifo", "size_bytes": 0, "target": ""},
            {"name": "x\ny", "type": "file", "size_bytes": 0, "target": ""}]},
        parts=("a  5 bytes\n", "b/\n", "l -> a\n")),
    Row("an empty folder", {"path": "."}, data={"entries": [], "total_entries": 0, "next_offset": 0},
        parts=("empty directory",)),
    *(Row(f"part of a folder {offset} {limit}".replace("-", "minus "), {"path": ".", "offset": offset,
          **({"limit": limit} if limit else {})},
          setup="touch {a..j}", data={"next_offset": following, "total_entries": 10}, parts=parts,
          look=lambda test, row, result, names=names: test.assertEqual(
              "".join(entry["name"] for entry in result.data["entries"]), names))
      for offset, limit, names, following, parts in (
          (0, 3, "abc", 3, ("next: offset 3",)), (8, 5, "ij", 0, ()), (10, None, "", 0, ("past the end",)),
          (-2, None, "ij", 0, ()), (-3, 1, "h", 8, ("next: offset 8",)), (-99, 2, "ab", 2, ()))),
)
