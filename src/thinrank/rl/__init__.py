"""Several related Markov decision processes, learned together by fitted Q-iteration."""

from thinrank.rl.bound import q_error_bound
from thinrank.rl.features import Fourier, Identity, Lookup, RadialBasis, Tabular
from thinrank.rl.fqi import MultiTaskFQI
from thinrank.rl.history import QHistory, QRecord
from thinrank.rl.tasks import ExpectedTask, Task
from thinrank.rl.transitions import Transitions

__all__ = [
    "ExpectedTask",
    "Fourier",
    "Identity",
    "Lookup",
    "MultiTaskFQI",
    "QHistory",
    "QRecord",
    "RadialBasis",
    "Tabular",
    "Task",
    "Transitions",
    "q_error_bound",
]
