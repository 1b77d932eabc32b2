"""A playground for a trained model: a page in the browser and a JSON API (docs/serve.md)."""

from voi.serve.playground import Playground
from voi.serve.requests import Limits
from voi.serve.server import Server, open_server

__all__ = ["Limits", "Playground", "Server", "open_server"]
