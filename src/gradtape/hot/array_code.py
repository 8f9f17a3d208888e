"""ArrayProgram: a pass as generated Python code that calls functions on NumPy arrays: forward, back and update.

Operation by operation, a small one under a tape takes 5 to 8 us, forward and back; of those the two or three functions
of NumPy's that compute take 0.5 us each. The rest makes tensors, finds plans, records and sweeps, and all passes of a
trace do the same of it. So it is done once, when the code is generated, and the code has the calls alone: the
regression of bench/hot_tapes.py takes 4.8 us instead of 28 (XLA's call of the same program: 6.5).

They are the very functions that compute a pass operation by operation, on the same arrays and in the same order: a pass
gives the same bits either way. Functions are called, not looked into: what they do may depend on values. A few that
most networks use come to one call of NumPy's for arrays of these shapes, and the code has that (`_CALLS`). What
depends on no input (the first gradients of a sweep) is computed when the code is made.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..core.deferred_products import Products
from ..core.dtypes import HALF
from ..core.plan import Plan, fill_in
from ..core.primitive import apply, as_tensors, local, quietly
from ..core.structural import broadcast_axes, is_short, ones_like, total, unbroadcast
from ..core.sweep import leading_from
from ..core.tape import GradientTape
from ..core.tape_ends import seeds_of
from ..core.tensor import Tensor, key_of, wrap
from ..core.variable import Variable
from ..ops.linalg.products import matmul_, of_first, of_second
from ..ops.math.elementwise import relu, through_relu
from ..ops.math.reduction import mean
from .pass_events import Ask, Assign, Call, Enter, Exit, Meet, Operation, Update, outs_of, slot_of, specs_of
from .pass_replay import Replay
from .pass_trace import Trace
from .programs import PassProgram, outside_of_passes

_sum: Any = np.add.reduce
_LARGE = 1 << 14  # elements of an array that is better written over than dropped for a new one


class Unfit(Exception):
    """A trace has something that the code cannot have; says what."""


def unfit(trace: Trace) -> str | None:
    """The reason why no code can be made of a trace, as far as its events tell; None if there is none."""
    variables = {slot: reference() for slot, reference in trace.variables.items()}
    if any(variable is None for variable in variables.values()):
        return "a variable that is gone"
    if trace.unfit is not None:
        return trace.unfit
    private = {slot for slot, variable in variables.items() if variable is not None and variable._is_slot}
    is_open: list[bool] = []  # the tapes
    for event in trace.events:
        if isinstance(event, Enter):
            is_open.append(True)
        elif isinstance(event, (Exit, Ask)):
            is_open[event.tape] = False
            if isinstance(event, Ask) and any(is_open):
                return "a tape that records the sweep of another"
        if isinstance(event, (Call, Meet)):
            return "a compiled function, or an exchange with other replicas"
        if isinstance(event, Ask) and (event.method != "gradient" or event.weights is not None):
            return "a Jacobian, or weights of targets"
        if isinstance(event, Ask) and any(shape is not None for shape in event.slices):
            return "a sparse gradient"
        if isinstance(event, Operation) and event.checked:
            return "an operation that computes at once"
        if isinstance(event, Update):
            reason = _unfit_update(event, [variables[slot_of(spec)] for spec in event.variables])
            if reason is not None:
                return reason
        elif not private.isdisjoint(map(slot_of, specs_of(event))):
            return "an optimizer's own variable"
        parts: list[Any] = [*getattr(event, "specs", ()), *outs_of(event)]
        if any(part.dtype.char in HALF for part in parts if hasattr(part, "dtype")):
            return "half precision"
    return None


def _unfit_update(event: Update, variables: list[Any]) -> str | None:
    optimizer: Any = event.optimizer()
    if optimizer is None or event.aggregates is not None:
        return "an optimizer that is gone, or of replicas"
    if not isinstance(optimizer._learning_rate, Variable) or any(event.slices):
        return "a schedule of learning rates, or a sparse gradient"
    if len(set(event.variables)) < len(event.variables):
        return "a variable that is updated twice"
    if not _descends(optimizer) and optimizer._pure_step(variables) is None:
        return "an optimizer whose step does more than its rule, or whose variables are large"
    return None


def _descends(optimizer: Any) -> bool:
    """Return whether a step of an optimizer subtracts the gradient times the rate, and does nothing more."""
    o = optimizer
    if type(o).__name__ != "SGD" or o.weight_decay is not None or o.loss_scale_factor is not None:
        return False
    return not (
        o.momentum
        or o.clipnorm
        or o.global_clipnorm
        or o.clipvalue
        or o.use_ema
        or o.gradient_accumulation_steps
    )


class Value(NamedTuple):
    """A value in the code: the expression for it, and what it is in the pass that the code is made from."""

    text: str
    value: Any
    is_known: bool  # whether it is the same in every pass


class _Line(NamedTuple):
    targets: tuple[str, ...]
    text: str
    uses: frozenset[str]
    spent: str = ""  # a name whose array may be written over if nothing uses it later,
    in_place: str = ""  # which this text does


class ArrayProgram(PassProgram):
    """Generated code, with the interface of `programs.Program`."""

    def __init__(
        self,
        trace: Trace,
        end: int,
        outputs: tuple[int, ...],
        variables: dict[int, Variable],
        inputs: list[Tensor],
    ) -> None:
        super().__init__(trace, end, outputs)
        variables = {slot: variables[slot] for slot in self.slots if slot in variables}
        with outside_of_passes(), np.errstate(all="ignore"):
            writer = _Writer(trace, variables, dict(zip(self.slots, inputs, strict=True)))
            writer.run(end)
        self.code = writer.code(self.slots, outputs)
        names = writer.names
        exec(self.code, names)
        self.function: Callable[..., list[Any]] = names["program"]

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """The arrays of the results for the arrays of the inputs."""
        results: list[Any] = quietly(self.function, *arrays)
        return results


class _Writer(Replay):
    """A replay on the values of one pass that writes down which function is called on which arrays."""

    def __init__(self, trace: Trace, variables: dict[int, Variable], tensors: dict[int, Tensor]) -> None:
        self._lines: list[_Line] = []
        self._numbers = count()
        self._values: dict[int, Value] = {}  # of tensors, by id
        self._alive: list[Any] = []  # the tensors, so that their ids stay theirs
        self.names: dict[str, Any] = {
            "asarray": np.asarray,
            "add": np.add,
            "dot": np.dot,
            "multiply": np.multiply,
            "maximum": np.maximum,
            "subtract": np.subtract,
            "sum": _sum,
        }  # what the code refers to
        self._named: dict[int, str] = {}  # the names, by the ids of what they name
        # Of arrays without axes: the arrays for numbers that stand for them, and the numbers for arrays, by name.
        self._arrays: dict[str, Value | None] = {}
        self._scalars: dict[str, Value] = {}
        self._fresh: set[str] = set()  # large arrays that have one name only
        # Of deferred products, by name: the text that computes one, and what it uses.
        self._factors: dict[str, tuple[str, tuple[Value, ...]]] = {}
        for slot, tensor in tensors.items():
            self._note(tensor, Value(f"x{slot}", tensor._array, False))
        super().__init__(trace, variables, tensors)

    # -- the code ------------------------------------------------------------------------------------------------------

    def code(self, slots: list[int], outputs: tuple[int, ...]) -> str:
        """The function from the inputs in `slots` to the results in `outputs`, without what these do not need."""
        results = [self._as_array(self._value(self.tensors[slot])).text for slot in outputs]
        needed, kept = set(results), []
        uses = Counter(name for line in self._lines for name in line.uses)
        for line in reversed(self._lines):
            if not needed.isdisjoint(line.targets):
                ended = line.uses - needed  # nothing uses them later: their memory is free
                # Another line that uses the array may have made a view of it.
                text = line.in_place if line.spent in ended and uses[line.spent] == 1 else line.text
                text = f"{', '.join(line.targets)} = {text}"
                unused = sorted({*ended, *line.targets} - needed) if len(line.targets) > 1 else sorted(ended)
                needed |= line.uses
                if unused:
                    text += f"; del {', '.join(unused)}"
                kept.append(f"    {text}\n")
        arguments = ", ".join(f"x{slot}" for slot in slots)
        return f"def program({arguments}):\n{''.join(reversed(kept))}    return [{', '.join(results)}]\n"

    def _name(self, value: Any, prefix: str = "k") -> str:
        """A name for something that the code refers to."""
        if value is None or type(value) in (int, bool, str) or (type(value) is tuple and _is_plain(value)):
            return repr(value)
        name = self._named.get(id(value))
        if name is None:
            name = self._named[id(value)] = f"{prefix}{next(self._numbers)}"
            self.names[name] = value
        return name

    def _known(self, value: Any) -> Value:
        return Value(self._name(value), value, True)

    def _note(self, tensor: Tensor, value: Value) -> Tensor:
        self._values[id(tensor)] = value
        self._alive.append(tensor)
        return tensor

    def _value(self, tensor: Tensor) -> Value:
        try:
            return self._values[id(tensor)]
        except KeyError:
            raise Unfit("a tensor that no event has given") from None

    def _compute(
        self, function: Callable[..., Any], *arguments: Value, array: bool = False, **options: Any
    ) -> Value:
        """Call a function of arrays now, and in the code; `array`: make an array of a NumPy scalar."""
        if array and function in _ARITHMETIC and all(_is_number(a.value) for a in arguments):
            return self._number(function, arguments)
        arguments = tuple([self._as_array(a) for a in arguments])
        given = quietly(lambda: function(*[a.value for a in arguments], **options))
        result = given if not array or type(given) is np.ndarray else np.asarray(given)
        if all(a.is_known for a in arguments):
            return self._known(result)
        text = self._one_call(function, arguments, result, options) or self._call_of(
            function, arguments, options
        )
        # Whether NumPy gives a scalar for an array without axes may depend on values, as in `divide_no_nan`.
        return self._line(f"asarray({text})" if array and not result.ndim else text, result, arguments)

    def _call_of(
        self, function: Callable[..., Any], arguments: Iterable[Value], options: dict[str, Any]
    ) -> str:
        texts = [a.text for a in arguments]
        pattern = _PATTERNS.get(_instructions(function))
        if pattern is not None:
            return pattern.format(*texts)
        named = [f"{name}={self._name(value)}" for name, value in options.items()]
        return f"{self._name(function, 'f')}({', '.join(texts + named)})"

    def _one_call(
        self, function: Any, arguments: tuple[Value, ...], result: Any, options: dict[str, Any]
    ) -> str:
        """What a function comes to for arrays of these shapes and dtypes; "" if that is more than a call of NumPy's."""
        if function not in _CALLS or type(result) is Products or result.dtype.char not in "fd":
            return ""
        arrays = [a for a in arguments if type(a.value) is np.ndarray and a.value.dtype == result.dtype]
        pattern = _CALLS[function]
        if len(arrays) != 1 + ("{1}" in pattern) or (
            "@" in pattern and any(a.value.ndim != 2 for a in arrays)
        ):
            return ""
        known = {"zero": self._name(_zero(result.dtype)), "dtype": self._name(result.dtype)}
        if function is mean.forward:
            array = arrays[0].value
            if not array.size or not _is_summed_by_numpy(array):
                return ""
            whole = self._sum_of(arrays[0], **options)
            known = {"sum": whole, "count": array.size // result.size}
        return pattern.format(*[a.text for a in arrays], **known)

    def _number(self, function: Callable[..., Any], arguments: tuple[Value, ...]) -> Value:
        """Compute an array without axes as a number: 0.1 us instead of 0.5. Who needs the array gets it."""
        scalars = tuple([self._as_scalar(a) for a in arguments])
        result = function(*[a.value for a in scalars])
        if all(a.is_known for a in scalars):
            return self._known(np.asarray(result))
        value = self._line(self._call_of(_ARITHMETIC[function], scalars, {}), result, scalars)
        self._arrays[value.text] = None
        return value

    def _as_scalar(self, value: Value) -> Value:
        if type(value.value) is not np.ndarray:
            return value
        if value.is_known:
            return self._known(value.value[()])
        if value.text not in self._scalars:
            self._scalars[value.text] = self._line(f"{value.text}[()]", value.value[()], (value,))
        return self._scalars[value.text]

    def _as_array(self, value: Value) -> Value:
        """The array that a number stands for; any other value as it is."""
        if value.text not in self._arrays:
            return value
        made = self._arrays[value.text]
        if made is None:
            made = self._line(f"asarray({value.text})", np.asarray(value.value), (value,))
            self._arrays[value.text], self._scalars[made.text] = made, value
        return made

    def _line(self, text: str, result: Any, arguments: tuple[Value, ...]) -> Value:
        name = f"v{next(self._numbers)}"
        self._lines.append(_Line((name,), text, _names_in(arguments)))
        return Value(name, result, False)

    # -- events --------------------------------------------------------------------------------------------------------

    def _set(self, slot: int, array: Any, variable: Variable) -> Tensor:
        value = self._value(self.tensors[slot])
        return self._note(super()._set(slot, array, variable), value)

    def _give(self, slot: int, value: Value, variable: Variable) -> Tensor:
        """Set the value of a variable from here on."""
        array = np.asarray(value.value)
        self.tensors[slot] = self._note(wrap(array), value)
        return self._set(slot, array, variable)

    def _operation(self, event: Operation) -> None:
        primitive, attributes = event.primitive, event.attributes or {}
        given = tuple([self._input(spec) for spec in event.specs])
        inputs = as_tensors(primitive, given)
        for x, tensor in zip(given, inputs):
            if x is not tensor:
                self._note(tensor, self._known(tensor._array))
        out = apply(primitive, inputs, event.attributes)
        arguments = [self._value(tensor) for tensor in inputs]
        if primitive.multiple:
            self._several(event, arguments, out)
            return
        value = self._compute(primitive.forward, *arguments, array=True, **attributes)
        if value.value.dtype != out._array.dtype:
            raise Unfit(f"{primitive.name} gives another array than its function")
        self.result(event.outs[0].slot, self._note(out, value))

    def _several(self, event: Operation, arguments: list[Value], out: tuple[Tensor, ...]) -> None:
        attributes = event.attributes or {}
        results = event.primitive.forward(*[a.value for a in arguments], **attributes)
        if any(type(array) is not np.ndarray for array in results):
            raise Unfit(f"{event.primitive.name} gives a number")
        names = tuple([f"v{next(self._numbers)}" for _ in out])
        text = self._call_of(event.primitive.forward, arguments, attributes)
        if len(names) == 1:
            text += "[0]"
        self._lines.append(_Line(names, text, _names_in(tuple(arguments))))
        for known, tensor, name in zip(event.outs, out, names, strict=True):
            self.result(known.slot, self._note(tensor, Value(name, tensor._array, False)))

    def _assign(self, event: Assign) -> None:
        first: Any = event.specs[0]
        slot = first if isinstance(first, int) else first.slot
        value = self._value(self._input(event.specs[1]))
        if event.method != "assign":
            function = np.add if event.method == "assign_add" else np.subtract
            # In C's order, as `Variable._update` gives it: the order decides in which one sums are added up.
            value = self._compute(function, self._value(self.tensors[slot]), value, array=True, order="C")
        self.result(event.outs[0].slot, self._give(slot, value, self.variables[slot]))

    def _update(self, event: Update) -> None:
        optimizer: Any = event.optimizer()
        changed, touched = [*map(slot_of, event.variables)], [*map(slot_of, event.touched)]
        own = {self.variables[slot]._key: slot for slot in touched}
        rate, steps = own[optimizer._learning_rate._key], own[optimizer._iterations._key]
        gradients = [self._value(self._input(spec)) for spec in event.gradients]
        for slot, gradient in zip(changed, gradients, strict=True):
            array = self.tensors[slot]._array
            if gradient.value.dtype != array.dtype or gradient.value.shape != array.shape:
                raise Unfit("a gradient of another dtype or shape than its variable")
        if _descends(optimizer):
            for slot, gradient in zip(changed, gradients, strict=True):
                self._descend(slot, gradient, self._value(self.tensors[rate]))
        else:
            self._advance(optimizer, changed, gradients, rate, steps, own)
        before = self._value(self.tensors[steps])
        after = self._line(f"asarray({before.text}[()] + 1)", np.asarray(before.value + 1), (before,))
        self._give(steps, after, optimizer._iterations)
        for slot, out in zip(touched, event.outs, strict=True):
            self.result(out.slot, self.tensors[slot])

    def _advance(
        self,
        optimizer: Any,
        changed: list[int],
        gradients: list[Value],
        rate: int,
        steps: int,
        own: dict[int, int],
    ) -> None:
        """Update variables and the optimizer's state by its rule; `own`: the slots of all these, by key."""
        variables = [self.variables[slot] for slot in changed]
        step = optimizer._pure_step(variables)
        if step is None:
            raise Unfit("an optimizer whose step does more than its rule, or whose variables are large")
        states = zip(*[optimizer._slots_of(variable) for variable in variables])
        cells = [*changed, *[own[cell._key] for column in states for cell in column]]
        first, second, *values = [
            self._as_array(self._value(self.tensors[slot])) for slot in (rate, steps, *cells)
        ]
        gradients = [self._as_array(gradient) for gradient in gradients]
        arguments = (first, second, *values[: len(changed)], *gradients, *values[len(changed) :])
        results = quietly(step, *[a.value for a in arguments])
        names = tuple([f"v{next(self._numbers)}" for _ in results])
        text = self._call_of(step, arguments, {})
        self._lines.append(_Line(names, f"{text}[0]" if len(names) == 1 else text, _names_in(arguments)))
        for slot, name, array in zip(cells, names, results, strict=True):
            self._give(slot, Value(name, array, False), self.variables[slot])

    def _descend(self, slot: int, gradient: Value, rate: Value) -> None:
        """Update one variable by gradient descent."""
        variable = self.variables[slot]
        old = self._value(self.tensors[slot])
        if rate.value.dtype != old.value.dtype:
            raise Unfit("a learning rate of another dtype than its variable")
        if not old.value.ndim:
            self._give(slot, self._compute(_descended, old, gradient, rate, array=True), variable)
            return
        # In the memory of the step, in C's order; or in that of the gradient, in two thirds of the time.
        step = self._as_scalar(rate)
        text = f"subtract({old.text}, (s := multiply({gradient.text}, {step.text}, order='C')), s)"
        new = self._line(text, _descended(old.value, gradient.value, rate.value), (old, gradient, step))
        is_other = gradient.text != old.text  # not the value that was assigned before
        if is_other and gradient.text in self._fresh and gradient.value.flags.c_contiguous:
            in_place = f"subtract({old.text}, multiply({gradient.text}, {step.text}, {gradient.text}), {gradient.text})"
            self._lines[-1] = self._lines[-1]._replace(spent=gradient.text, in_place=in_place)
        self._give(slot, new, variable)

    def _ask(self, event: Ask) -> None:
        tape = self.tapes[event.tape]
        if tape._recording:
            tape._end_recording()
        if local.here.tapes or tape._state != "entered":
            raise Unfit("a tape records the sweep of another, or answers no more")
        sources = [self._end(spec) for spec in event.sources]
        targets = [self._end(spec) for spec in event.targets]
        if any(type(target) is not Tensor for target in targets):
            raise Unfit("the target is a variable")
        keys = [source._key or key_of(source) for source in sources]
        found = self._sweep(tape, seeds_of(targets, None), keys)
        for known, key in zip(event.outs, keys, strict=True):
            g = found.get(key)
            if (g is None) is not (known is None):
                raise Unfit("zeros for a source that is not connected")
            if g is not None and known is not None:
                g = self._dense(g)
                if g.value.dtype.kind != "f":
                    raise Unfit("a complex gradient")
                if not g.value.ndim:
                    self._arrays.setdefault(g.text, None)  # may be a number that stands for an array
                self.result(known.slot, self._note(wrap(np.asarray(g.value)), g))

    # -- the sweep: see `core.sweep.sweep_arrays` ----------------------------------------------------------------------

    def _sweep(self, tape: GradientTape, seeds: dict[int, Any], wanted: list[int]) -> dict[int, Value]:
        keys, records = set(wanted), list(tape._records)
        if not keys.issuperset(tape._watched):
            records = leading_from(set(keys), records)
        tape._consume()
        gradients = {key: self._known(seed) for key, seed in seeds.items()}
        sums: set[int] = set()  # keys whose gradient is a sum, in an array that no other gradient has yet
        found: dict[int, Value] = {}
        for key, plan, into, kept in reversed(records):
            outs = key if type(key) is tuple else (key,)
            parts = [gradients.pop(k, None) for k in outs]
            sums.difference_update(outs)  # a rule may pass the array on to several inputs
            found |= {k: g for k, g in zip(outs, parts) if g is not None and k in keys}
            if all(part is None for part in parts):
                continue
            dense = [None if part is None else self._dense(part) for part in parts]
            for k, part in zip(into, self._pulled(plan, dense if type(key) is tuple else dense[0], kept)):
                if part is None:
                    continue
                if k not in gradients:
                    gradients[k] = part
                    continue
                gradients[k] = total = self._sum(gradients[k], part, k in sums)
                if type(total.value) is np.ndarray and not total.is_known:
                    sums.add(k)
        return gradients | found

    def _sum(self, total: Value, part: Value, in_place: bool) -> Value:
        """The sum of two gradients; `in_place`: in the array of the first."""
        if type(total.value) is Products and type(part.value) is Products and not total.is_known:
            return self._compute(_with_product, total, part)
        total, part = self._dense(total), self._dense(part)
        if not in_place or type(part.value) is not np.ndarray:
            return self._compute(np.add, total, part)
        # As in `core.sweep`: an array in another order may come from an input in another order, in some passes.
        into = (
            total.text
            if total.value.ndim < 2
            else f"{total.text} if {total.text}.flags.c_contiguous else None"
        )
        text = f"add({total.text}, {part.text}, {into})"
        return self._line(text, total.value + part.value, (total, part))

    def _dense(self, g: Value) -> Value:
        if type(g.value) is not Products:
            return g
        factors = self._factors.get(g.text) if g.value.is_single else None
        if factors is None:
            dense = self._compute(Products.dense, g)
        else:
            text, arguments = factors
            dense = self._line(text, g.value.dense(), arguments)
        if g.value.is_single and dense.value.size >= _LARGE:
            self._fresh.add(dense.text)
        return dense

    def _pulled(self, plan: Plan, g: Any, kept: tuple[Any, ...]) -> list[Value | None]:
        """The gradients of the watched inputs of a recorded operation; `g` is a list for one of several outputs."""
        values = {
            name: self._kept(value, is_tensor)
            for (name, is_tensor), value in zip(plan.value_names().items(), kept, strict=True)
        }
        values["g"] = self._joined(g) if type(g) is list else g
        if "out_like" in values:
            values["g"] = self._compute(fill_in, values["g"], values["out_like"])
        parts: list[Value | None] = []
        for (rule, names, broadcasts), position in zip(plan.rules(), plan.watched):
            arguments = [self._known(position) if name not in values else values[name] for name in names]
            shapes = [arguments.pop().value for _ in range(2 * broadcasts)][::-1]
            is_identity = _instructions(rule) == _instructions(_same)
            part = arguments[0] if is_identity else self._compute(rule, *arguments)
            if part.value is None:
                parts.append(None)
                continue
            if type(part.value) is Products and rule in _CALLS:
                factors = tuple(arguments[:2])
                if all(a.value.ndim == 2 for a in factors):
                    self._factors[part.text] = _CALLS[rule].format(*[a.text for a in factors]), factors
            if not isinstance(part.value, (np.ndarray, np.generic, Products)):
                raise Unfit(f"the gradient of {plan.primitive.name} is a {type(part.value).__name__}")
            if broadcasts and shapes[0] != shapes[1]:
                part = self._unbroadcast(part, *shapes)
            parts.append(part)
        return parts

    def _kept(self, value: Any, is_tensor: bool) -> Value:
        """What a record has kept: an array, a tuple of arrays, or something that is the same in every pass."""
        if not is_tensor:
            return self._known(value)
        return self._joined([self._value(t) for t in value]) if type(value) is tuple else self._value(value)

    def _unbroadcast(self, g: Value, shape: tuple[int, ...], out_shape: tuple[int, ...]) -> Value:
        """`unbroadcast`, and of a small array what it comes to in the end: see `core.structural.total`."""
        axis, squeezed = broadcast_axes(shape, out_shape)
        array = g.value
        is_float = type(array) is np.ndarray and array.dtype.char in "fd"
        if not is_float or squeezed or not axis or g.is_known:
            return self._compute(unbroadcast, g, self._known(shape), self._known(out_shape))
        if _is_summed_by_numpy(array):
            return self._line(self._sum_of(g, axis, False), total(array, axis, False), (g,))
        given = self._known(shape), self._known(out_shape)
        text = self._call_of(unbroadcast, (g, *given), {})
        if array.ndim == 2 and axis == (-2,) and len(array) <= 4096:
            ones = self._name(np.ones(len(array), array.dtype))
            text = f"dot({ones}, {g.text}) if {g.text}.flags.c_contiguous else {text}"
        return self._line(text, unbroadcast(array, shape, out_shape), (g,))

    def _sum_of(self, array: Value, axis: tuple[int, ...], keepdims: bool) -> str:
        """The text of a sum that `total` leaves to NumPy, or to BLAS if the array is short."""
        if array.value.ndim == 1 and axis == (-1,) and not keepdims:
            is_blas = is_short(array.value)
            return (
                f"{array.text}.dot({self._name(ones_like(array.value))})" if is_blas else f"sum({array.text})"
            )
        return f"sum({array.text}, {axis!r}, None, None, {keepdims})"

    def _joined(self, values: list[Value | None]) -> Value:
        """A tuple of values, of which some may be None."""
        given = [Value("None", None, True) if value is None else self._as_array(value) for value in values]
        text = "(" + "".join(f"{value.text}, " for value in given) + ")"
        return Value(text, tuple([value.value for value in given]), all(value.is_known for value in given))

    def _refuse(self, event: Any) -> None:
        raise Unfit(f"a {type(event).__name__}")

    _STEPS: ClassVar[dict[type, Any]] = {
        **Replay._STEPS,
        Operation: _operation,
        Ask: _ask,
        Assign: _assign,
        Update: _update,
        Call: _refuse,
        Meet: _refuse,
    }


# On numbers these give the same bits as on arrays without axes. NumPy's `add` makes arrays of them, Python's does not.
_ARITHMETIC: dict[Any, Any] = {
    operator.add: operator.add,
    operator.sub: operator.sub,
    operator.mul: operator.mul,
    np.add: operator.add,
    np.subtract: operator.sub,
}


# What functions come to for arrays of one dtype: the products, for matrices.
_CALLS: dict[Any, str] = {
    matmul_.forward: "{0} @ {1}",
    of_first: "{0} @ {1}.T",
    of_second: "{1}.T @ {0}",
    relu.forward: "maximum({0}, {zero})",
    through_relu: "{0} * ({1} > {zero}).astype({dtype})",
    mean.forward: "{sum} / {count}",
}


@functools.cache
def _zero(dtype: Any) -> Any:
    return np.zeros((), dtype)


def _is_summed_by_numpy(array: Any) -> bool:
    """Return whether `core.structural.total` leaves the sum of an array to NumPy, whatever its order."""
    return array.size < 4096 or array.ndim < 2


def _is_number(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and not value.ndim and value.dtype.char in "fd"


def _with_product(total: Products, part: Products) -> Products:
    total.add(part)
    return total


def _descended(value: Any, gradient: Any, rate: Any) -> Any:
    """The value of a variable after a step of gradient descent, in the memory of the step, and in C's order."""
    step = np.multiply(gradient, rate[()], order="C")
    return np.subtract(value, step, step) if type(step) is np.ndarray else value - step


def _names_in(arguments: tuple[Value, ...]) -> frozenset[str]:
    """The variables of the code that expressions use."""
    words = [word for a in arguments if not a.is_known for word in a.text.strip("()").split(", ")]
    return frozenset(word.rstrip(",") for word in words if word[:1] in ("v", "x"))


def _is_plain(values: tuple[Any, ...]) -> bool:
    return all(type(value) in (int, bool, str) for value in values)


def _instructions(function: Any) -> Any:
    """The instructions of a Python function, which are equal for equal arithmetic; of others, the function itself."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_names or code.co_freevars:
        return function
    return code.co_code, code.co_argcount, code.co_consts


def _same(g: Any) -> Any:
    return g


# Functions that are arithmetic alone, the rules of operations among them: the code has the arithmetic, not the call.
_PATTERNS: dict[Any, str] = {
    operator.add: "{0} + {1}",
    operator.sub: "{0} - {1}",
    operator.mul: "{0} * {1}",
    operator.truediv: "{0} / {1}",
    operator.neg: "-{0}",
    _instructions(lambda g: -g): "-{0}",
    _instructions(lambda g, y: g * y): "{0} * {1}",
    _instructions(lambda g, x: g * (x + x)): "{0} * ({1} + {1})",
    _instructions(lambda g, out: g * out + g): "{0} * {1} + {0}",
    _instructions(lambda g, out: g * (1 - out * out)): "{0} * (1 - {1} * {1})",
    _instructions(lambda g, out: g * (out - out * out)): "{0} * ({1} - {1} * {1})",
}
