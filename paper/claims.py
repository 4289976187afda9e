"""Claims of the paper, checked against the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from paper.studies import StudyRecord

HOLDS, FAILS, NOT_RUN = "holds", "does not hold", "not run"

Finding = tuple[bool, str]
"""Whether a claim holds, and the numbers that decide it."""


@dataclass(frozen=True)
class Claim:
    """A claim that the records of some studies can decide."""

    text: str  # the claim, including the criterion where the paper gives none
    studies: tuple[str, ...]  # names of the studies that decide it
    # ``check(name, records)`` returns a :data:`Finding` for one study, or None if its records do
    # not decide the claim
    check: Callable[[str, list[StudyRecord]], Finding | None]


@dataclass(frozen=True)
class CheckedClaim:
    """A claim and the result of checking it."""

    text: str  # the claim
    studies: tuple[str, ...]  # names of the studies that decide it
    verdict: str  # the result
    evidence: str  # the numbers


def check_claims(
    claims: Iterable[Claim], results: dict[str, list[StudyRecord]]
) -> list[CheckedClaim]:
    """Check claims against records."""
    return [_check(claim, results) for claim in claims]


def _check(claim: Claim, results: dict[str, list[StudyRecord]]) -> CheckedClaim:
    findings = {
        name: claim.check(name, results[name]) if results.get(name) else None
        for name in claim.studies
    }
    several = len(claim.studies) > 1
    told = [
        (f"{name}: " if several else "") + (finding[1] if finding else NOT_RUN)
        for name, finding in findings.items()
    ]
    decided = [finding[0] for finding in findings.values() if finding is not None]
    if not decided:
        return CheckedClaim(claim.text, claim.studies, NOT_RUN, "")
    complete = len(decided) == len(claim.studies)
    verdict = FAILS if not all(decided) else HOLDS if complete else NOT_RUN
    return CheckedClaim(claim.text, claim.studies, verdict, "; ".join(told))
