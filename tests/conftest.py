"""Shapes in signatures are checked while the tests run."""

import os

import jaxtyping

jaxtyping.install_import_hook("voi", "beartype.beartype")

import torch  # noqa: E402

torch.set_num_threads(int(os.environ.get("VOI_TEST_THREADS", "1")))
