"""From a campaign to an estimate: solvers, weights, robust fits, covariances."""

from stiffarm.calling import make_callable

make_callable(__name__)
