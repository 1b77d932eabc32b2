"""The playground over HTTP: one page, its files, and a JSON API; by default for this machine only.

Paths are looked up in tables and never become names of files. An answer is JSON unless it is one of
the page's own files, and what goes wrong is `{"error": "one line"}` with a status that fits.
"""

import errno
import ipaddress
import json
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6, gaierror
from typing import Any, NoReturn
from urllib.parse import SplitResult, parse_qs, urlsplit

from voi.errors import ConfigError, VoiError
from voi.plots.stepper import filled, template
from voi.serve.playground import BusyError, Playground
from voi.serve.requests import read_json

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
MOST_DRAINED = 2**20  # bytes read of a body that is too long, so that its sender hears of it
ASKED = ("generate", "order", "likelihood")
TOLD = ("about", "image")


@dataclass(frozen=True)
class File:
    """A file of the page, as it is sent."""

    kind: str
    text: str


def page_files() -> dict[str, File]:
    """Return the files of the page by their paths."""
    stepper = filled(template("voi.plots", "stepper.html"), KEYS='data-keys="inside" tabindex="0"')
    return {
        "/": File("text/html", filled(template("voi.serve", "page.html"), STEPPER=stepper)),
        "/playground.js": File("text/javascript", template("voi.serve", "playground.js")),
        "/playground.css": File("text/css", template("voi.serve", "playground.css")),
        "/stepper.js": File("text/javascript", template("voi.plots", "stepper.js")),
        "/stepper.css": File("text/css", template("voi.plots", "stepper.css")),
    }


class Server(ThreadingHTTPServer):
    """Listens from the moment it is made, and answers once it has a playground and runs."""

    playground: Playground

    def __init__(self, host: str, port: int):
        self.address_family = AF_INET6 if ":" in host else AF_INET
        self.host = host
        self.files: Mapping[str, File] = page_files()
        super().__init__((host, port), Handler)

    @property
    def is_local(self) -> bool:
        """Can only this machine reach it?"""
        return ipaddress.ip_address(str(self.server_address[0])).is_loopback

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.server_address[1]}"

    def run(self, playground: Playground) -> None:
        """Answer requests until Ctrl-C, then wait for the one under way."""
        self.playground = playground
        try:
            self.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            self.server_close()
            playground.finish()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that has gone; show any other fault."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def open_server(host: str = "127.0.0.1", port: int = 8765) -> Server:
    """Return a server that listens on a port; 0 takes a free one. A port in use is an error."""
    try:
        return Server(host, port)
    except (OSError, OverflowError) as error:
        raise ConfigError(_why_not(error, host, port)) from error


def _why_not(error: Exception, host: str, port: int) -> str:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: end what listens there, or give another --port"
    if number == errno.EACCES:
        return f"port {port} is not open to this user: give a --port of 1024 or more"
    if isinstance(error, gaierror) or number == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine: give --host 127.0.0.1"
    return f"cannot listen on {host} port {port} ({error}): give another --host or --port"


class Refusal(Exception):
    """A request that is refused with a status and one line."""

    def __init__(self, status: HTTPStatus, reason: str, **headers: str):
        super().__init__(reason)
        self.status, self.reason, self.headers = status, reason, headers


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "voi", ""
    timeout = 60  # seconds without a word from the browser

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def _answer(self) -> None:
        try:
            self.body = self._read_body()
            self._check_host()
            address = self._address()
            if address.path in self.server.files and self._is("GET"):
                self._send(HTTPStatus.OK, self.server.files[address.path])
            else:
                self._send_table(HTTPStatus.OK, self._table(address.path, address.query))
        except Refusal as error:
            self._send_table(error.status, {"error": error.reason}, error.headers)
        except VoiError as error:
            self._send_table(HTTPStatus.BAD_REQUEST, {"error": _line(error)})
        except BusyError as error:
            busy = {"Retry-After": "10"}
            self._send_table(HTTPStatus.SERVICE_UNAVAILABLE, {"error": _line(error)}, busy)
        except (ConnectionError, TimeoutError):  # nobody is there to be answered
            raise
        except Exception as error:
            traceback.print_exc()
            reason = f"the model failed with {type(error).__name__}: {_line(error)}"
            self._send_table(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": reason})

    def _check_host(self) -> None:
        """Refuse names that a foreign page may have made point to this machine."""
        try:
            name = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        except ValueError:
            name = None
        if self.server.is_local and name not in (*LOCAL_NAMES, self.server.host.lower()):
            self._refuse(HTTPStatus.FORBIDDEN, f"expected this machine as host, got {name}")

    def _address(self) -> SplitResult:
        """Return the parts of the address that is asked for."""
        try:
            return urlsplit(self.path)
        except ValueError:
            self._refuse(HTTPStatus.BAD_REQUEST, f"expected a path, got {self.path[:200]}")

    def _table(self, path: str, query: str) -> dict[str, Any]:
        """Return the answer of the API."""
        name = path.removeprefix("/api/") if path.startswith("/api/") else ""
        if name in TOLD and self._is("GET"):
            if name == "about":
                return self.server.playground.about()
            return self.server.playground.image("".join(parse_qs(query).get("name", [])[:1]))
        if name in ASKED and self._is("POST"):
            return getattr(self.server.playground, name)(self._sent())
        self._refuse(HTTPStatus.NOT_FOUND, f"there is nothing at {path[:200]}")

    def _is(self, method: str) -> bool:
        if self.command != method:
            reason = f"expected {method}, got {self.command}"
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, reason, Allow=method)
        return True

    def _read_body(self) -> bytes:
        """Return what was sent, cut off where it is too long: unread, it would break the answer.

        What is left unread would be taken for the next request, so the connection ends with it.
        """
        length = self.headers.get("Content-Length", "" if self.command == "POST" else "0")
        if "Transfer-Encoding" in self.headers:
            length = ""
        self.length = int(length) if length.isdecimal() and len(length) < 16 else None
        most = self.server.playground.limits.body
        body = self.rfile.read(min(self.length or 0, most))
        if self.length is None or self.length > most:
            self.close_connection = True
            self.rfile.read(min((self.length or 0) - len(body), MOST_DRAINED))
        return body

    def _sent(self) -> dict[str, Any]:
        """Return the JSON that was sent; no form of a foreign page can send that type."""
        most, kind = self.server.playground.limits.body, self.headers.get_content_type()
        if self.length is None:
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "expected a body and its Content-Length")
        if self.length > most:
            reason = f"expected a body of at most {most} bytes, got {self.length}: send less text"
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        if kind != "application/json":
            reason = f"expected Content-Type application/json, got {kind}"
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, reason)
        return read_json(self.body)

    def _refuse(self, status: HTTPStatus, reason: str, **headers: str) -> NoReturn:
        raise Refusal(status, reason, **headers)

    def _send_table(
        self, status: HTTPStatus, table: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        text = json.dumps(table, allow_nan=False)
        self._send(status, File("application/json", text), headers)

    def _send(
        self, status: HTTPStatus, file: File, headers: Mapping[str, str] | None = None
    ) -> None:
        body = file.text.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", f"{file.kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in {**HEADERS, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer something that is no HTTP request in the form of the other errors."""
        self.close_connection = True
        self.command = getattr(self, "command", None) or "GET"
        self.request_version = self.protocol_version  # without one there would be no status
        self._send_table(HTTPStatus(code), {"error": message or HTTPStatus(code).phrase})

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of single requests."""


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
