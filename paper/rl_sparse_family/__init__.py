"""Reinforcement learning: a family of tasks that share a few features and a low rank."""

from paper.rl_sparse_family.page import CLAIMS, make_page
from paper.rl_sparse_family.study import STUDIES

__all__ = ["CLAIMS", "STUDIES", "make_page"]
