"""Files laid out as those of IWSLT'14, with invented lines."""

from collections.abc import Mapping
from pathlib import Path

TEST_SETS = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")
ABOUT = [
    "<url>http://talks.example/1</url>",
    "<keywords>sea, <i>sand</i></keywords>",
    " <talkid>17</talkid>",
    '<reviewer href="x">Ada</reviewer>',
]


def talks(side: str, num_lines: int = 50, long_line: str = "") -> str:
    """Return a training file: two talks with markup, the second from line 31 on.

    Its lines are "de line 1" and so on; 1 and 31 are titles, 2 is a description, 9 may be given.
    """
    lines = [f"{side} line {i}" for i in range(1, num_lines + 1)]
    lines[8] = long_line or lines[8]
    lines[0] = f"<title>{lines[0]}</title>"
    lines[1] = f"<description>{lines[1]}</description>"
    lines[30] = f"<title> {lines[30]} </title>"
    return "\n".join([*ABOUT, *lines[:30], *ABOUT[:3], *lines[30:]]) + "\n"


def segment_file(side: str, name: str, num_segments: int) -> str:
    """Return a test file of that many sentences, "de TED.dev2010 & 1" and so on."""
    segments = "".join(
        f'<seg id="{i}"> {side} {name} &amp; {i} </seg>\n' for i in range(1, num_segments + 1)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<mteval><srcset setid="x">\n'
        f'<doc docid="9"><title>not a sentence</title>\n{segments}</doc></srcset></mteval>\n'
    )


def iwslt14(long_line: str = "") -> dict[str, str]:
    """Return the texts of an archive by path; the test sets have 1 to 5 sentences."""
    files = {}
    for side in ("de", "en"):
        files[f"de-en/train.tags.de-en.{side}"] = talks(side, long_line=long_line)
        for i, name in enumerate(TEST_SETS, 1):
            files[f"de-en/IWSLT14.{name}.de-en.{side}.xml"] = segment_file(side, name, i)
    return files


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts to their paths below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
