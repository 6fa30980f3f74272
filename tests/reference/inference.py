"""Writes inference.json for tests/lua/test_inference.lua and test_exact.lua: SciPy's results for Student's t, Welch's
test and two one-sided tests, exact intervals of shares, Fisher's exact test and permutation tests of two means. Usage:
python3 tests/reference/inference.py (SciPy 1.15 or later)."""

import json
import os

import numpy as np
import scipy
from scipy import stats

TAILS = [(t, f) for f in (1, 1.3, 2, 3.7, 5, 10.5, 14, 28, 61.25, 300, 4000)
         for t in (0.0, 1e-6, 0.01, 0.5, 1.0, 1.96, 2.5, 4.0, 9.0, 40.0)]
SHARES = [(s, f) for f in (1, 1.3, 2, 3.7, 14, 28, 300) for s in (0.4, 0.1, 0.05, 0.025, 0.005, 1e-4)]


def make_samples():
    random = np.random.default_rng(7)
    shapes = (15, 15, 0.0, 1.0), (15, 12, 4.0, 3.0), (3, 3, 0.5, 0.2), (2, 9, -2.0, 8.0)
    for count_a, count_b, shift, spread in shapes:
        a = np.round(random.normal(90, 2, count_a), 3)
        b = np.round(random.normal(90 - shift, 2 * spread, count_b), 3)
        yield a, b
    yield np.array([100.0, 100.0, 100.0]), np.array([99.0, 98.5, 97.0])


def compare(a, b, margin):
    test = stats.ttest_ind(a, b, equal_var=False)
    interval = test.confidence_interval(0.95)
    low = stats.ttest_ind(a, b - margin, equal_var=False, alternative="greater").pvalue
    high = stats.ttest_ind(a, b + margin, equal_var=False, alternative="less").pvalue
    return {"a": a.tolist(), "b": b.tolist(), "margin": margin, "t": test.statistic, "df": test.df, "p": test.pvalue,
            "low": interval.low, "high": interval.high, "p_equivalence": max(low, high)}


def adjust_by_holm():
    """Adjusts p values by Holm's definition: in ascending order, the largest product so far, at most 1."""
    p = [0.01, 0.04, 0.03, 0.005, 0.5, 0.03]
    order = np.argsort(p, kind="stable")
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return {"p": p, "adjusted": adjusted}


SHARES_OF_SEEDS = [(0, 1), (0, 3), (1, 3), (3, 3), (2, 5), (7, 10), (10, 10), (15, 15), (29, 30), (3, 4096)]
TABLES = [(3, 3, 0, 3), (2, 3, 1, 3), (3, 3, 3, 3), (0, 4, 4, 4), (7, 10, 2, 10), (9, 10, 2, 12), (1, 15, 14, 15),
          (5, 5, 0, 2), (0, 3, 0, 5), (12, 40, 30, 60)]


def compute_interval(count, n):
    found = stats.binomtest(count, n).proportion_ci(0.95, method="exact")
    return {"count": count, "n": n, "low": found.low, "high": found.high}


def test_by_fisher(a, n_a, b, n_b):
    return {"table": [a, n_a, b, n_b], "p": stats.fisher_exact([[a, n_a - a], [b, n_b - b]]).pvalue}


def test_by_permutation(a, b):
    """Tests all splits. p is the share of splits whose means are at least as far apart, the upper tail of their
    distance; SciPy's own two-sided p would be twice the smaller tail."""
    test = stats.permutation_test((a, b), lambda x, y: abs(np.mean(x) - np.mean(y)), vectorized=False,
                                  alternative="greater", n_resamples=np.inf)
    return {"a": list(a), "b": list(b), "p": test.pvalue, "splits": len(test.null_distribution)}


SAMPLES = [([50, 50, 50], [97, 97, 97]), ([0.5, 99.5, 99], [99.25, 98.5, 99.75]), ([10, 20], [30, 40, 50]),
           ([1, 2, 3, 4], [1, 2, 3, 4]), ([0, 0, 0, 100, 100], [100, 100, 100, 100, 100]),
           ([3.5, 8.25, 1, 9, 4.5, 4.25], [7, 11.5, 12, 8, 13, 9.5]), ([90, 91, 92.5], [90.25, 90.5])]


def main():
    content = {
        "scipy": scipy.__version__,
        "tails": [{"t": t, "df": f, "two_sided": 2 * stats.t.sf(t, f), "above": stats.t.sf(t, f),
                   "above_minus": stats.t.sf(-t, f)} for t, f in TAILS],
        "critical": [{"share": s, "df": f, "t": stats.t.isf(s, f)} for s, f in SHARES],
        "comparisons": [compare(a, b, 2.5) for a, b in make_samples()],
        "intervals": [compute_interval(*case) for case in SHARES_OF_SEEDS],
        "fisher": [test_by_fisher(*case) for case in TABLES],
        "permutations": [test_by_permutation(*case) for case in SAMPLES],
        "holm": adjust_by_holm(),
    }
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inference.json")
    with open(path, "w", encoding="ascii") as file:
        for key, value in content.items():  # a record per line
            records = ",\n".join(map(json.dumps, value)) if isinstance(value, list) else None
            file.write("%s%s: %s" % ("{" if key == "scipy" else ",\n", json.dumps(key),
                                     "[\n%s\n]" % records if records else json.dumps(value)))
        file.write("}\n")


if __name__ == "__main__":
    main()
