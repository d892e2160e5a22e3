"""Loops whose `#pragma ivdep` is not true: what is certain is found, and nothing else."""

from __future__ import annotations

import pytest

from fpgart.kernels.loops.dependences import broken_promises

BROKEN = [
    ("the element before", "for (int i = 1; i < n; i++) x[i] = x[i - 1] + 1;", 1),
    ("further back", "for (int i = 4; i < n; ++i) { x[i] = x[i - 4]; }", 4),
    ("upwards from a sum", "for (int i = 0; i < n; i++) x[i + 3] = x[i + 1];", 2),
    ("in steps", "for (int i = 8; i < n; i += 4) x[i] = x[i - 8];", 2),
    ("downwards", "for (int i = n; i > 0; i--) x[i] = x[i + 1];", 1),
    ("one element", "for (int i = 0; i < n; i++) x[0] += y[i];", 1),
    ("a scaled index", "for (int i = 1; i < n; i++) x[2 * i] = x[2 * i - 2];", 1),
    ("with a name that stays", "for (int i = 1; i < n; i++) x[n + i] = x[n + i - 1];", 1),
    ("another statement", "for (int i = 1; i < n; i++) { int t = x[i - 1]; x[i] = t; }", 1),
]
KEPT = [
    ("other arrays", "for (int i = 1; i < n; i++) x[i] = y[i - 1];"),
    ("the same element", "for (int i = 0; i < n; i++) x[i] = x[i] + 1;"),
    ("an element that is written later", "for (int i = 0; i < n; i++) x[i] = x[i + 1];"),
    ("between the elements", "for (int i = 0; i < n; i++) x[2 * i] = x[2 * i - 1];"),
    ("nobody knows where", "for (int i = 0; i < n; i++) x[y[i]] += 1;"),
    ("a distance that is a name", "for (int i = 0; i < n; i++) x[i] = x[i - n];"),
    ("a name that changes", "for (int i = 0; i < n; i++) { x[n] = x[n - 1]; n += 1; }"),
]


def found(body: str, pragma: str = "#pragma ivdep") -> list[int]:
    source = f"kernel void k(global int *x, global int *y, int n) {{\n{pragma}\n{body}\n}}"
    return [each.distance for each in broken_promises(source)]


@pytest.mark.parametrize(("body", "distance"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_dependence_is_found(body: str, distance: int) -> None:
    assert found(body) == [distance]


@pytest.mark.parametrize("body", [row[1] for row in KEPT], ids=[row[0] for row in KEPT])
def test_what_is_not_certain_is_not_told(body: str) -> None:
    assert found(body) == []


@pytest.mark.parametrize(
    ("pragma", "distances"),
    [
        ("", []),
        ("#pragma ivdep array(x)", [4]),
        ("#pragma ivdep array(y)", []),
        ("#pragma ivdep safelen(4)", []),
        ("#pragma ivdep safelen(5)", [4]),
        ("#pragma unroll 4", []),
    ],
)
def test_only_what_the_pragma_promises_counts(pragma: str, distances: list[int]) -> None:
    assert found("for (int i = 4; i < n; i++) x[i] = x[i - 4];", pragma) == distances
