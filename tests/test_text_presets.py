"""The paper's tasks of text: their presets, and real files through the whole path."""

import gzip
import statistics
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from shared_data import shared_data
from small_runs import TINY, Quiet, call
from voi import config, experiments, runs
from voi.batch import make_batches
from voi.data.files import FileTask
from voi.data.prepare import prepare as prepare_data
from voi.prepared import prepare
from voi.tokens import UNK, build_codec
from voi.tokens.bpe import MARK
from voi.tokens.moses import Moses

WORDS = [*TINY[1:], "training.steps=2", "training.valid_examples=2", "search.max_length=8"]
SMALL = [*WORDS, "data.tokens.size=400"]
SUBSTITUTES = {  # real pairs that stand in for data sets we may not have
    "debian_synopsis": ("gigaword", ("debian_synopsis",)),
    "rosts": ("wmt16-ro-en", ("ro_en", "rosts")),
    "mlqe_pe": ("wmt16-ro-en", ("ro_en", "mlqe_pe")),
    "wmt16_sample": ("wmt16-ro-en", ("ro_en", "wmt16_sample")),
}
LONG = ["data.max_source_length=400", "data.max_target_length=400"]  # several sentences joined


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("VOI_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def phases(name):
    return config.experiment(experiments.load_table(name)).training.phases


def values(name, field):
    return [getattr(phase, field) for phase in phases(name)]


def test_django_is_trained_as_in_the_paper():
    experiment = config.experiment(experiments.load_table("django"))
    assert values("django", "epochs") == [50, 200, 50]
    assert values("django", "batch_size") == [32, 32, 64]
    assert values("django", "num_orders") == [4, 4, 1]
    assert values("django", "decoder_rate") == [5e-5, 3e-5, 3e-5]
    assert values("django", "order_rate")[:2] == [5e-6, 3e-6]
    assert [(p.entropy_weight, p.entropy_final) for p in phases("django")[:2]] == [
        (0.5, -1),
        (0.5, 0.002),
    ]
    assert experiment.search.beam == 5
    check_common(experiment)


def test_gigaword_is_trained_as_in_the_paper():
    experiment = config.experiment(experiments.load_table("gigaword"))
    assert values("gigaword", "epochs") == [3, 8, 5]
    assert values("gigaword", "batch_size") == [50, 50, 128]
    assert values("gigaword", "num_orders") == [4, 4, 1]
    assert values("gigaword", "decoder_rate") == [5e-5, 5e-5, 7e-5]
    assert values("gigaword", "entropy_final")[1] == 0.03
    assert experiment.data.tokens["size"] == 32000
    assert experiment.search.beam == 2
    check_common(experiment)


@pytest.mark.parametrize("name", ["wmt16-ro-en", "wmt16-ro-en-distilled"])
def test_wmt16_is_trained_as_in_the_paper(name):
    experiment = config.experiment(experiments.load_table(name))
    assert values(name, "epochs") == [20, 40, 30, 20]
    assert values(name, "batch_size") == [54, 54, 54, 128]
    assert values(name, "num_orders") == [3, 3, 3, 1]
    assert values(name, "decoder_rate") == [5e-5, 5e-5, 2e-5, 2e-5]
    assert values(name, "order_rate")[:3] == [5e-6, 5e-6, 2e-6]
    assert values(name, "entropy_weight")[:3] == [0.3, 0.3, 0.01]
    assert values(name, "entropy_final")[1:3] == [0.01, 5e-4]
    assert experiment.data.tokens["size"] == 32000
    check_common(experiment)


def check_common(experiment):
    """Check what appendix C says of every task."""
    for part in (experiment.decoder, experiment.order):
        assert (part.width, part.hidden, part.heads) == (512, 2048, 8)
        assert (part.layers, part.source_layers, part.dropout) == (6, 6, 0.1)
    assert experiment.objective.label_smoothing == 0.1
    assert experiment.training.decoder_betas == experiment.training.order_betas == (0.99, 0.98)
    first, *apart, last = experiment.training.phases
    assert (first.share, first.align) == (True, 0)
    assert [(phase.share, phase.align) for phase in apart] == [(False, 100)] * len(apart)
    assert (last.freeze_orders, last.decay) == (True, "linear")


@pytest.mark.parametrize("name", ["wmt16-ro-en-distilled", "wmt16-ro-en-distilled-small"])
def test_distilled_presets_differ_in_their_training_pairs_alone(name):
    distilled = experiments.load_table(name)
    plain = experiments.load_table(name.replace("-distilled", ""))
    options = distilled["data"].pop("options"), plain["data"].pop("options")
    assert distilled == plain
    assert options[0]["valid"] == options[1]["folder"] + "/valid"


def head(source: Path, target: Path, counts=(60, 4, 4)) -> Path:
    """Copy the first lines of every file of a folder of splits."""
    target.mkdir()
    limits = dict(zip(("train", "dev", "test"), counts, strict=True)) | {"val": counts[1]}
    for path in source.iterdir():
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            lines = list(islice(file, limits[path.name.split(".")[0]]))
        (target / path.name.removesuffix(".gz")).write_text("".join(lines), "utf-8")
    return target


def arguments(settings):
    return [part for setting in settings for part in ("--set", setting)]


def check_trained(run, capsys):
    assert "run folder" in capsys.readouterr().out
    assert (run / "last.json").is_file()


@pytest.mark.parametrize("name", SUBSTITUTES)
def test_real_pairs_train_through_the_path_of_their_task(name, monkeypatch, capsys, tmp_path):
    task, parts = SUBSTITUTES[name]
    counts = (4, 2, 2) if name == "wmt16_sample" else (60, 4, 4)
    folder = head(shared_data(*parts), tmp_path / "raw", counts)
    assert call(monkeypatch, "data", "prepare", task, "--from", folder) == 0
    assert f"never report scores on it as {task}" in capsys.readouterr().out
    settings = SMALL + (LONG if name == "wmt16_sample" else [])
    assert call(monkeypatch, "train", f"{task}-small", "--out", "run", *arguments(settings)) == 0
    check_trained(tmp_path / "run", capsys)


def test_distilled_pairs_train(monkeypatch, capsys, tmp_path):
    folder = head(shared_data("ro_en", "rosts"), tmp_path / "raw")
    assert call(monkeypatch, "data", "prepare", "wmt16-ro-en", "--from", folder) == 0
    preset = ["train", "wmt16-ro-en-distilled-small", "--out", "run", *arguments(SMALL)]
    assert call(monkeypatch, *preset) == 2
    assert "no train split in data/wmt16-ro-en-distilled/train" in capsys.readouterr().err
    teacher = ["train", "wmt16-ro-en-small", "--order", "l2r", "--out", "teacher"]
    assert call(monkeypatch, *teacher, *arguments(SMALL)) == 0
    distill = ["distill", "teacher", "--beam", 1, "--out", "data/wmt16-ro-en-distilled"]
    assert call(monkeypatch, *distill) == 0
    assert call(monkeypatch, *preset) == 0
    check_trained(tmp_path / "run", capsys)


def test_django_trains(monkeypatch, capsys, tmp_path):
    folder = head(shared_data("django"), tmp_path / "raw")
    assert call(monkeypatch, "data", "prepare", "django", "--from", folder, "--out", "mine") == 0
    assert "voi train django-small --data mine" in capsys.readouterr().out
    preset = ["train", "django-small", "--data", "mine", "--out", "run", *arguments(WORDS)]
    assert call(monkeypatch, *preset) == 0
    check_trained(tmp_path / "run", capsys)


def test_pylines_trains(monkeypatch, capsys, tmp_path):
    options = ["data.options={train=200, valid=8, test=8, files=15}", *WORDS]
    assert call(monkeypatch, "train", "pylines", "--out", "run", *arguments(options)) == 0
    check_trained(tmp_path / "run", capsys)


@pytest.mark.slow
def test_all_of_django_for_200_steps(tmp_path):
    prepare_data("django", shared_data("django"), Path("data/django"))
    settings = ["training.phases=[{steps=200, share=true}]", "training.validate_every=200"]
    table = experiments.override(experiments.load_table("django-small"), settings)
    watcher = Quiet()
    prepared = prepare(config.experiment(table))
    assert runs.start(prepared, tmp_path / "run", watcher).run()
    losses = [values["loss"] for values in watcher.logged if "loss" in values]
    assert losses[-1] < losses[0]


def column(text, label):
    """Return the numbers of a row that `voi data check` prints."""
    lines = (line.strip() for line in text.splitlines())
    return next(line for line in lines if line.startswith(label)).removeprefix(label).split()


def lengths(pairs, side):
    return [len(pair[side].split()) for pair in pairs]


def test_data_check_prints_what_is_counted_independently(monkeypatch, capsys):
    """Django: counts, lengths and vocabulary, against plain Python on the raw files."""
    folder = shared_data("django")
    splits = {}
    for split in ("train", "dev", "test"):
        sides = [(folder / f"{split}.{s}").read_text("utf-8").split("\n") for s in ("src", "tgt")]
        splits[split] = list(zip(*(side[:-1] for side in sides), strict=True))
    assert call(monkeypatch, "data", "check", "django", "--data", folder) == 0
    text = capsys.readouterr().out
    assert column(text, "examples") == ["16,000", "1,000", "1,801"]
    for side, name in enumerate(("source", "target")):
        counted = [lengths(pairs, side) for pairs in splits.values()]
        means = [f"{statistics.mean(x):.1f}" for x in counted]
        assert column(text, f"{name} length, mean") == means
        medians = [f"{statistics.median(x):g}" for x in counted]
        assert column(text, f"{name} length, median") == medians
        p95 = [f"{statistics.quantiles(x, n=20, method='inclusive')[-1]:g}" for x in counted]
        assert column(text, f"{name} length, 95 %") == p95
        longest = [f"{max(x)} (line {x.index(max(x)) + 1})" for x in counted]
        assert column(text, f"{name} length, longest") == " ".join(longest).split()
    words = {word for pair in splits["train"] for text in pair for word in text.split()}
    assert column(text, "vocabulary") == [f"{len(words) + 4:,}"]


def test_padding_is_little_on_django():
    """Less than a tenth of all tokens in a batch, source and target, END counted, is padding."""
    sides = [shared_data("django", f"train.{side}").read_text("utf-8") for side in ("src", "tgt")]
    counted = [[len(line.split()) for line in text.split("\n")[:-1]] for text in sides]
    sources, targets = np.array(list(zip(*counted, strict=True))).T
    kept = (sources <= 70) & (targets <= 50)  # as the presets say
    sources, targets = sources[kept], targets[kept] + 1
    assert len(sources) == 15939
    for batch_size, max_tokens in ((32, 0), (32, 800)):
        rng = np.random.default_rng(0)
        batches = make_batches(targets - 1, sources, batch_size, max_tokens, rng)
        padded = sum(len(rows) * (targets[rows].max() + sources[rows].max()) for rows in batches)
        waste = 1 - (targets.sum() + sources.sum()) / padded
        assert waste < 0.1, f"{waste:.1%} with batches of {batch_size} and {max_tokens} tokens"


@pytest.mark.parametrize("name", ["django", *SUBSTITUTES])
def test_text_to_ids_and_back(name, tmp_path):
    """What the codec of a small preset knows comes back: all of it, for pieces of words."""
    task, parts = SUBSTITUTES.get(name, ("django", ("django",)))
    prepare_data(task, head(shared_data(*parts), tmp_path / "raw"), tmp_path / "out")
    examples = FileTask(folder=str(tmp_path / "out")).split("train")
    tokens = experiments.load_table(f"{task}-small")["data"]["tokens"]
    codec = build_codec(tokens, examples)
    for example in examples:
        ids = codec.encode_target(example.target, example.source)
        written = codec.text(codec.decode(ids, example.source))
        if task == "wmt16-ro-en":  # Moses guesses where marks clung to: its tokens come back
            assert UNK not in ids
            words = "".join(codec.decode(ids, None)).split(MARK)
            moses = Moses("ro", "en").target_tokens(example.target)
            assert [word for word in words if word] == [word.lower() for word in moses]
        elif UNK not in ids:
            expected = example.target.lower() if tokens.get("lowercase") else example.target
            assert written == expected
        else:
            assert task == "django"
