"""`voi data tagger`, from tagged sentences to runs that use the tagger."""

import json
import re

import pytest
import torch

from small_runs import Quiet, call, tiny_experiment
from tagged_sentences import made_sentences, pairs_of, unseen_sentences, write_lines
from voi import checkpoint, load, runs
from voi.errors import DataError
from voi.permutation import insertion_slots
from voi.pos import UNIVERSAL, make_tagger
from voi.prepared import prepare

pytest.importorskip("nltk", reason="the extra voi[pos] is not installed")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "train.txt", made_sentences())
    write_lines(tmp_path / "test.txt", [*unseen_sentences(), made_sentences()[0]])


def trained(monkeypatch, *arguments):
    assert call(monkeypatch, "data", "tagger", "train.txt", "--out", "mine.json", *arguments) == 0


def test_what_is_printed_is_what_the_file_does(monkeypatch, capsys, tmp_path):
    trained(monkeypatch, "--test", "test.txt", "--iterations", 3)
    out = capsys.readouterr().out
    assert "train.txt: 81 sentences, 594 tokens, 20 different words (" in out
    assert "test.txt: 4 sentences, 29 tokens" in out
    assert "1 of its sentences are trained on" in out
    tagger = make_tagger("mine.json")
    seen = {word for sentence in made_sentences() for word, _ in pairs_of(sentence)}
    marks = {True: [], False: []}
    for sentence in map(pairs_of, (tmp_path / "test.txt").read_text().splitlines()):
        for (word, tag), guess in zip(sentence, tagger([w for w, _ in sentence]), strict=True):
            marks[word in seen].append(guess == tag)
    shown = re.findall(r"([\d.]+)% of (\d+)", out)
    counted = [marks[True] + marks[False], marks[True], marks[False]]
    assert shown == [(f"{100 * sum(m) / len(m):.1f}", str(len(m))) for m in counted]
    assert sum(marks[True]) > 0.9 * len(marks[True])
    assert [path.name for path in tmp_path.glob("*mine*")] == ["mine.json"]


def test_a_test_without_unknown_words(monkeypatch, capsys):
    trained(monkeypatch, "--test", "train.txt")
    assert "unknown words: none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train.txt", "--out", "mine.pickle"], "--out must end in .json"),
        (["train.txt", "--out", "no/mine.json"], "no folder no"),
        (["none.txt", "--out", "mine.json"], "no file none.txt"),
        (["bad.txt", "--out", "mine.json"], "bad.txt, line 2: 'gate' has the unknown tag 'thing'"),
        (["train.txt", "--test", "bad.txt", "--out", "mine.json"], "bad.txt, line 2"),
        (["train.txt", "--out", "mine.json", "--iterations", "0"], "--iterations"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(monkeypatch, capsys, tmp_path, arguments, message):
    write_lines(tmp_path / "bad.txt", ["a/DET boat/NOUN", "a/DET gate/thing"])
    assert call(monkeypatch, "data", "tagger", *arguments) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
    assert not list(tmp_path.glob("*mine*"))


def sentence_settings(tmp_path):
    """Return settings of a run on the sentences' words."""
    rows = [" ".join(word for word, _ in pairs_of(s)) for s in made_sentences()]
    (tmp_path / "pairs.tsv").write_text("".join(f"{row}\t{row}\n" for row in rows))
    options = 'data.options={train="pairs.tsv", valid="pairs.tsv", test="pairs.tsv"}'
    return [options, "data.task=files", "data.tokens.tags=mine.json", "order.tags=true"]


def test_a_run_finds_its_tagger_from_another_folder(monkeypatch, tmp_path):
    trained(monkeypatch)
    prepared = prepare(tiny_experiment(*sentence_settings(tmp_path)))
    file = str(tmp_path / "mine.json")
    assert prepared.experiment.data.tokens["tags"] == prepared.codec.config.tags == file
    assert prepared.task.split("train")[0].target == "they paint the old gate ."
    tags = [UNIVERSAL[number] for number in prepared.train.tags[0]]
    assert tags == ["PRON", "VERB", "DET", "ADJ", "NOUN", "."]
    checkpoint.save(tmp_path / "run", prepared.experiment, prepared.codec, prepared.networks())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    model = load(tmp_path / "run")
    assert sorted(model.infer_order("they", "they paint the gate")) == [0, 1, 2, 3]
    (tmp_path / "mine.json").unlink()
    with pytest.raises(DataError, match=f"no tagger {file}"):
        load(tmp_path / "run").infer_order("they", "they paint the gate")


def test_a_run_does_not_go_on_with_other_tags(monkeypatch, tmp_path):
    trained(monkeypatch)
    settings = [*sentence_settings(tmp_path), "training.steps=4"]
    runs.start(prepare(tiny_experiment(*settings)), tmp_path / "run", Quiet()).run()
    runs.resume(tmp_path / "run", Quiet())
    table = json.loads((tmp_path / "mine.json").read_text())
    table["tagdict"]["the"] = "X"
    table["classes"].append("X")
    (tmp_path / "mine.json").write_text(json.dumps(table))
    with pytest.raises(DataError, match="has changed since it was started"):
        runs.resume(tmp_path / "run", Quiet())


def write_traces(path, orders):
    """Write one trace for each target."""
    with path.open("w") as file:
        for target, order in orders.items():
            slots = insertion_slots(torch.tensor(order)).tolist()
            trace = {"target": target, "tokens": target.split(), "order": order, "slots": slots}
            file.write(json.dumps({**trace, "source": "x", "kind": "inferred"}) + "\n")


def test_orders_by_the_parts_of_speech_of_a_file(monkeypatch, capsys, tmp_path):
    trained(monkeypatch)
    orders = {"they paint the gate": [3, 1, 0, 2], "we lift a boat": [3, 1, 2, 0]}
    write_traces(tmp_path / "mine.jsonl", orders)
    given = ["orders", "--traces", "mine.jsonl", "--tagger", "mine.json", "--out", "out"]
    assert call(monkeypatch, *given) == 0
    rows = (tmp_path / "out" / "tables" / "by_tag.csv").read_text().splitlines()
    assert len(rows) == 5  # a header and four tags
    for tag in ("NOUN", "VERB", "DET", "PRON"):
        assert any(f",{tag}," in row for row in rows)
    assert call(monkeypatch, *given[:-3], "gone.json") == 2
    assert "no tagger gone.json" in capsys.readouterr().err
