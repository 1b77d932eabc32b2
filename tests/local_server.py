"""A server of the tests' own, which can break off, change its file and refuse."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Serves one file; at most `cut` bytes at a time, if set; keeps the ranges it was asked for."""

    daemon_threads = False  # closing waits for every answer, so no socket is left behind
    content = b""
    cut = 0
    tag = '"one"'
    knows_ranges = True
    asked: list


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.asked.append(wanted)
        if self.path != "/file":
            self.send_error(404)
            return
        start = 0
        is_same = self.headers.get("If-Range") in (None, server.tag)
        if wanted and server.knows_ranges and is_same:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(server.content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(server.content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            end = len(server.content) - 1
            self.send_header("Content-Range", f"bytes {start}-{end}/{len(server.content)}")
        else:
            self.send_response(200)
        self.send_header("ETag", server.tag)
        self.send_header("Content-Length", str(len(server.content) - start))
        self.end_headers()
        stop = start + server.cut if server.cut else None
        self.wfile.write(server.content[start:stop])

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(content: bytes) -> Iterator[Server]:
    """Yield a running server of /file."""
    with Server(("127.0.0.1", 0), Handler) as running:
        running.content, running.asked = content, []
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()
