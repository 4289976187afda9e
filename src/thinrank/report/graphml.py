"""The network of a fitted model as GraphML, which Cytoscape, Gephi, yEd and networkx read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from thinrank.core.files import write_text
from thinrank.plot.canvas import fitted_model, selected

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by XML 1.0
_KEYS = (("name", "node", "string"), ("kind", "node", "string"), ("weight", "edge", "double"))


def write_graphml(est: Any, path: Path | str) -> Path:
    """Write predictors, factors and responses as a network.

    Nodes have a ``name`` and a ``kind`` ("predictor", "factor" or "response"). The ``weight`` of
    an edge is a loading, in standard deviations: of a predictor on a factor, or of a response on
    it. A coefficient is the sum, over the factors, of the products of the two weights. Predictors
    that are always kept act on the responses directly.

    Parameters
    ----------
    est : estimator
        A fitted estimator, such as :class:`thinrank.SparseReducedRankRegressor`.
    path : path
        The file to write. It is complete or absent; an earlier one is replaced.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tr.report.write_graphml(est, Path(folder) / "network.graphml")
    ...     path.read_text(encoding="utf-8").count("<node ")
    20
    """
    model = fitted_model(est)
    rows, columns, values = selected(model)
    root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for name, domain, kind in _KEYS:
        given = {"id": name, "for": domain, "attr.name": name, "attr.type": kind}
        ElementTree.SubElement(root, "key", given)
    graph = ElementTree.SubElement(root, "graph", id="model", edgedefault="directed")
    nodes = [(f"p{i}", "predictor", model.predictor_names[i]) for i in rows]
    nodes += [(f"f{j + 1}", "factor", f"factor {j + 1}") for j in range(model.rank)]
    nodes += [(f"r{i}", "response", model.response_names[i]) for i in columns]
    for identity, kind, name in nodes:
        node = ElementTree.SubElement(graph, "node", id=identity)
        _data(node, "name", _FORBIDDEN.sub("\ufffd", name))
        _data(node, "kind", kind)
    factors = [f"f{j + 1}" for j in range(model.rank)]
    responses = [f"r{i}" for i in range(len(model.response_names))]
    direct = values * np.isin(rows, model.kept)[:, None]
    for sources, targets, weights in (
        ([f"p{i}" for i in model.selected], factors, model.predictor_loadings),
        (factors, responses, model.response_loadings.T),
        ([f"p{i}" for i in rows], [responses[j] for j in columns], direct),
    ):
        for i, j in np.argwhere(weights):
            edge = ElementTree.SubElement(graph, "edge", source=sources[i], target=targets[j])
            _data(edge, "weight", f"{float(weights[i, j]):.9g}")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    write_text(path, f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n')
    return Path(path)


def _data(parent: ElementTree.Element, key: str, text: str) -> None:
    ElementTree.SubElement(parent, "data", key=key).text = text
