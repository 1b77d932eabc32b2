"""What a run says of the data it was trained on, against data that is another one."""

import pytest

from voi.data.tasks import make_task
from voi.errors import DataError, MissingExtraError
from voi.model import load
from voi.trained_on import has_changed


def _changed(model, run, **options):
    data = model.experiment.data
    task = make_task(data.task, {**data.options, **options})
    return has_changed(run, model.experiment, task, model.codec)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, False), ({"train": 31}, True), ({"valid": 7}, True)],
    ids=str,
)
def test_what_training_reads_is_compared(trained, options, expected):
    assert _changed(load(trained), trained, **options) is expected


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_nothing_is_known_without_digests(trained, tmp_path, text):
    if text is not None:
        (tmp_path / "data.json").write_text(text)
    assert not _changed(load(trained), tmp_path, train=31)


def test_what_cannot_be_read_any_more_has_changed(trained):
    model = load(trained)

    class Gone:
        error = DataError

        def split(self, name):
            raise self.error

    assert has_changed(trained, model.experiment, Gone(), model.codec)
    Gone.error = MissingExtraError
    assert not has_changed(trained, model.experiment, Gone(), model.codec)
