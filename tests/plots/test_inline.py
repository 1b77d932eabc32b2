"""SVG elements for a page: names of their own, both themes, texts as they are."""

import re
from html.parser import HTMLParser

from voi.plots.bars import bars_figure
from voi.plots.canvas import drawing
from voi.plots.inline import svg_element

HOSTILE = '</svg> id="x" url(#y) #1a1a1a & <b>'


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def element(prefix="one"):
    with drawing():
        figure = bars_figure({HOSTILE: (0.5, 0.4, 0.6)}, xlabel="", title=HOSTILE)
        return svg_element(figure, prefix)


def test_names_have_the_prefix_and_references_follow():
    text = element()
    read = Elements(text)
    names = {names["id"] for _, names in read.tags if "id" in names}
    assert names
    assert all(name.startswith("one-") for name in names)
    used = {name for tag in re.findall(r"<[^>]*>", text) for name in re.findall(r"#(one-\w+)", tag)}
    assert used
    assert used <= names
    assert element("two").replace("two-", "one-") == text


def test_texts_are_escaped_and_left_alone():
    read = Elements(element())
    assert HOSTILE in " ".join(read.text)
    assert [tag for tag, _ in read.tags].count("b") == 0
    assert read.tags[0][0] == "svg"
    assert "http" not in element()


def test_colours_are_those_of_the_readers_theme():
    text = element()
    assert "fill: light-dark(#0072b2, #56b4e9)" in text
    assert "fill: light-dark(#ffffff, #16181c)" in text
    assert set(re.findall(r"(?:fill|stroke): (#\w+)", text)) <= {"#1f77b4"}  # caps: no area
