"""From a campaign to an estimate: solvers, weights, robust fits, covariances."""
