"""Parts of a multipart body as they come, without holding more than a piece of them."""

import email.message


class Malformed(Exception):
    pass


class Parts:
    def __init__(self, pieces, content_type):
        message = email.message.Message()
        message["content-type"] = content_type
        boundary = message.get_param("boundary")
        if not boundary:
            raise Malformed("no multipart boundary param in Content-Type")
        self._mark = b"\r\n--" + boundary.encode()
        self._pieces = iter(pieces)
        self._held = b"\r\n"  # the first mark has none before it

    def _more(self):
        try:
            self._held += next(self._pieces)
        except StopIteration as error:
            raise Malformed("multipart: NextPart: unexpected EOF") from error

    def _content(self):
        """Pieces up to the next mark, which is taken too."""
        while (end := self._held.find(self._mark)) < 0:
            keep = len(self._mark) - 1
            if len(self._held) > keep:
                yield self._held[:-keep]
                self._held = self._held[-keep:]
            self._more()
        if end:
            yield self._held[:end]
        self._held = self._held[end + len(self._mark):]

    def _line(self):
        while b"\r\n" not in self._held:
            self._more()
        line, _, self._held = self._held.partition(b"\r\n")
        return line.decode(errors="surrogateescape")

    def __iter__(self):
        """(form name, file name or None, pieces) of each; the pieces must be taken before the next."""
        for _ in self._content():
            pass  # what is before the first mark
        while True:
            while len(self._held) < 2:
                self._more()
            if self._held.startswith(b"--"):
                return
            self._line()
            headers = email.message.Message()
            while line := self._line():
                name, _, value = line.partition(":")
                headers[name] = value.strip()
            self._held = b"\r\n" + self._held if self._held.startswith(self._mark[2:]) else self._held
            content = self._content()
            yield (headers.get_param("name", header="content-disposition"),
                   headers.get_param("filename", header="content-disposition"), content)
            for _ in content:
                pass
