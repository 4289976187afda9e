"""Records in the form that the studies write, with invented numbers."""

import json

import numpy as np

METHODS = ("GDT", "pursuit", "DPP", "TSVD", "EEA", "RCGL", "JRRS", "MTL", "oracle", "null")
STAMP = {"versions": "thinrank 0.1.0, numpy 2.1.0", "day": "2026-11-15"}
ERRORS = dict(
    zip(METHODS, (0.046, 0.044, 0.06, 0.32, 0.31, 0.06, 0.05, 0.09, 0.04, 1.0), strict=True)
)


def accuracy(scale=1.0, replications=4, study="table1", **means):
    """Errors mean − 0.001·(±) around ``scale`` times the means."""
    same = {"study": study, "same_rows": 1.05, "columns": 50, "rank": 8, "seconds": 0.25, **STAMP}
    rows = []
    for method, mean in {**ERRORS, **means}.items():
        for seed in range(replications):
            error, sign = scale * mean + 0.001 * (-1) ** seed, (-1) ** seed
            own = {"method": method, "seed": seed, "rows": 10 + seed, "exact": seed == 0}
            scores = {"spectral": error, "frobenius": 1.1 * error, "prediction": 1.1 + 0.01 * sign}
            rows.append({**same, **own, **scores})
    return rows


def timing(gdt=1.0, start=0.1):
    rows = []
    for method, factor in {"GDT": gdt, "pursuit": 0.5, "DPP": 2.0, "JRRS": 3.0, "EEA": 40}.items():
        for zeta in (1, 5, 10):
            seconds = 0.1 * zeta * factor
            over = seconds > 30
            known = method in ("GDT", "pursuit")
            rows.append(
                {
                    "method": method,
                    "zeta": zeta,
                    "status": "> limit" if over else "ok",
                    "seconds": None if over else seconds,
                    "seconds_start": start * seconds if known else None,
                    "seconds_solver": (1 - start) * seconds if known else None,
                    "limit": 30.0,
                    "seed": 66_000,
                    **STAMP,
                }
            )
    return rows


def norway(discarded=("X1^2", "X1*X2", "X2*X3"), gdt=1.0):
    errors = {"GDT": gdt, "pursuit": 1.01, "RCGL": 0.99, "MTL": 1.014, "null": 1.3}
    rows = [
        {"kind": "error", "method": method, "seed": seed, "rmse": rmse + 0.01 * (seed - 1), **STAMP}
        for method, rmse in errors.items()
        for seed in range(3)
    ]
    kept = ["X1", "X2", "X3"]
    chosen = {"kind": "selection", "method": "GDT", "discarded": list(discarded), "kept": kept}
    return [*rows, {**chosen, "seed": 65_000, "rss": 123.4, **STAMP}]


def convergence(rate=0.8, steps=40):
    errors = [float(rate**i) for i in range(steps)]
    return [
        {
            "n": 200,
            "iterations": list(range(steps)),
            "errors": errors,
            "reference": "truth",
            "seed": 63_000,
            **STAMP,
        }
    ]


def high_dimension():
    about = {"iterations": [0, 1, 2, 3], "p": 5000, "k": 3000, "rank": 50, "size": 100}
    about |= {"asked": 120, "seed": 64_000, "objectives": [4.0, 2.0, 1.0, 0.5], **STAMP}
    about |= {"best_iteration": 2, "best_error": 0.1, "lasso_error": 0.55, "tolerance": 1e-4}
    about |= {"seconds_start": 3.0, "seconds_solver": 20.0}
    return [
        {"n": n, **about, "errors": [0.5, 0.2, 0.1, last], "last_error": last}
        for n, last in ((1000, 0.1), (500, 0.1 * 1.1))
    ]


def sensitivity(double=1.1):
    return [
        {"factor": f, "method": m, "seed": s, "spectral": 0.05 * ratio + 0.001 * s, **STAMP}
        for f, ratio in ((1.0, 1.0), (2.0, double), (4.0, 1.3))
        for m in ("GDT", "pursuit")
        for s in (-1, 0, 1)
    ]


def noise(uniform=1.02):
    kinds = {"normal": 1.0, "uniform": uniform, "rademacher": 0.99, "t3": 1.8}
    return [
        {
            "distribution": kind,
            "setting": setting,
            "method": method,
            "seed": seed,
            "spectral": 0.1 * ratio + 0.001 * seed,
            **STAMP,
        }
        for kind, ratio in kinds.items()
        for setting in ("twoway_strong", "twoway_weak")
        for method in ("GDT", "pursuit")
        for seed in (-1, 0, 1)
    ]


def rl_sparse_family(worse=None, seeds=6):
    """Errors 1/n for GDT; baselines need a multiple of the states."""
    factors = {"GDT": 1.0, "pursuit": 0.9, **(worse or {"group lasso": 3.0, "ridge": 9.0})}
    return [
        {
            "family": family,
            "states": n,
            "method": method,
            "seed": seed,
            "value_error": factor / n,
            "q_error": 2 * factor / n,
            "active": 10,
            "found": 10,
            "rank": 3,
            "feature_norm": 15.0,
            "q_variance": 0.01,
            "seconds": 2.5,
            **STAMP,
        }
        for family, sizes in (("linear", (20, 40, 80, 160, 320)), ("constructed", (40, 160)))
        for n in sizes
        for method, factor in factors.items()
        for seed in range(seeds)
    ]


