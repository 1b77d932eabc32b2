"""Laws over orders, in the manner of torch.distributions."""

from voi.distributions.constraints import permutation
from voi.distributions.early_late import EarlyLate
from voi.distributions.fixed import Delta, Uniform
from voi.distributions.gumbel_matching import GumbelMatching
from voi.distributions.law import OrderLaw, ScoredLaw
from voi.distributions.listed import Listed
from voi.distributions.matrix_plackett_luce import MatrixPlackettLuce
from voi.distributions.permanent import Bethe, log_permanent_bethe, log_permanent_exact
from voi.distributions.plackett_luce import PlackettLuce

__all__ = [
    "Bethe",
    "Delta",
    "EarlyLate",
    "GumbelMatching",
    "Listed",
    "MatrixPlackettLuce",
    "OrderLaw",
    "PlackettLuce",
    "ScoredLaw",
    "Uniform",
    "log_permanent_bethe",
    "log_permanent_exact",
    "permutation",
]
