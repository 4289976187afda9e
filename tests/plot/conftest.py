"""Plots are drawn without a screen, and every figure is closed."""

import matplotlib as mpl
import pytest


@pytest.fixture(autouse=True)
def canvas():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def ax():
    """Axes of a figure that pyplot does not know."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.subplots()
