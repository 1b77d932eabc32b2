"""Models with random weights for the playground, and a server that is asked over a real port."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import torch

from small_models import roughen
from small_runs import TINY, tiny_experiment
from voi import config, experiments
from voi.checkpoint import Checkpoint
from voi.model import Model
from voi.prepared import prepare
from voi.serve import Playground, open_server
from voi.serve.server import Server

SCENES = [TINY[0].split("{")[0] + "{train=6, valid=3, test=2}", *TINY[1:]]
HOSTILE = "<img/src=x/onerror=document.body.dataset.broken=1>"


def random_model(experiment: config.Experiment) -> Model:
    """Return the model of an experiment as training would begin it, but with rougher weights."""
    prepared = prepare(experiment)
    torch.manual_seed(2)  # with these weights the best target is a text of several tokens
    networks = roughen(prepared.networks(), scale=0.5)
    return Model(Checkpoint(prepared.experiment, prepared.codec, networks))


def chain_model(*settings: str) -> Model:
    return random_model(tiny_experiment(*settings))


def scenes_model() -> Model:
    table = experiments.override(experiments.load_table("scenes"), SCENES)
    return random_model(config.experiment(table))


def file_model(folder, text: str) -> Model:
    """Return a model of tab-separated pairs."""
    path = folder / "pairs.tsv"
    path.write_text(text)
    options = f'data.options={{train="{path}", valid="{path}"}}'
    table = experiments.override(experiments.load_table("files"), [*TINY[1:], options])
    return random_model(config.experiment(table))


@contextmanager
def serving(playground: Playground) -> Iterator[Server]:
    """Serve a playground on a free port for as long as the context lasts."""
    with open_server(port=0) as server:
        thread = Thread(target=server.run, args=(playground,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def send(server: Server, method: str, path: str, body=None, **headers: str):
    """Return status, headers and text of an answer; a body that is no bytes is sent as JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        names = {"Content-Type": "application/json", **names}
    try:
        connection.request(method, path, body, names)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def ask(server: Server, name: str, **body) -> dict:
    """Return the answer of the API to a request that is in order."""
    status, _, text = send(server, "POST", f"/api/{name}", body)
    assert status == 200, text
    return json.loads(text)


def refused(server: Server, name: str, **body) -> str:
    """Return the line that the API answers a wrong request with."""
    status, _, text = send(server, "POST", f"/api/{name}", body)
    (reason,) = json.loads(text).values()
    assert status == 400, text
    assert "\n" not in reason
    return reason
