"""Write what was measured into docs/results/ and README.md, from the cells stored there.

    python benchmarks/pages.py                               # write all pages again
    python benchmarks/pages.py orders=runs/orders            # first take the cells of a run over
    python benchmarks/pages.py recovery-coco=runs/recovery   # a second experiment of one kind

A folder docs/results/NAME holds the cells of one experiment; NAME up to its first hyphen says which
one. Only what stands between a line `<!-- made by benchmarks/pages.py: NAME -->` and the next line
`<!-- end -->` is replaced; all else on a page is written by hand and stays.
"""

import argparse
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from voi.atomic import write_text
from voi.bench import django_tables, order_tables, recovery_tables
from voi.bench.cells import Result, Rows, markdown, read_all, seeds
from voi.errors import ConfigError

ROOT = Path(__file__).parents[1]
NOTHING = "Not measured yet.\n"
COMPARISONS = "comparisons.json"
FEW = 6  # commits that the README names
BLOCK = re.compile(
    r"(?<=^<!-- made by benchmarks/pages\.py: )(?P<name>[\w-]+) -->\n.*?(?=^<!-- end -->$)",
    re.MULTILINE | re.DOTALL,
)
Results = Sequence[Result]


@dataclass(frozen=True)
class Kind:
    """How the cells of one sort of experiment are read and shown."""

    title: str
    command: str  # what fills an empty folder
    about: Callable[[Results], str]
    tables: Callable[[Results], Mapping[str, Rows]]
    headline: Callable[[Results], Rows]
    draw: Callable[[Results, Path], Mapping[str, str]]  # into a folder: captions by file
    compared: Callable[[Results], Rows] | None = None  # the comparisons stored beside cells


def _kind(title: str, command: str, module: object) -> Kind:
    names = ("about", "tables", "headline", "draw")
    compared = getattr(module, "comparison_rows", None)
    return Kind(title, command, *(getattr(module, name) for name in names), compared=compared)


KINDS: Mapping[str, Kind] = {
    "orders": _kind("OrderBench", "voi bench orders --out runs/orders", order_tables),
    "recovery": _kind(
        "Recovery of a taught order", "voi bench recovery --out runs/recovery", recovery_tables
    ),
    "django": _kind("Orders on Django", "voi bench django --out runs/django", django_tables),
}


def kind_of(name: str) -> Kind:
    """Return the kind of experiment that a folder of this name holds."""
    kind = KINDS.get(name.partition("-")[0])
    if kind is None:
        raise ConfigError(f"docs/results/{name}: a name starts with one of {', '.join(KINDS)}")
    return kind


def filled(text: str, blocks: Mapping[str, str]) -> str:
    """Return a page with its blocks made again, each by its name."""
    names = [found["name"] for found in BLOCK.finditer(text)]
    if text.count("<!-- made by") != len(names):
        raise ConfigError("a line <!-- made by benchmarks/pages.py: NAME --> has no <!-- end -->")
    for name in names:
        if name not in blocks:
            raise ConfigError(f"a page shows {name}, known are {', '.join(blocks)}")
    return BLOCK.sub(lambda found: f"{found['name']} -->\n\n{blocks[found['name']]}\n", text)


def origin(results: Results) -> str:
    """Return where cells come from: how many, machines, commits."""
    machines = {str(each.get("machine", "unknown")) for each in results}
    loads = [float(text.rpartition(", load ")[2]) for text in machines if ", load " in text]
    plain = sorted({text.rpartition(", load ")[0] or text for text in machines})
    busy = f", load {min(loads):.1f} to {max(loads):.1f}" if loads else ""
    return f"{len(results)} cells, {commits(results)}. Machine: {'; '.join(plain)}{busy}.\n"


def commits(results: Results) -> str:
    """Return the commits that cells were measured with.

    >>> commits([{"commit": "b"}, {"commit": "a"}, {}])
    'commits a, b, unknown'
    """
    found = sorted({str(each.get("commit", "unknown")) for each in results})
    return f"commit{'s' if len(found) > 1 else ''} {', '.join(found)}"


def briefly(results: Results) -> str:
    """Return the commits where they are few, else their number: the page has them all.

    >>> briefly([{"commit": "a"}, {"commit": "b"}]), briefly([{"commit": i} for i in range(9)])
    ('commits a, b', '9 commits')
    """
    number = len({str(each.get("commit")).partition("+")[0] for each in results})
    return commits(results) if number <= FEW else f"{number} commits"


def page_block(kind: Kind, folder: Path, results: Results, plots: Path) -> str:
    """Return the made part of an experiment's page; its plots are drawn into a folder."""
    if not results:
        return NOTHING
    parts = [f"{kind.about(results)}\n", origin(results)]
    tables = dict(kind.tables(results))
    if kind.compared and (folder / COMPARISONS).is_file():
        stored = json.loads((folder / COMPARISONS).read_text(encoding="utf-8"))
        tables["Difference to `l2r`, paired bootstrap, 95 % interval"] = kind.compared(stored)
    parts += [f"## {title}\n\n{markdown(rows)}" for title, rows in tables.items()]
    parts += [f"![{said}]({file})\n" for file, said in kind.draw(results, plots).items()]
    return "\n".join(parts)


