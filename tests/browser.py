"""Pages as a parser reads them and as Chromium makes them."""

import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=20000",
    "--dump-dom",
]


class Page(HTMLParser):
    """The elements of a page and the texts inside them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        self.tags.append((tag, names))
        if tag not in ("meta", "input", "link", "br"):
            self.open.append((tag, names.get("id"), names.get("class")))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for key in {key for entry in self.open for key in entry if key}:
            self.inside.setdefault(key, []).append(data)

    def words(self, key):
        return " ".join(" ".join(self.inside.get(key, [])).split())


def browser(folder: Path) -> Callable[..., Page]:
    """Return a function that loads a page in Chromium and returns what it has become.

    `folder` is for the browser's own files. Where there is no browser the test is skipped.
    """
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("Chromium is not installed: the page's buttons and keys are not tried")

    def load(path: Path | str, place: str = "") -> Page:
        profile = f"--user-data-dir={folder / 'profile'}"
        address = path if isinstance(path, str) else path.as_uri()
        command = [program, *FLAGS, profile, address + place]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        return Page(done.stdout)

    return load
