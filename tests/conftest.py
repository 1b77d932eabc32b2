"""Shapes in signatures are checked while the tests run."""

import os

import jaxtyping

jaxtyping.install_import_hook("voi", "beartype.beartype")

import hypothesis  # noqa: E402
import torch  # noqa: E402

hypothesis.settings.register_profile("voi", deadline=None)  # the machine may be busy
hypothesis.settings.load_profile("voi")
torch.set_num_threads(int(os.environ.get("VOI_TEST_THREADS", "1")))
