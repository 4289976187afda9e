"""The network of a model as GraphML: every coefficient can be computed from it."""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import thinrank as tr

KINDS = ("predictor", "response")
SPACE = "{http://graphml.graphdrawing.org/xmlns}"


def read(path):
    """Names by identifier, and the weights of the edges."""
    root = ElementTree.parse(path).getroot()
    value = {
        element: {data.get("key"): data.text for data in element.iter(f"{SPACE}data")}
        for element in [*root.iter(f"{SPACE}node"), *root.iter(f"{SPACE}edge")]
    }
    nodes = {node.get("id"): value[node] for node in root.iter(f"{SPACE}node")}
    edges = {
        (edge.get("source"), edge.get("target")): float(value[edge]["weight"])
        for edge in root.iter(f"{SPACE}edge")
    }
    return nodes, edges


@pytest.mark.parametrize("kept", [None, ["X2^2"]])
def test_products_along_the_edges_are_the_coefficients(tmp_path, kept):
    X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    est = tr.SparseReducedRankRegressor(2, 4, None, always_keep=kept).fit(X, Y)
    nodes, edges = read(tr.report.write_graphml(est, tmp_path / "network.graphml"))
    kinds = {kind: [i for i in nodes if nodes[i]["kind"] == kind] for kind in KINDS}
    found = {
        (nodes[p]["name"], nodes[r]["name"]): edges.get((p, r), 0.0)
        + sum(edges.get((p, f), 0) * edges.get((f, r), 0) for f in ("f1", "f2"))
        for p in kinds["predictor"]
        for r in kinds["response"]
    }
    table = est.summary().to_frame()
    expected = table.set_index(["predictor", "response"]).standardized.to_dict()
    assert found.keys() == expected.keys()
    for pair, size in found.items():
        assert size == pytest.approx(expected[pair], rel=1e-6)


def test_names_that_xml_forbids_are_replaced(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((30, 2)), columns=["a\x00b", "<node/> & \x0b"])
    Y = X.to_numpy() @ rng.standard_normal((2, 3))
    est = tr.SparseReducedRankRegressor(1, 2, None).fit(X, Y)
    nodes, _ = read(tr.report.write_graphml(est, tmp_path / "network.graphml"))
    names = {node["name"] for node in nodes.values() if node["kind"] == "predictor"}
    assert names == {"a\ufffdb", "<node/> & \ufffd"}


def test_a_model_of_rank_zero_has_no_nodes(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    est = tr.SparseReducedRankRegressor(0, 0, 0).fit(X, Y)
    assert read(tr.report.write_graphml(est, tmp_path / "network.graphml")) == ({}, {})
