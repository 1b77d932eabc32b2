"""Evaluation of finished models: decoded splits, scores, likelihoods, comparisons."""

from voi.evaluation.comparison import Cell, Row, System, Table, side_by_side
from voi.evaluation.outputs import Outputs
from voi.evaluation.run import Settings, evaluate
from voi.evaluation.scores import check_metrics, default_metrics, score_outputs
from voi.evaluation.stored import read_outputs, read_references
from voi.evaluation.tables import to_csv, to_json, to_markdown, write_table

__all__ = [
    "Cell",
    "Outputs",
    "Row",
    "Settings",
    "System",
    "Table",
    "check_metrics",
    "default_metrics",
    "evaluate",
    "read_outputs",
    "read_references",
    "score_outputs",
    "side_by_side",
    "to_csv",
    "to_json",
    "to_markdown",
    "write_table",
]
