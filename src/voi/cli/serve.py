"""`voi serve`: a playground for a trained model in the browser."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from voi.cli.app import Device, app
from voi.cli.console import plain_console
from voi.cli.drawing import say, visible
from voi.model import load
from voi.serve import Playground, open_server


@app.command()
def serve(
    run: Annotated[Path, typer.Argument(help="A run folder or model folder.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8765,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    device: Device = "cpu",
) -> None:
    """Open a playground in the browser: generation, gaps, keywords, orders, likelihoods.

    Example: voi serve runs/chain --port 8765
    """
    console = plain_console()
    with open_server(host, port) as server:  # before the model is loaded: the port may be in use
        playground = Playground(load(run, device), str(run))
        if playground.sources.note:
            say(playground.sources.note, console, "yellow")
        if not server.is_local:
            warning = "other machines can reach this server and use the model"
            say(warning, console, "yellow")
        address = Text(server.url, style="bold")
        console.print(Text(f"{visible(str(run))} is at ") + address + Text("; Ctrl-C ends it"))
        server.run(playground)
    console.print("ended")
