"""How a program is compiled: which values its kernels share, and by which of XLA's code generators they are made.

XLA joins elementwise operations into kernels, and computes a value that several kernels use in each of them anew. In a
long chain of small operations that explodes: the state of an unrolled recurrence is computed from the beginning in the
kernels of every step. `planned` finds such values and puts a barrier behind each (`optimization_barrier`), at which
kernels end: they are computed once and stored. Convolutions have barriers of their own. The choice follows from the
program alone, never from a clock.

Only for CPUs: XLA's compilers for other devices limit by themselves what they compute twice.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal, Var

from .jaxprs import inner_code, replaced, with_names

# Elementwise operations by their cost, in units of 0.1 ns an element: measured on one core, at 1e6 elements of float32.
_OPERATIONS = {
    0: "broadcast_in_dim reshape transpose slice pad rev concatenate stack split dynamic_slice "
    "squeeze expand_dims iota copy copy_p bitcast_convert_type stop_gradient real imag conj complex",
    0.3: "add sub mul neg max min abs sign square integer_pow div convert_element_type reduce_precision select_n clamp "
    "gt lt ge le eq ne and or not xor is_finite floor ceil round shift_left shift_right_logical "
    "shift_right_arithmetic population_count clz nextafter",
    2: "sqrt rsqrt",
    4: "exp exp2 tanh erf",
    6: "logistic log log1p expm1",
    10: "cbrt rem",
    50: "sin cos tan pow atan2 asin acos atan sinh cosh asinh acosh atanh erfc erf_inv",
    100: "lgamma digamma",
}
_COSTS = {name: cost for cost, names in _OPERATIONS.items() for name in names.split()}
ELEMENTWISE = frozenset(_COSTS)
# An element of the result comes from another place of the operand.
_INDEXING = frozenset(_OPERATIONS[0].partition(" squeeze")[0].split())
_VIEWS = ("reshape", "squeeze", "expand_dims")  # the operand's own memory
CONTROL = frozenset(("while", "scan", "cond", "jit"))

_STORE = 3  # units: to store an element and load it again;
_LOAD = 1  # to load it,
_FEW = 8  # if fewer operations than these do not compute it again
_LAUNCH = 10_000  # units: to run one more kernel
_MANY = 3  # kernels that compute a value again: from here on the time to compile them counts as well,
_CODE = 100  # which for one more kernel is that of so many operations
_ALONG_ROWS = (((0,), (0,)), ((), ()))  # the axes along which x^T y is added up
# With so many rows, x^T y is swapped if x has so many times the columns of y; with fewer rows, if it has more.
_ROWS, _WIDER = 64, 4
_PLACES = 64  # more places of use than these are not told apart
# LLVM's, where XLA's own is 3: a Keras LSTM's training step takes 1.4 s of processor time to compile instead of 1.8 to
# 2.2, a depthwise convolution 0.3 s instead of 0.6, and the programs of the bench run as fast.
_OPTIMIZATION_LEVEL = 2
# The library YNNPACK for products and sums, where XLA's own choice is convolutions as well: by Eigen these take half to
# two thirds of the time, but for those of one channel, which are sums here (`ops/nn/convolve_by_xla.py`).
_YNNPACK = "xla_cpu_experimental_ynn_fusion_type"
_PRODUCTS_ALONE = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"
# The same for products with what comes before and after them: the gradient of a mixture of 25 Gaussians takes 1.6 ms
# instead of 1.9, an attention block as long. Programs without stacks of products would take up to 3 % longer.
_PRODUCTS_AND_NEIGHBOURS = "LIBRARY_FUSION_TYPE_DOT,LIBRARY_FUSION_TYPE_REDUCE"
# Bits. XLA's own choice is 256, and so on processors that have 512 as well: tanh(b*b + b) * exp(-b) over a million
# elements, and its gradient, take 345 us instead of 460, and all other programs of the bench as long or up to 3 % less.
_VECTOR_WIDTH = 512
# Elements that a program computes. From so many on, XLA orders operations so that little memory is in use at a time,
# and not so that independent ones can run at once: MobileNetV2's training step (8 images of 96x96) takes 67 ms instead
# of 96, because the system clears fewer pages. ResNet50 and small networks take as long in either order, an attention
# block of 3 million elements a tenth longer.
_MUCH = 1 << 24
# Elements. XLA's older code generator makes no vector instructions of kernels that write over what they read: a step of
# gradient descent in place takes 8 us with either generator for 1024 elements, and 30 instead of 8 us for 4096. So do
# loops: 100 iterations of `maximum(x * 0.99, x * x * 0.1)` on 100,000 elements take 7.8 ms instead of 1.8.
_IN_PLACE = 1 << 11


def planned(jaxpr: Any, in_place: int = 0) -> tuple[Any, dict[str, Any] | None]:
    """Return the code with barriers where they pay, and the options to compile it with; None for XLA's own.

    Args:
        jaxpr: the code.
        in_place: the elements of the largest array that the program is given, and writes over.
    """
    options = common_options()
    if not options:
        return jaxpr, None
    if max(in_place, _largest_carry(jaxpr)) < _IN_PLACE and _is_elementwise(jaxpr):
        options["xla_cpu_use_fusion_emitters"] = False
    if _has_stacks_of_products(jaxpr):
        options[_YNNPACK] = _PRODUCTS_AND_NEIGHBOURS
    if _computes_much(jaxpr):
        options["xla_cpu_scheduler_type"] = "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"
    with_barriers = _with_barriers(_with_swapped_products(_without_equal_barriers(jaxpr)))
    if any(_is_barrier(eqn) for code in inner_code(with_barriers) for eqn in code.eqns):
        # The pass that removes barriers comes before the one that makes kernels.
        options["xla_disable_hlo_passes"] = "cse_barrier_expander"
    return with_barriers, options


def common_options() -> dict[str, Any]:
    """The options that every program is compiled with."""
    if not is_cpu():
        return {}
    return {
        "xla_backend_optimization_level": _OPTIMIZATION_LEVEL,
        _YNNPACK: _PRODUCTS_ALONE,
        "xla_cpu_prefer_vector_width": _VECTOR_WIDTH,
    }


@functools.cache
def is_cpu() -> bool:
    """Return whether programs run on CPUs."""
    return jax.default_backend() == "cpu"


def _has_stacks_of_products(jaxpr: Any) -> bool:
    """Return whether products of many matrices are computed at once, as in attention or in a mixture."""
    return any(
        eqn.primitive is jax.lax.dot_general_p and eqn.params["dimension_numbers"][1][0]
        for code in inner_code(jaxpr)
        for eqn in code.eqns
    )


def _computes_much(jaxpr: Any) -> bool:
    elements = 0
    for code in inner_code(jaxpr):
        for eqn in code.eqns:
            elements += sum(math.prod(getattr(v.aval, "shape", ())) for v in eqn.outvars)
    return elements >= _MUCH


def _largest_carry(jaxpr: Any) -> int:
    """The elements of the largest array that a loop writes over in each iteration."""
    return max((_carried(eqn) for code in inner_code(jaxpr) for eqn in code.eqns), default=0)


def _carried(eqn: Any) -> int:
    """The elements of the largest array that a loop writes over; 0 if this is none."""
    if eqn.primitive.name not in ("while", "scan"):
        return 0
    carry = eqn.outvars[: eqn.params.get("num_carry", len(eqn.outvars))]
    return max((math.prod(v.aval.shape) for v in carry), default=0)


def _is_elementwise(jaxpr: Any) -> bool:
    """Return whether the code is made of elementwise operations, sums of whole arrays, loops and branches.

    XLA's older code generator computes each value once in a kernel, the newer one again for each use: without barriers,
    the gradient of 20 steps of RK4 takes 9 us by the former and 0.2 s to compile, 270 us and 67 s by the latter. With
    barriers, the second derivative of 10 steps takes 0.3 s to compile by the former, and 1.3 s by the latter. Programs
    with products, or with sums along an axis, run faster with the newer one.
    """
    return all(
        eqn.primitive.name in _COSTS
        or eqn.primitive.name in CONTROL
        or (eqn.primitive.name.startswith("reduce_") and eqn.outvars[0].aval.ndim == 0)
        for code in inner_code(jaxpr)
        for eqn in code.eqns
    )


def _with_barriers(jaxpr: Any, least: int = 0) -> Any:
    """Put barriers behind the values to store; return the very same code if there are none of `least` elements.

    Branches stay as they are, and loops on small arrays: these become one kernel, for which XLA takes no barriers.
    """
    with_loops = [_with_barriers_inside(eqn) for eqn in jaxpr.eqns]
    if any(new is not old for new, old in zip(with_loops, jaxpr.eqns)):
        jaxpr = replaced(jaxpr, eqns=with_loops)
    stored = _Kernels(jaxpr).stored()
    if not any(math.prod(v.aval.shape) >= least for v in stored):
        return jaxpr
    behind: dict[Any, Any] = {}  # a value, and the same behind its barrier
    eqns = []
    for eqn in jaxpr.eqns:
        eqns.append(with_names(behind, eqn))
        for v in eqn.outvars:
            if v in stored:
                behind[v] = Var(v.aval)
                eqns.append(_barrier().replace(invars=[v], outvars=[behind[v]]))
    return replaced(jaxpr, eqns=eqns, outvars=[_get(behind, v) for v in jaxpr.outvars])


def _with_barriers_inside(eqn: Any) -> Any:
    """A loop that writes over large arrays with barriers in its body; any other equation as it is."""
    name = {"while": "body_jaxpr", "scan": "jaxpr"}.get(eqn.primitive.name)
    if name is None or _carried(eqn) < _IN_PLACE:
        return eqn
    closed = eqn.params[name]
    body = _with_barriers(closed.jaxpr, _IN_PLACE)
    if body is closed.jaxpr:
        return eqn
    return eqn.replace(params={**eqn.params, name: closed.replace(jaxpr=body)})


def _without_equal_barriers(jaxpr: Any) -> Any:
    """Keep one barrier for each number.

    What is computed twice from equal numbers behind two barriers, XLA would compute twice: the windows of a
    convolution for its result, and again for its gradient.
    """
    numbers: dict[Any, Any] = {}
    first: dict[Any, Any] = {}  # a number behind a barrier, and the same behind the first one
    eqns = []
    for eqn in jaxpr.eqns:
        if _is_barrier(eqn) and len(eqn.invars) == 1 and isinstance(eqn.invars[0], Literal):
            (number,), (behind,) = eqn.invars, eqn.outvars
            first[behind] = numbers.setdefault((number.aval, np.asarray(number.val).item()), behind)
            if first[behind] is not behind:
                continue
        eqns.append(with_names(first, eqn) if first else eqn)
    return replaced(jaxpr, eqns=eqns, outvars=[_get(first, v) for v in jaxpr.outvars]) if first else jaxpr


def _with_swapped_products(jaxpr: Any) -> Any:
    """Compute x^T y as the transpose of y^T x where x has many more columns than y.

    As in the gradient by the weights of a layer with few outputs. XLA takes 0.9 ms for 1024 rows of 512 and 32 columns,
    and 0.3 swapped; 3.0 and 1.6 for 1024 and 128. The barrier keeps XLA from swapping them back.
    """
    transposed = {
        eqn.outvars[0]: eqn.invars[0]
        for eqn in jaxpr.eqns
        if eqn.primitive is jax.lax.transpose_p and eqn.params["permutation"] == (1, 0)
    }
    slow = {id(eqn): factors for eqn in jaxpr.eqns if (factors := _slow_product(eqn, transposed))}
    if not slow:
        return jaxpr
    eqns = []
    for eqn in jaxpr.eqns:
        if id(eqn) not in slow:
            eqns.append(eqn)
            continue
        (x, y), (out,) = slow[id(eqn)], eqn.outvars
        aval = out.aval.update(shape=out.aval.shape[::-1])
        product, stored = Var(aval), Var(aval)
        params = eqn.params | {"dimension_numbers": _ALONG_ROWS}
        eqns.append(eqn.replace(invars=[y, x], outvars=[product], params=params))
        eqns.append(_barrier().replace(invars=[product], outvars=[stored]))
        eqns.append(_transpose().replace(invars=[stored], outvars=[out]))
    return replaced(jaxpr, eqns=eqns)


def _slow_product(eqn: Any, transposed: dict[Any, Any]) -> tuple[Any, Any] | None:
    """The factors x and y of a product x^T y that is quicker swapped; `transposed` has values by their transposes."""
    if eqn.primitive is not jax.lax.dot_general_p or eqn.outvars[0].aval.ndim != 2:
        return None
    x, y = eqn.invars
    if eqn.params["dimension_numbers"] == (((1,), (0,)), ((), ())):
        x = transposed.get(x) if isinstance(x, Var) else None
    elif eqn.params["dimension_numbers"] != _ALONG_ROWS:
        return None
    if x is None or x.aval.ndim != 2:
        return None
    (rows, columns), few = x.aval.shape, y.aval.shape[1]
    return (x, y) if columns * min(rows, _ROWS) >= _WIDER * few * _ROWS else None


def _is_barrier(eqn: Any) -> bool:
    return eqn.primitive is jax.lax.optimization_barrier_p


@functools.cache
def _transpose() -> Any:
    """The equation of a transpose of two axes, to be given other variables."""
    return jax.make_jaxpr(jax.numpy.transpose)(np.zeros((1, 1))).eqns[0]


@functools.cache
def _barrier() -> Any:
    """The equation of a barrier, to be given other variables."""
    return jax.make_jaxpr(jax.lax.optimization_barrier)(0.0).eqns[0]


def _get(behind: dict[Any, Any], v: Any) -> Any:
    return behind.get(v, v) if isinstance(v, Var) else v


def _through(eqn: Any, number: int, position: int, places: set[Any]) -> set[Any]:
    """The places at which an operand is used, of an operation whose result is used at some places."""
    shape = eqn.invars[position].aval.shape
    if math.prod(shape) == 1:
        return {(root, None) for root, _ in places}
    name = eqn.primitive.name
    if name not in _INDEXING or (
        name == "reshape" and _without_ones(shape) == _without_ones(eqn.outvars[0].aval.shape)
    ):
        return places
    way = eqn.params["start_indices"] if name == "slice" else (number, position)
    return {(root, (way, before)) for root, before in places}


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n != 1]


class _Kernels:
    """The kernels that XLA makes of some code, by the values that they compute and store: their roots."""

    def __init__(self, jaxpr: Any) -> None:
        self.eqns = jaxpr.eqns
        self.fused = [eqn.primitive.name in _COSTS for eqn in self.eqns]
        self.roots = {v for v in jaxpr.outvars if isinstance(v, Var)}
        for eqn, is_fused in zip(self.eqns, self.fused):
            if not is_fused and not eqn.primitive.name.startswith("reduce_"):
                self.roots.update(v for v in eqn.invars if isinstance(v, Var))
        for eqn in reversed(self.eqns):
            if eqn.primitive.name in _VIEWS and eqn.outvars[0] in self.roots:
                self.roots.update(v for v in eqn.invars if isinstance(v, Var))
        self.kinds = self._kinds()

    def _kinds(self) -> list[tuple[float, int]]:
        """Each cost of an operation, and the set of operations that have it: bit i stands for equation i."""
        sets: dict[float, int] = {}
        for i, eqn in enumerate(self.eqns):
            cost = _COSTS.get(eqn.primitive.name)
            if cost:
                sets[cost] = sets.get(cost, 0) | 1 << i
        return list(sets.items())

    def stored(self) -> set[Any]:
        """The values to store: those for which that costs less than computing them in each kernel that uses them."""
        candidates = self._shared()
        return self._worth(candidates) if candidates else set()

    def _shared(self) -> dict[Any, int]:
        """Values that are computed several times if none but those found here are stored; and how often again.

        A place of use is a root and the way from its index to the value's: at another index a kernel computes a value
        anew. Of one element there is one index.
        """
        work = self._work({})
        places: dict[Any, set[Any]] = {v: {(v, None)} for v in self.roots}
        found: dict[Any, int] = {}
        for i in range(len(self.eqns) - 1, -1, -1):
            eqn, used_at = self.eqns[i], set()
            for v in eqn.outvars:
                mine = places.pop(v, set())
                if self.fused[i] and len(mine) > 1 and self._pays(v, work[v], len(mine) - 1):
                    found[v] = len(mine) - 1
                    mine = {(v, None)}
                used_at |= mine
            for position, v in enumerate(eqn.invars):
                if not isinstance(v, Var):
                    continue
                known = places.setdefault(v, set())
                if not self.fused[i]:
                    known.add((v if v in self.roots else i, None))
                elif len(known) < _PLACES:
                    known |= _through(eqn, i, position, used_at)
        return found

    def _worth(self, candidates: dict[Any, int]) -> set[Any]:
        """The candidates that are still costly to compute if the others are stored."""
        stored: set[Any] = set()
        self._work(candidates, stored)
        return stored

    def _work(self, candidates: dict[Any, int], stored: set[Any] | None = None) -> dict[Any, int]:
        """The set of operations by which a kernel computes each value from what is stored."""
        work: dict[Any, int] = {}
        for i, (eqn, is_fused) in enumerate(zip(self.eqns, self.fused)):
            operations = 0
            if is_fused:
                operations = 1 << i
                for v in eqn.invars:
                    if isinstance(v, Var):
                        operations |= work.get(v, 0)
            for v in eqn.outvars:
                work[v] = operations
                # If other candidates are not stored after all, a value is computed more often than it seemed.
                again = max(candidates.get(v, 0), _MANY)
                if stored is not None and v in candidates and self._pays(v, operations, again):
                    stored.add(v)
                    work[v] = 0
        return work

    def _pays(self, v: Any, operations: int, again: int) -> bool:
        """Return whether to store a value rather than to compute it `again` so many times."""
        size = math.prod(v.aval.shape)
        cost = sum(cost * (operations & having).bit_count() for cost, having in self.kinds)
        count = operations.bit_count()
        if v in self.roots:  # stored as it is: to load it is all that the others need
            return cost > _LOAD or count > _FEW
        return again * cost * size > _STORE * size + _LAUNCH or (again >= _MANY and again * count > _CODE)
