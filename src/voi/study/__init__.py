"""Studies of orders: runs and trace files -> tables, figures and a page (docs/orders.md)."""

from voi.study.attention import attention_of, cross_attention, opacities
from voi.study.collect import examples_of, generated_traces, learned_traces, run_series
from voi.study.figures import StudyFigure, study_figures
from voi.study.files import write_study
from voi.study.law import step_shares
from voi.study.perturbation import Perturbation, Removal, perturb
from voi.study.report import report_page
from voi.study.series import Series, file_series, read_counts
from voi.study.summary import Paragraph, in_words
from voi.study.tables import Row, Study, study

__all__ = [
    "Paragraph",
    "Perturbation",
    "Removal",
    "Row",
    "Series",
    "Study",
    "StudyFigure",
    "attention_of",
    "cross_attention",
    "examples_of",
    "file_series",
    "generated_traces",
    "in_words",
    "learned_traces",
    "opacities",
    "perturb",
    "read_counts",
    "report_page",
    "run_series",
    "step_shares",
    "study",
    "study_figures",
    "write_study",
]
