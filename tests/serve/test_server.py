"""HTTP: statuses, limits, names of hosts, ports in use, the end by Ctrl-C."""

import _thread
import json
import socket
from threading import Event, Thread, Timer

import pytest
from typer.testing import CliRunner

import voi.cli.serve
from serve_models import send, serving
from voi.cli.app import app
from voi.errors import ConfigError, VoiError
from voi.serve import Limits, Playground, open_server


def error_of(answer):
    status, headers, text = answer
    assert headers["Content-Type"].startswith("application/json")
    assert list(json.loads(text)) == ["error"]
    return status, json.loads(text)["error"]


def raw(server, text: bytes) -> bytes:
    with socket.create_connection(server.server_address, timeout=30) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_the_page_and_its_files(server):
    kinds = {"/": "text/html", "/playground.js": "text/javascript", "/stepper.css": "text/css"}
    for path, kind in kinds.items():
        status, headers, text = send(server, "GET", path)
        assert status == 200
        assert headers["Content-Type"] == f"{kind}; charset=utf-8"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "http:" not in text.replace("http://www.w3.org", "")
        assert "{{" not in text


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/api/",
        "/api/finish",
        "/api/_source",
        "/api/about/",
        "/server.py",
        "/../server.py",
        "/%2e%2e/server.py",
        "//etc/passwd",
        "/api/../../../etc/passwd",
        "/playground.js/../server.py",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nothing_else_is_there(server, path, method):
    body = {} if method == "POST" else None
    assert error_of(send(server, method, path, body))[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/generate", "POST"),
        ("POST", "/api/about", "GET"),
        ("POST", "/", "GET"),
        ("PUT", "/api/order", "POST"),
        ("DELETE", "/", "GET"),
        ("OPTIONS", "/api/generate", "POST"),
    ],
)
def test_the_wrong_method_is_told_the_right_one(server, method, path, allowed):
    answer = send(server, method, path, {} if method == "POST" else None)
    assert error_of(answer)[0] == 405
    assert answer[1]["Allow"] == allowed


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b'{"beam": NaN}', b"[" * 60_000, b"[1]", b'"text"'],
    ids=["empty", "open", "bytes", "nan", "deep", "list", "text"],
)
def test_what_is_no_json_object_is_refused(server, body):
    status, reason = error_of(send(server, "POST", "/api/generate", body))
    assert status == 400
    assert "JSON" in reason
    assert "\n" not in reason


@pytest.mark.parametrize("size", [65_537, 3_000_000])
def test_a_long_body_is_not_read(server, size):
    status, reason = error_of(send(server, "POST", "/api/generate", b" " * size))
    assert status == 413
    assert f"at most 65536 bytes, got {size}" in reason


def test_a_body_needs_its_length_and_its_type(server):
    status, reason = error_of(
        send(server, "POST", "/api/generate", b"{}", Content_Type="text/plain")
    )
    assert (status, "application/json" in reason) == (415, True)
    line = b"POST /api/generate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert raw(server, line + b"2\r\n{}\r\n0\r\n\r\n").startswith(b"HTTP/1.1 411 ")


def test_a_foreign_name_for_this_machine_is_refused(server):
    assert error_of(send(server, "GET", "/", Host="evil.example"))[0] == 403
    assert error_of(send(server, "GET", "/", Host="["))[0] == 403
    assert send(server, "GET", "/", Host="localhost:9000")[0] == 200
    assert raw(server, b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 403 ")


def test_what_is_no_request_is_answered(server):
    assert raw(server, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert raw(server, b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 501 ")
    assert send(server, "GET", "/")[0] == 200  # and the server goes on


def test_a_connection_serves_many_requests(server):
    request = b"POST /api/likelihood HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
    request += b'\r\nContent-Length: 14\r\n\r\n{"target": ""}'
    assert len(request.split(b"\r\n\r\n")[1]) == 14
    answers = raw(server, request * 2 + b"GET /api/about HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answers.count(b"HTTP/1.1 400 ") == 2
    assert answers.count(b"HTTP/1.1 200 ") == 1


@pytest.mark.parametrize("address", ["http://[", "http://[::1"])
def test_what_is_no_address_is_refused(server, address, capsys):
    text = raw(server, f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert text.startswith(b"HTTP/1.1 400 ")
    assert f"expected a path, got {address}".encode() in text
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "POST"])
@pytest.mark.parametrize(
    "headers",
    [
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 0",
        "Content-Length: -5",
    ],
    ids=["chunked", "both", "negative"],
)
def test_a_body_is_never_read_as_the_next_request(server, method, headers):
    body = b"GET /api/about HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = f"{method} /api/nothing HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n"
    assert raw(server, head.encode() + body).count(b"HTTP/1.1 ") == 1


def test_a_fault_of_the_model_is_one_line_and_the_server_goes_on(model, monkeypatch, capsys):
    def broken(*args, **options):
        raise RuntimeError("no\nmemory")

    with serving(Playground(model, "chain")) as server:
        monkeypatch.setattr(model, "generate", broken)
        status, reason = error_of(send(server, "POST", "/api/generate", {}))
        assert (status, reason) == (500, "the model failed with RuntimeError: no memory")
        assert send(server, "GET", "/api/about")[0] == 200
    assert "Traceback" in capsys.readouterr().err


def test_who_waits_too_long_is_sent_away(model, monkeypatch):
    monkeypatch.setattr("voi.serve.playground.WAIT", 0.01)
    inside, may_go = Event(), Event()

    def slow(*args, **options):
        inside.set()
        assert may_go.wait(30)
        return [[]]

    with serving(Playground(model, "chain", Limits(body=100))) as server:
        monkeypatch.setattr(model, "generate", slow)
        first = Thread(target=send, args=(server, "POST", "/api/generate", {}))
        first.start()
        assert inside.wait(30)
        answer = send(server, "POST", "/api/generate", {})
        assert error_of(answer)[0] == 503
        assert answer[1]["Retry-After"] == "10"
        may_go.set()
        first.join(30)


def serve(*arguments):
    """Return the error that the command ends with."""
    error = CliRunner().invoke(app, ["serve", *map(str, arguments)]).exception
    assert isinstance(error, VoiError)
    assert "\n" not in str(error)
    return str(error)


def test_a_port_in_use_is_said_before_the_model_is_loaded(server, monkeypatch):
    monkeypatch.setattr(voi.cli.serve, "load", lambda run: pytest.fail("the model was loaded"))
    port = server.server_address[1]
    assert f"port {port} of 127.0.0.1 is in use" in serve("runs/none", "--port", port)


def test_addresses_that_cannot_be_listened_on():
    with pytest.raises(ConfigError, match="no address of this machine"):
        open_server("192.0.2.1", 0)
    with open_server("0.0.0.0", 0) as everywhere, open_server("localhost", 0) as local:
        assert (everywhere.is_local, local.is_local) == (False, True)


def test_a_missing_run_is_one_line(tmp_path):
    assert "no model in" in serve(tmp_path, "--port", 0)


def test_ctrl_c_ends_it(model, monkeypatch):
    timer = Timer(1.0, _thread.interrupt_main)

    def loaded(*_):
        timer.start()  # not before: commands take their time to load on a busy machine
        return model

    monkeypatch.setattr(voi.cli.serve, "load", loaded)
    result = CliRunner().invoke(app, ["serve", "runs/chain", "--port", "0"])
    timer.join()
    assert (result.exit_code, result.exception) == (0, None)
    assert "runs/chain is at http://127.0.0.1:" in result.output
    assert result.output.endswith("ended\n")
