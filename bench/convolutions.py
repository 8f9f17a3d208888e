"""Convolutions and their gradients in compiled code: microseconds of each kind of program that `convolve_by_xla` has.

    python bench/convolutions.py [--seconds 0.2]

The first figure is that of the program that is chosen. Shapes are those of small networks, and of ResNet50 and
MobileNetV2 for images of 96x96.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import jax
import numpy as np

from gradtape.compiled.fusion import planned
from gradtape.compiled.onednn import by_onednn
from gradtape.ops.nn import convolve_by_xla as xla
from gradtape.ops.nn.windows import Windows

# batch, length of both sides, channels, filters, window, stride, groups
SHAPES = [
    (32, 28, 1, 32, 3, 1, 1),
    (32, 28, 1, 6, 5, 1, 1),
    (32, 28, 3, 32, 3, 1, 1),
    (32, 28, 4, 32, 3, 1, 1),
    (32, 28, 8, 32, 3, 1, 1),
    (32, 28, 16, 32, 3, 1, 1),
    (16, 16, 16, 16, 3, 1, 1),
    (32, 14, 6, 16, 5, 1, 1),
    (32, 14, 32, 64, 3, 1, 1),
    (1, 14, 32, 64, 3, 1, 1),
    (1, 64, 8, 8, 3, 1, 1),
    (8, 24, 64, 64, 3, 1, 1),
    (8, 12, 256, 64, 1, 1, 1),
    (8, 12, 256, 512, 1, 2, 1),
    (8, 6, 256, 256, 3, 1, 1),
    (8, 3, 512, 512, 3, 1, 1),
    (8, 96, 3, 64, 7, 2, 1),
    (8, 24, 128, 128, 3, 2, 1),
    (8, 14, 128, 128, 3, 1, 32),
    (8, 28, 64, 64, 3, 1, 2),
    (8, 24, 144, 144, 3, 1, 144),
    (8, 24, 144, 144, 3, 2, 144),
]


def programs(shape: tuple[int, ...], filters: tuple[int, ...], windows: Windows, groups: int) -> Any:
    """Of each of the three primitives: the shapes that it takes, what is chosen, and all programs by name."""
    rank = len(windows.size)
    space = shape[1 : 1 + rank]
    out = (shape[0], *windows.fit(space), filters[-1])

    def transposed(at: int, parts: Any) -> Any:
        function = lambda x, f: xla._convolved(x, f, windows, groups, parts)
        if at == 0:
            return lambda y, f: xla._transposed(function, shape, y, f)
        return lambda x, y: xla._transposed(lambda f, x: function(x, f), filters, y, x)

    forward = {"xla": lambda x, f: xla._convolved(x, f, windows, groups, None)}
    by_input, by_filters = {"xla": transposed(0, None)}, {"xla": transposed(1, None)}
    if groups == 1 and np.prod(windows.size) <= xla._MOST_TAPS:
        forward["product"] = lambda x, f: xla._convolved(x, f, windows, groups, xla._moving_parts)
        by_input["product"] = transposed(0, xla._parts)
        by_filters["product"] = transposed(1, xla._moving_parts)
    if np.prod(filters[:-1]) <= xla._MOST_TERMS and (groups == 1 or filters[-2] == 1):
        forward["sum"] = lambda x, f: xla._by_sum(x, f, windows, groups)
    if groups > 1 and filters[-2] == 1:
        by_input["sum"] = lambda y, f: xla._transposed(
            lambda x, f: xla._by_sum(x, f, windows, groups), shape, xla._unfused(y), f
        )
        by_filters["sum"] = lambda x, y: xla._correlated_by_sum(x, y, windows)
    if np.prod(windows.size) <= xla._MOST_TAPS:
        by_filters["taps"] = lambda x, y: xla._correlated_by_taps(x, y, windows, groups)
    yield "convolve", (shape, filters), lambda x, f: xla.convolved_by_xla(x, f, windows, groups), forward
    by_x = lambda y, f: xla.deconvolved_by_xla(y, f, windows, groups, space)
    yield "by input", (out, filters), by_x, by_input
    yield "by filters", (shape, out), lambda x, y: xla.correlated_by_xla(x, y, windows, groups), by_filters


def compiled(function: Any, arrays: list[Any], library: Any) -> Any:
    """The program that gradtape compiles of a function, with convolutions by a library."""
    closed = jax.make_jaxpr(function)(*arrays)
    jaxpr, options = planned(closed.jaxpr)
    jaxpr = library(jaxpr)
    return jax.jit(lambda *a: jax.core.eval_jaxpr(jaxpr, closed.consts, *a), compiler_options=options)


def microseconds(run: Any, arrays: list[Any], seconds: float) -> float:
    """The least time of a call, at least of three."""
    jax.block_until_ready(run(*arrays))
    end, least, calls = time.perf_counter() + seconds, float("inf"), 0
    while (start := time.perf_counter()) < end or calls < 3:
        jax.block_until_ready(run(*arrays))
        least, calls = min(least, time.perf_counter() - start), calls + 1
    return least * 1e6


def main() -> None:
    """Print a row for each shape and primitive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.2, help="the time for each figure")
    seconds = parser.parse_args().seconds
    random = np.random.default_rng(0)
    for batch, length, channels, outs, size, stride, groups in SHAPES:
        pads = jax.lax.padtype_to_pads((length,) * 2, (size,) * 2, (stride,) * 2, "SAME")
        windows = Windows((size,) * 2, (stride,) * 2, (1, 1), tuple(map(tuple, pads)))
        shape, filters = (batch, length, length, channels), (size, size, channels // groups, outs)
        print(f"{batch}x{length}x{length}x{channels}, {size}x{size}x{outs}, stride {stride}, groups {groups}")
        for name, shapes, chosen, candidates in programs(shape, filters, windows, groups):
            arrays = [jax.numpy.array(random.normal(size=s), "float32") for s in shapes]
            runs = {"chosen": compiled(chosen, arrays, by_onednn)}
            for label, program in candidates.items():
                runs[label] = compiled(program, arrays, lambda jaxpr: jaxpr)
            runs["oneDNN"] = compiled(candidates["xla"], arrays, by_onednn)
            row = [f"{label} {microseconds(run, arrays, seconds):.0f}" for label, run in runs.items()]
            print(f"  {name:12}{'   '.join(row)}", flush=True)


if __name__ == "__main__":
    main()
