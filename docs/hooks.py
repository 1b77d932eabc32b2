"""The site as mkdocs builds it: files of the repository that pages link to are part of it.

A page stands where it stands in the repository, but for docs/, which is the root of the site, and
README.md, which is its first page. Links are written for the repository and translated here, so
they work in both. Anchors are those of GitHub, which the tests check.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/results.md")
LINK = re.compile(r"(\]\()([^)\s]+)(?=\))")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files: Files, config: Any) -> Files:
    pages = [*PAGES, *(f"docs/{page.src_uri}" for page in files.documentation_pages())]
    linked = {name for page in pages for name in links((ROOT / page).read_text("utf-8"), page)}
    outside = {name for name in linked if not name.startswith("docs/") and (ROOT / name).is_file()}
    for name in sorted({*PAGES, *outside}):
        where = site_path(name)
        files.append(File.generated(config, where, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    return translated(markdown, repository_path(page.file.src_uri))


def slug(text: str, separator: str) -> str:
    """Return the anchor of a heading, as GitHub makes it.

    >>> slug("Beams, gaps & `--json`", "-")
    'beams-gaps----json'
    """
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def site_path(path: str) -> str:
    """Return where a file of the repository stands in the site.

    >>> site_path("docs/math.md"), site_path("README.md"), site_path("examples/reversal.py")
    ('math.md', 'index.md', 'examples/reversal.py')
    """
    return "index.md" if path == "README.md" else path.removeprefix("docs/")


def repository_path(path: str) -> str:
    """Return where a page of the site stands in the repository.

    >>> repository_path("math.md"), repository_path("index.md"), repository_path("CHANGELOG.md")
    ('docs/math.md', 'README.md', 'CHANGELOG.md')
    """
    if path == "index.md":
        return "README.md"
    return path if path in PAGES else f"docs/{path}"


def translated(text: str, page: str) -> str:
    """Return a page whose links hold in the site; code is left alone.

    >>> translated("[a](../benchmarks/results.md) [b](math.md#x) [c](#y)", "docs/scale.md")
    '[a](benchmarks/results.md) [b](math.md#x) [c](#y)'
    """
    parts = CODE.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = LINK.sub(lambda found: found[1] + _target(found[2], page), parts[i])
    return "".join(parts)


def links(text: str, page: str) -> set[str]:
    """Return the files of the repository that a page links to.

    >>> sorted(links("[a](../LICENSE) [b](math.md#x) `[c](d.md)` [e](#f)", "docs/scale.md"))
    ['LICENSE', 'docs/math.md']
    """
    found = {link for _, link in LINK.findall(CODE.sub("", text))}
    return {_linked(link.partition("#")[0], page) for link in found if not _is_plain(link)}


def _target(link: str, page: str) -> str:
    if _is_plain(link):
        return link
    path, mark, anchor = link.partition("#")
    here = posixpath.dirname(site_path(page))
    return posixpath.relpath(site_path(_linked(path, page)), here or ".") + mark + anchor


def _is_plain(link: str) -> bool:
    """Whether a link holds anywhere: to the page itself, or to another site."""
    return link.startswith("#") or re.match(r"[a-z]+:", link) is not None


def _linked(path: str, page: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