def calcium(missed=0, rank_rsc=30):
    """A labelled movie with fifty regions of which the first ``missed`` of five are not found."""
    movie = "NeuroFinder 00.00, crop"
    image = np.arange(29 * 29).reshape(29, 29)
    mask = np.zeros((29, 29), dtype=int)
    mask[10:18, 10:18] = 1
    region = np.argwhere(mask)
    image, mask = image.tolist(), mask.tolist()
    cell = {"part": "labelled", "movie": movie, "rank": 50, "rows": 100, "columns": 3000}
    head = {"seed": 81_000, **cell, **STAMP}
    scores = {"recall": 0.5, "precision": 0.25, "combined": 1 / 3}
    scores |= {"inclusion": 0.7, "exclusion": 0.6}
    scores |= {"n_matched": 5, "n_estimated": 20, "n_labelled": 10}
    sizes = {"frames": 559, "height": 135, "width": 131, "strong_regions": 4, "neurons": 20}
    sizes |= {"strong_pixels": 200, "strong_pixels_kept": 150, "pixel_auc": 0.875}
    sizes |= {"active_frames": 99, "active_pixels": 2999, "rank_fitted": 50, "seconds": 3.21}
    rows = [
        {"kind": "sizes", **sizes, "rank_rsc": rank_rsc, "rank_authors": 60},
        *(
            {"kind": "scores", "stage": stage, "labels": labels, **scores}
            for labels in ("strong", "all")
            for stage in ("before separation", "after separation")
        ),
        {
            "kind": "picture",
            "image": image,
            "regions": [region.tolist()] * 50,
            "regions_estimated": [region.tolist()] * 3,
            "neuron_of_label": [
                3 if label % 10 == 0 and label > 10 * missed else 0 for label in range(1, 51)
            ],
        },
        *(
            {
                "kind": "region",
                "place": place,
                "region": 10 * place,
                "significance": 20.0 - place,
                "found": place > missed,
                "image": image,
                "labelled": mask,
                "trace_labelled": [0.0, 1.0, 0.5],
                **(_found_region(image, mask) if place > missed else {}),
            }
            for place in range(1, 6)
        ),
    ]
    about = {"part": "known", "kind": "known", "frames": 500, "height": 96, "width": 96}
    about |= {"neurons": 12, "pairs": 4, "rows": 100, "pixel_auc": 0.9, "traces": 10}
    about |= {"traces_close": 9, "seconds": 1.0, **scores, **STAMP}
    known = [
        {
            **about,
            "amplitude": amplitude,
            "stage": stage,
            "seed": seed,
            "combined": amplitude / 4 + 0.01 * (-1) ** seed,
        }
        for amplitude in (3.0, 1.5)
        for seed in (81_000, 81_001)
        for stage in ("before separation", "after separation")
    ]
    return [*({**head, **row} for row in rows), *known]


def _found_region(image, mask):
    return {
        "distance": 1.25,
        "inclusion": 0.8,
        "exclusion": 0.9,
        "correlation": 0.95,
        "footprint": image,
        "estimated": mask,
        "trace_estimated": [0.0, 0.9, 0.4],
    }


def rl_blackjack(seeds=3):
    """Edges that fall by 1/n to the optimum of 0.5 percent."""
    factors = {"GDT": 1.0, "pursuit": 0.8, "group lasso": 2.0, "pooled": 4.0, "optimum": 0.0}
    known = {"tasks": 12, "features": 292, "iterations": 5, "folds": 3, "hands": 200_000}
    return [
        {
            "states": n,
            "method": method,
            "seed": seed,
            "edge_exact": 0.005 + factor / n,
            "edge_standard": 0.024 + factor / n,
            "edge_played": 0.004 + factor / n,
            "edge_played_error": 0.0009,
            **({"active": 40, "rank": 2, "seconds": 1.5} if factor else {}),
            **known,
            **STAMP,
        }
        for n in (250, 1000)
        for method, factor in factors.items()
        for seed in range(seeds)
    ]


def every_study():
    """Return records for every study."""
    return {
        "table1": accuracy(),
        "table2": accuracy(1.5, study="table2"),
        "table3": accuracy(5, study="table3"),
        "table4": accuracy(7, study="table4"),
        "table5": timing(),
        "norway": norway(),
        "calcium": calcium(),
        "figure-no-error": convergence(),
        "figure-no-sparsity": convergence(0.9),
        "figure-high-dimension": high_dimension(),
        "sensitivity": sensitivity(),
        "noise": noise(),
        "rl-sparse-family": rl_sparse_family(),
        "rl-blackjack": rl_blackjack(),
    }


def write_records(out, results):
    """Lay the records down as the runner does."""
    for name, records in results.items():
        folder = out / name / "records"
        folder.mkdir(parents=True)
        (folder / "k.json").write_text(json.dumps(records))
        summary = {
            "command": f"make reproduce STUDY={name}",
            "quick": False,
            "machine": "Linux, x86_64, 2 cores",
            "keys": ["k"],
        }
        (out / name / "summary.json").write_text(json.dumps(summary))
