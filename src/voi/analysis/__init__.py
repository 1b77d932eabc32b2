"""Statistics of orders on plain data: distances, traces, comparisons (docs/orders.md)."""

from voi.analysis.agreement import Agreement, AgreementSummary, agreement, agreement_summaries
from voi.analysis.between import Between, between_summaries
from voi.analysis.bootstrap import Interval, bootstrap_mean, bootstrap_ratio
from voi.analysis.contiguity import Contiguity, ContiguitySummary, contiguity, contiguity_summaries
from voi.analysis.distances import (
    Padded,
    generation_ranks,
    kendall_tau,
    nearest,
    normalized_levenshtein,
    order_rank_correlation,
    padded,
)
from voi.analysis.generation_index import (
    FirstToken,
    GroupIndex,
    first_tokens,
    frequency_band,
    indices_by_band,
    indices_by_tag,
    indices_by_word,
    normalized_generation_index,
)
from voi.analysis.reference import common_order, l2r_order, r2l_order, rare_order, tree_order
from voi.analysis.slots import order_of_slots, slots_of
from voi.analysis.statistics import (
    Comparison,
    Summary,
    comparisons,
    reference_orders,
    sampled_comparisons,
    summaries,
    summaries_by_length,
    to_rows,
)
from voi.analysis.traces import (
    Trace,
    from_record,
    read_traces,
    steps_of,
    to_record,
    write_traces,
)

__all__ = [
    "Agreement",
    "AgreementSummary",
    "Between",
    "Comparison",
    "Contiguity",
    "ContiguitySummary",
    "FirstToken",
    "GroupIndex",
    "Interval",
    "Padded",
    "Summary",
    "Trace",
    "agreement",
    "agreement_summaries",
    "between_summaries",
    "bootstrap_mean",
    "bootstrap_ratio",
    "common_order",
    "comparisons",
    "contiguity",
    "contiguity_summaries",
    "first_tokens",
    "frequency_band",
    "from_record",
    "generation_ranks",
    "indices_by_band",
    "indices_by_tag",
    "indices_by_word",
    "kendall_tau",
    "l2r_order",
    "nearest",
    "normalized_generation_index",
    "normalized_levenshtein",
    "order_of_slots",
    "order_rank_correlation",
    "padded",
    "r2l_order",
    "rare_order",
    "read_traces",
    "reference_orders",
    "sampled_comparisons",
    "slots_of",
    "steps_of",
    "summaries",
    "summaries_by_length",
    "to_record",
    "to_rows",
    "tree_order",
    "write_traces",
]