def headline_block(name: str, page: str, results: Results) -> str:
    """Return the made part of the README about one experiment; its page names the command."""
    kind = kind_of(name)
    link = f"[{title_of(page)}](docs/results/{name}/index.md)"
    if not results:
        return f"{link}: not measured yet.\n"
    about = f"{link}, {briefly(results)}. {kind.about(results)}\n"
    code = "\n".join(commands_on(page))
    return f"{about}\n```\n{code}\n```\n\n{markdown(kind.headline(results))}"


def commands_on(page: str) -> list[str]:
    """Return the benchmarks that the first block of code runs, without comments."""
    code = re.search(r"^```\w*\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)
    lines = [line.partition(" #")[0].strip() for line in (code[1] if code else "").splitlines()]
    commands = [line for line in lines if line.startswith("voi bench")]
    if not commands:
        raise ConfigError("a page of results names its commands in its first block of code")
    return commands


def title_of(page: str) -> str:
    """Return the first heading.

    >>> title_of("# A page\\n\\ntext")
    'A page'
    """
    return page.partition("\n")[0].removeprefix("# ")


def list_block(found: Mapping[str, Results], titles: Mapping[str, str]) -> str:
    """Return the list of all experiments."""
    table = [["experiment", "cells", "seeds"]]
    for name, results in found.items():
        count = str(len(results)) if results else "not measured yet"
        told = seeds(results) if results else "-"
        table.append([f"[{titles[name]}]({name}/index.md)", count, told])
    return markdown(table)


def empty_page(name: str) -> str:
    """Return the page of an experiment nobody has written about yet."""
    kind = kind_of(name)
    block = f"<!-- made by benchmarks/pages.py: {name} -->\n<!-- end -->"
    return f"# {kind.title}\n\n```\n{kind.command}\n```\n\n{block}\n\n## Findings\n\nNone yet.\n"


def made(root: Path, plots: Path) -> dict[Path, str]:
    """Return all pages by path; plots are drawn into plots/NAME."""
    folder = root / "docs" / "results"
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    found = {name: read_all(folder / name / "cells") for name in names}
    pages = {}
    for name, results in found.items():
        (plots / name).mkdir(parents=True, exist_ok=True)
        block = page_block(kind_of(name), folder / name, results, plots / name)
        path = folder / name / "index.md"
        old = path.read_text(encoding="utf-8") if path.is_file() else empty_page(name)
        pages[name] = filled(old, {name: block})
    blocks = {name: headline_block(name, page, found[name]) for name, page in pages.items()}
    titles = {name: title_of(page) for name, page in pages.items()}
    blocks["experiments"] = list_block(found, titles)
    written = {folder / name / "index.md": page for name, page in pages.items()}
    for path in (folder / "index.md", root / "README.md"):
        written[path] = filled(path.read_text(encoding="utf-8"), blocks)
    return written


def take(root: Path, name: str, run: Path) -> None:
    """Copy the cells of a run to where pages read them.

    What is there already stays beside them, unless it is the same cell.
    """
    kind, folder = kind_of(name), root / "docs" / "results" / name
    if not read_all(run / "cells"):
        raise ConfigError(f"{run} has no cells: expected the folder that --out of a bench names")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cells").mkdir(exist_ok=True)
    for cell in sorted((run / "cells").glob("*.json")):
        text = cell.read_text(encoding="utf-8")
        text = re.sub(r'"/[^"\n]*?([^/"\n]+)"', r'"\1"', text)  # no paths of this machine
        write_text(folder / "cells" / cell.name, text)
    summary = run / f"{name.partition('-')[0]}.json"
    if kind.compared and summary.is_file():
        compared = json.loads(summary.read_text(encoding="utf-8"))["comparisons"]
        write_text(folder / COMPARISONS, _text(_merged(folder / COMPARISONS, compared)))


def _merged(path: Path, compared: Results) -> Results:
    """Return stored comparisons and new ones, which replace those of the same order and seed."""
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    anew = {(one["order"], one["seed"]) for one in compared}
    return [one for one in stored if (one["order"], one["seed"]) not in anew] + list(compared)


def _text(values: object) -> str:
    return json.dumps(values, indent=1) + "\n"


def write(root: Path) -> list[Path]:
    """Write pages and plots, and return the pages that have changed."""
    with tempfile.TemporaryDirectory() as drawn:
        pages = made(root, Path(drawn))
        for plot in Path(drawn).glob("*/*.svg"):
            shutil.copy(plot, root / "docs" / "results" / plot.parent.name / plot.name)
    old = {path: path.read_text(encoding="utf-8") for path in pages if path.is_file()}
    changed = [path for path, text in pages.items() if old.get(path) != text]
    for path in changed:
        write_text(path, pages[path])
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("taken", nargs="*", metavar="NAME=RUN", help="cells to take over first")
    for taken in parser.parse_args().taken:
        name, _, run = taken.partition("=")
        take(ROOT, name, Path(run))
    for path in write(ROOT):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
