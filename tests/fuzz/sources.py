"""Random programs as people write them, as source text: Python state around and inside compiled control flow.

`write(seed)` returns a script that defines `program(x, w, xs, n)`, a `@tf.function`. It computes with vectors of three
float32, so that any may be combined with any; what varies is where a vector is kept (a name, a dict, a list, an
attribute, a TensorArray, a variable) and the control flow that reads and changes it.

A program must mean the same eagerly and compiled, in TensorFlow itself: `check_with_tensorflow.py` proves it. Therefore
- in a branch or loop that a tensor decides, an element or attribute may be assigned, but no container may grow;
- a Python draw (`next(it)`, `stack.pop()`, ...) has a source of its own for each place, and its place is in no loop
  that a tensor decides: it is executed once while tracing, and at most once eagerly;
- each call begins with the same Python state.

Draws from the global generator differ between eager and compiled. A program with such draws has a `degree`: its result
is elementwise homogeneous in x, of that degree, so that Euler's theorem gives the gradient from the result.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

LIMIT = "tf.autograph.experimental.set_loop_options(maximum_iterations=4)"


@dataclass(frozen=True)
class Source:
    """A program and what its caller must know about it."""

    seed: int
    text: str
    order: int = 1  # of the gradients that are compared
    jacobian: bool = False
    persistent: bool = False
    degree: int = 0  # in x, if homogeneous
    beyond: bool = False  # TensorFlow cannot compile it


@dataclass(frozen=True)
class Scope:
    """What a statement at some place may use."""

    reads: tuple[str, ...]  # expressions of vectors
    writes: tuple[str, ...] = ()  # those that may be assigned
    lists: tuple[str, ...] = ()  # lists of vectors that may grow here
    index: str = ""  # an integer tensor in 0, 1, 2
    steps: tuple[str, ...] = ()  # Python loop variables
    tensor: bool = False  # inside a branch or loop that a tensor decides
    loop: bool = False  # inside a loop that a tensor decides
    repeated: bool = False  # inside a Python loop
    nested: bool = False  # inside a nested @tf.function, which is traced once for several calls
    function: bool = False  # inside a function given to cond, scan, ...
    depth: int = 0
    entered: tuple[str, ...] = ()  # what was defined before a tensor decided

    def inner(self, **changes: object) -> Scope:
        """One block further in. What a tensor decides begins with the outermost such block."""
        entered = self.entered if self.tensor else self.reads
        return replace(self, depth=self.depth + 1, entered=entered, **changes)  # type: ignore[arg-type]


class Block(list):
    """Lines of source, with what is defined after them."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope

    def define(self, name: str, *, write: bool = True) -> None:
        reads = (*(r for r in self.scope.reads if r != name), name)
        writes = (*self.scope.writes, name) if write and name not in self.scope.writes else self.scope.writes
        self.scope = replace(self.scope, reads=reads, writes=writes)

    def nest(self, header: str, body: list[str]) -> None:
        self.append(header)
        self.extend("    " + line for line in body or ["pass"])


@dataclass
class Writer:
    """Draws one program."""

    seed: int
    preamble: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)  # what was assigned, in order
    names: int = 0
    budget: int = 0
    degree: int = 0
    beyond: bool = False
    cell: bool = False
    drawn: bool = False  # is there a Python draw?
    open_size: bool = False  # is there a TensorArray whose size is a tensor?
    order: int = 1
    jacobian: bool = False
    persistent: bool = False
    results: str = "{}"  # how a result is returned
    several: bool = False  # gradients are taken more than once, or of gradients
    single: bool = False  # TensorFlow can take the gradient only once

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    # -----------------------------------------------------------------------------------------------------------------
    # The whole program

    def source(self) -> Source:
        rng = self.rng
        if rng.random() < 0.15:
            self.degree = rng.choice((1, 1, 2))
        self.order = 2 if rng.random() < 0.15 else 1
        self.jacobian = self.order == 1 and not self.degree and rng.random() < 0.08
        self.persistent = self.order == 1 and rng.random() < 0.15
        if not self.degree:
            self.results = rng.choice(("{}", "{}", "{}", "({}, {})", "{{'y': {}, 'z': {}}}"))
        self.several = self.order > 1 or self.jacobian or self.persistent
        self.budget = rng.choice((3, 4, 5, 6, 7))
        self.preamble += [
            "v = tf.Variable([0.4, -0.3, 0.8])",
            "u = tf.Variable([0.2, 0.7, -0.5])",
        ]
        block = Block(Scope(("x", "w", "xs[0]") if not self.degree else ("x", "x")))
        self.open(block)
        self.fill(block, rng.choice((3, 4, 5)))
        last = [place for place in self.touched if place in block.scope.reads][-4:]
        last = list(dict.fromkeys([*last, *block.scope.reads[-2:]]))
        terms = rng.sample(last, min(len(last), 3))
        result = " + ".join(terms)
        if self.degree == 2:
            result = f"({result}) * {rng.choice(last)}"
        result = self.results.format(result, rng.choice(last))
        block.append(f"return {result}")
        if rng.random() < 0.4:  # so that Python's state is another one by the time of the gradient
            block[-1:] = [f"result = {result}", *self.aftermath(block), "return result"]
        program = ["@tf.function", "def program(x, w, xs, n):", *("    " + line for line in block)]
        return Source(
            self.seed,
            "\n".join([*self.preamble, "", "", *program]) + "\n",
            order=self.order,
            jacobian=self.jacobian,
            persistent=self.persistent,
            degree=self.degree,
            beyond=self.beyond,
        )

    def open(self, block: Block) -> None:
        """A container or object or two to begin with."""
        kinds: list[Callable[[Block], None]] = [self.dict, self.list, self.nested, self.attributes]
        for kind in self.rng.sample(kinds, self.rng.choice((1, 2))):
            kind(block)

    def aftermath(self, block: Block) -> list[str]:
        places = [p for p in block.scope.writes if "[" in p or "." in p]
        return [f"{p} = {p} * 10.0" for p in self.rng.sample(places, min(2, len(places)))]

    def fill(self, block: Block, count: int) -> None:
        """Add statements, at least one."""
        for _ in range(count):
            if self.budget <= 0 and block:
                break
            self.budget -= 1
            self.statement(block)

    def statement(self, block: Block) -> None:
        scope = block.scope
        flow = scope.depth < 2
        heavy = scope.depth < 1 or (scope.depth < 2 and self.rng.random() < 0.3)
        choices: list[tuple[float, Callable[[Block], None]]] = [(2, self.assign)]
        if not scope.function:
            choices += [(2, self.call), (1.2, self.draw_numbers)]
            if not self.degree:
                choices += [(1.5, self.assign_variable), (1, self.host)]
            if not scope.loop and not scope.nested and not (scope.tensor and scope.repeated):
                choices += [(1.5, self.draw_in_python)]
            if not scope.tensor and not scope.nested:
                choices += [(6, self.mutate), (0.5, self.dict), (0.5, self.nested)]
            if flow:
                choices += [(3, self.branch), (1, self.python_branch), (1, self.python_loop)]
                choices += [(1, self.conditional_expression)]
            if heavy:
                choices += [(2.5, self.for_loop), (1.2, self.while_loop), (3, self.arrays)]
                choices += [(1, self.counting)]
                if not self.degree and not self.single:
                    choices += [(1.5, self.tape), (0.7, self.optimizer)]
            if scope.depth == 0:
                choices += [(1, self.early_return), (1, self.closures)]
        if flow:
            choices += [(1.8, self.cond), (0.5, self.case), (0.5, self.switch)]
        if heavy:
            choices += [(0.8, self.loop_function), (0.8, self.scan), (0.8, self.map), (0.6, self.fold)]
        weights, makers = zip(*choices, strict=True)
        self.rng.choices(makers, weights)[0](block)

    # -----------------------------------------------------------------------------------------------------------------
    # Expressions

    def name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def number(self) -> str:
        return self.rng.choice(("0.3", "0.5", "0.7", "0.9", "1.2"))

    def vector(self, scope: Scope) -> str:
        """What holds a vector; what was defined last is likelier."""
        reads = scope.reads
        return self.rng.choice(reads[-4:] if self.rng.random() < 0.6 else reads)

    def expression(self, scope: Scope) -> str:
        """A vector computed from others, of about their size."""
        a, b, c = self.vector(scope), self.vector(scope), self.number()
        forms = [f"{c} * {a} + 0.5 * {b}", f"{a} - {c} * {b}", f"tf.where({a} > {b}, {a}, {c} * {b})"]
        if not self.degree:
            forms += [
                f"tf.tanh({a} * {b})",
                f"tf.sin({a}) * {b}",
                f"tf.sigmoid({a}) + {b}",
                f"tf.tanh({a}) ** 2 - {c} * {b}",
                f"{a} * tf.tanh(w)",
                f"{a} * tf.reduce_mean(tf.tanh({b}))",
                f"tf.nn.relu({a}) + {c} * {b}",
                f"{a} * v",
                f"tf.cos({a} + u)",
            ]
        if scope.index:
            i = scope.index
            forms += [f"{a} * (tf.cast({i}, tf.float32) + {c})"]
            if not self.degree:
                forms += [
                    f"{c} * {a} + tf.tanh(xs[{i}])",
                    f"{a} * tf.tanh({b})[{i}]",
                    f"{c} * {a} + tf.reshape(xs, [-1])[{i} * 3:({i} + 1) * 3]",
                    f"{c} * {a} + tf.random.stateless_uniform([3], [{i}, 7])",
                ]
        if scope.steps:
            forms += [f"{a} * ({self.rng.choice(scope.steps)} + {c})"]
        if self.cell and not scope.loop:
            forms += [f"{a} * ({c} if cell.on else 1.0)"]
        return self.rng.choice(forms)

    def condition(self, scope: Scope) -> str:
        """A truth value that depends on tensors."""
        a, b, c = self.vector(scope), self.vector(scope), self.number()
        forms = [f"tf.reduce_sum({a}) > {c}", f"{a}[0] < {b}[1] - 0.1", f"tf.reduce_any({a} > {c})", "n > 2"]
        forms += [f"n > 2 and {a}[2] > 0.1", f"not tf.reduce_all({a} > 0.1)", f"{a}[1] > {c} or n < 3"]
        if scope.index:
            forms += [f"{scope.index} > 0", f"{scope.index} % 2 == 0"] * 2
        return self.rng.choice(forms)

    def simple_condition(self, scope: Scope) -> str:
        """The same as one expression that no rewriting is needed for."""
        a, c = self.vector(scope), self.number()
        forms = [f"tf.reduce_sum({a}) > {c}", f"tf.reduce_any({a} > {c})", "n > 2"]
        return self.rng.choice([*forms, f"{scope.index} > 0"] if scope.index else forms)

    # -----------------------------------------------------------------------------------------------------------------
    # Assignments and Python state

    def place(self, block: Block) -> str:
        """Where to assign: mostly what exists, since what is new in a block is lost after it."""
        scope = block.scope
        if scope.writes and self.rng.random() < (0.85 if scope.depth else 0.5):
            return self.rng.choice(scope.writes)
        return self.name("a")

    def put(self, block: Block, value: str, place: str = "") -> None:
        place = place or self.place(block)
        block.append(f"{place} = {value}")
        block.define(place)
        self.touched.append(place)

    def assign(self, block: Block) -> None:
        self.put(block, self.expression(block.scope))

    def dict(self, block: Block) -> None:
        name, e = self.name("d"), [self.expression(block.scope) for _ in range(2)]
        block.append(f"{name} = {{'p': {e[0]}, 'q': {e[1]}}}")
        for key in "pq":
            block.define(f"{name}['{key}']")

    def list(self, block: Block) -> None:
        name, e = self.name("l"), [self.expression(block.scope) for _ in range(2)]
        block.append(f"{name} = [{e[0]}, {e[1]}]")
        for i in range(2):
            block.define(f"{name}[{i}]")
        block.scope = replace(block.scope, lists=(*block.scope.lists, name))

    def nested(self, block: Block) -> None:
        name, e = self.name("t"), [self.expression(block.scope) for _ in range(3)]
        block.append(f"{name} = {{'s': [{e[0]}, {e[1]}], 'm': {{'k': {e[2]}}}}}")
        for place in ("['s'][0]", "['s'][1]", "['m']['k']"):
            block.define(name + place)

    def attributes(self, block: Block) -> None:
        """The object `cell`; eagerly and compiled it is new at each call."""
        if self.open_size:
            self.assign(block)
            return
        if not self.cell:
            self.cell = True
            self.preamble += [
                "class Cell:",
                "    def __init__(self):",
                "        self.h = None",
                "        self.cache = {}",
                "        self.count = 0",
                "        self.on = True",
                "    def step(self, a):",
                "        self.h = 0.5 * self.h + a",
                "        self.count += 1",
                "        return self.h * self.count",
                "    def memo(self, key, a):",
                "        if key not in self.cache:",
                "            self.cache[key] = a * 0.7",
                "        return self.cache[key]",
                "cell = Cell()",
            ]
        block.append("if cell.h is None:")
        block.append(f"    cell.h = {self.expression(block.scope)}")
        block.define("cell.h")
        if self.rng.random() < 0.5:
            block.append(f"cell.cache['k'] = {self.expression(block.scope)}")
            block.define("cell.cache['k']")

    def mutate(self, block: Block) -> None:
        """Change containers and objects where no tensor decides."""
        scope, rng = block.scope, self.rng
        held = [p for p in scope.writes if "[" in p or "." in p]
        forms: list[Callable[[], None]] = []

        def scale() -> None:
            place = rng.choice(held)
            self.put(block, self.expression(scope), place)

        def append() -> None:
            name = rng.choice(scope.lists)
            block.append(f"{name}.append({self.expression(scope)})")
            block.define(f"{name}[-1]", write=False)

        def insert() -> None:
            name = rng.choice(scope.lists)
            block.append(f"{name}.insert(0, {self.expression(scope)})")

        def take() -> None:
            name, new = rng.choice(scope.lists), self.name("a")
            block.append(f"{name}.append({self.expression(scope)})")
            block.append(f"{new} = {name}.pop({rng.choice(('', '0'))})")
            block.define(new)

        def flip() -> None:
            block.append("cell.on = not cell.on")

        def count() -> None:
            block.append("cell.count += 1")
            self.put(block, f"{self.vector(scope)} * (1.0 + 0.1 * cell.count)")

        def step() -> None:
            self.put(block, f"cell.step({self.expression(scope)})")

        def memo() -> None:
            self.put(block, f"cell.memo('{rng.choice('ab')}', {self.expression(scope)})")

        def swap() -> None:
            a, b = rng.sample(held, 2)
            block.append(f"{a}, {b} = {b}, {a}")

        if held:
            forms += [scale, scale]
        if len(held) > 1:
            forms += [swap]
        if scope.lists:
            forms += [append, append, insert, take]
        if self.cell:
            forms += [flip, count, step, memo, memo]
        rng.choice(forms or [lambda: self.assign(block)])()

    # -----------------------------------------------------------------------------------------------------------------
    # Draws, calls, variables

    def draw_numbers(self, block: Block) -> None:
        """Random operations: from seeds and generators if numbers are compared, else from the global state."""
        a, place = self.vector(block.scope), self.place(block)
        if self.degree:
            forms = [
                f"{a} * tf.random.uniform([3])",
                f"{a} * tf.cast(tf.random.uniform([3]) > 0.4, tf.float32)",
                f"tf.nn.dropout({a}, 0.4)",
                f"{a} + {a} * tf.random.normal([3])",
                f"tf.where(tf.random.normal([3]) > 0.0, {a}, 0.5 * {self.vector(block.scope)})",
            ]
        else:
            i = block.scope.index or "n"
            forms = [
                f"{a} * tf.random.stateless_normal([3], [{i}, 3])",
                f"{a} * tf.random.stateless_uniform([3], tf.stack([{i}, 5]))",
            ]
            if not block.scope.function:
                self.once("gen = tf.random.Generator.from_seed(3)")
                forms += [f"{a} * gen.uniform([3])", f"{a} + gen.normal([3])"]
        self.put(block, self.rng.choice(forms), place)

    def once(self, *lines: str) -> None:
        if lines[0] not in self.preamble:
            self.preamble += lines

    def draw_in_python(self, block: Block) -> None:
        """A Python draw from a source of its own."""
        if self.open_size:
            self.assign(block)
            return
        self.drawn = True
        name = self.name("source")
        made, draw = self.rng.choice(
            (
                ("iter([0.3, 0.8, 1.1, 0.6])", "next({})"),
                ("[0.3, 0.8, 1.1, 0.6]", "{}.pop()"),
                ("np.random.default_rng(5)", "{}.uniform()"),
                ("random.Random(5)", "{}.random()"),
            )
        )
        shared = not block.scope.tensor and self.rng.random() < 0.3
        if shared:
            draw = self.rng.choice(("np.random.uniform()", "random.random()"))
        else:
            self.preamble.append(f"{name} = {made}")
        a = self.vector(block.scope)
        if not shared and not block.scope.repeated and self.rng.random() < 0.5 and block.scope.depth < 2:
            condition = self.simple_condition(block.scope)
            other = self.expression(block.scope)
            self.put(block, f"tf.cond({condition}, lambda: {a} * {draw.format(name)}, lambda: {other})")
        else:
            self.put(block, f"{a} * {draw.format(name)}")

    def call(self, block: Block) -> None:
        """Call a nested function, a custom gradient, a checkpointed function, or a plain one."""
        a, b = self.vector(block.scope), self.vector(block.scope)
        kinds: list[Callable[[], str]] = []
        if not self.degree:
            kinds += [self.custom_gradient]
        if not self.several:
            kinds += [self.checkpointed]
        if not block.scope.nested and (not kinds or self.rng.random() < 0.4):
            self.put(block, f"{self.nested_function()}({a}, {b}, w, xs, n)")
        elif kinds:
            self.beyond |= block.scope.tensor
            self.put(block, f"{self.rng.choice(kinds)()}({a}, {b})")
        else:
            self.assign(block)

    def nested_function(self) -> str:
        name, scope = (
            self.name("inner"),
            Scope(("a", "b"), ("a", "b"), depth=1, nested=True, entered=("a", "b")),
        )
        block = Block(scope)
        cell, self.cell = self.cell, False
        kinds: list[Callable[[Block], None]] = [self.assign, self.branch, self.for_loop, self.cond]
        for _ in range(2):
            self.rng.choice(kinds)(block)
        self.cell = cell
        block.append("return a + b")
        self.preamble += ["@tf.function", f"def {name}(a, b, w, xs, n):", *("    " + line for line in block)]
        return name

    def custom_gradient(self) -> str:
        name = self.name("custom")
        self.preamble += [
            "@tf.custom_gradient",
            f"def {name}(a, b):",
            "    def gradient(g):",
            f"        return g * {self.number()} * b, g * tf.cos(a)",
            f"    return {self.rng.choice(('tf.sin(a) * b', 'tf.clip_by_value(a, -0.5, 0.5) + b'))}, gradient",
        ]
        return name

    def checkpointed(self) -> str:
        self.single = True
        name = self.name("again")
        if self.degree:
            body = "0.5 * a + b"
        else:
            body = self.rng.choice(("tf.tanh(a * b)", "tf.sin(a) * tf.sigmoid(b)"))
        self.preamble += ["@tf.recompute_grad", f"def {name}(a, b):", f"    return {body}"]
        return name

    def assign_variable(self, block: Block) -> None:
        v, i, e = self.rng.choice("vu"), block.scope.index or "n - 2", self.expression(block.scope)
        if block.scope.function:
            return
        forms = [f"{v}.assign({e})", f"{v}.assign_add(0.3 * tf.tanh({e}))", f"{v}.assign({v} * 0.9)"]
        forms += [f"{v}[1].assign(tf.reduce_mean({e}))", f"{v}[{i}].assign(tf.reduce_mean({e}))"]
        block.append(self.rng.choice(forms))

    def host(self, block: Block) -> None:
        a = self.vector(block.scope)
        self.once("calls = []")
        if self.several or self.rng.random() < 0.5:
            self.once("def host(a):", "    calls.append(1)", "    return np.sin(a) + np.float32(0.1)")
            value = f"{a} + tf.ensure_shape(tf.numpy_function(host, [{a}], vector), [3])"
        else:
            self.single = True
            self.once("def eager(a):", "    calls.append(1)", "    return tf.sin(a) * 0.7")
            value = f"tf.ensure_shape(tf.py_function(eager, [{a}], vector), [3])"
        self.put(block, value)

    # -----------------------------------------------------------------------------------------------------------------
    # Statements of control flow

    def body(self, scope: Scope, count: int = 2) -> Block:
        block = Block(scope)
        self.fill(block, self.rng.randint(1, count))
        return block

    def branch(self, block: Block) -> None:
        """if / elif / else on tensors."""
        rng = self.rng
        inner = block.scope.inner(tensor=True, lists=())
        new = self.name("a") if rng.random() < 0.4 else ""
        conditions = [self.condition(block.scope) for _ in range(rng.choice((1, 1, 1, 2)))]
        for k, condition in enumerate(conditions):
            body = self.body(inner)
            if new:
                body.append(f"{new} = {self.expression(body.scope)}")
            block.nest(f"{'elif' if k else 'if'} {condition}:", body)
        if new or rng.random() < 0.6:
            body = self.body(inner)
            if new:
                body.append(f"{new} = {self.expression(body.scope)}")
            block.nest("else:", body)
        if new:
            block.define(new)
            self.touched.append(new)

    def python_branch(self, block: Block) -> None:
        """The same on Python values."""
        forms = ["True", "len([1]) == 1"]
        if self.cell and not block.scope.loop:
            forms += ["cell.on", "cell.on", "not cell.on"]
        if block.scope.steps:
            forms += [f"{block.scope.steps[-1]} == 1", f"{block.scope.steps[-1]} % 2 == 0"] * 2
        inner = block.scope.inner()
        block.nest(f"if {self.rng.choice(forms)}:", self.body(inner))
        if self.rng.random() < 0.5:
            block.nest("else:", self.body(inner))

    def conditional_expression(self, block: Block) -> None:
        scope = block.scope
        value = f"{self.expression(scope)} if {self.simple_condition(scope)} else {self.expression(scope)}"
        self.put(block, value)

    def leaving(self, body: Block) -> None:
        """break or continue in the middle."""
        if self.rng.random() < 0.5:
            return
        word = self.rng.choice(("break", "continue"))
        body.nest(f"if {self.condition(body.scope)}:", [*self.perhaps_assign(body.scope), word])
        if self.rng.random() < 0.7:
            self.fill(body, 1)

    def perhaps_assign(self, scope: Scope) -> list[str]:
        if scope.writes and self.rng.random() < 0.5:
            return [f"{self.rng.choice(scope.writes)} = {self.expression(scope)}"]
        return []

    def loop_scope(self, block: Block, **changes: object) -> Scope:
        return block.scope.inner(tensor=True, loop=True, lists=(), **changes)

    def ensure_place(self, block: Block) -> None:
        """A loop needs something to change."""
        if not block.scope.writes:
            self.assign(block)

    def for_loop(self, block: Block) -> None:
        rng, i = self.rng, self.name("i")
        self.ensure_place(block)
        if rng.random() < 0.3 and not self.degree:
            header, scope = f"for {i} in xs:", self.loop_scope(block, reads=(*block.scope.reads, i))
        else:
            header, scope = f"for {i} in tf.range({rng.choice('223n')}):", self.loop_scope(block, index=i)
        body = Block(scope)
        if "(n)" in header:
            body.append(LIMIT)
        self.fill(body, rng.randint(1, 2))
        self.ensure_change(body, block.scope)
        self.leaving(body)
        if self.rng.random() < 0.08 and block.scope.depth == 0:
            self.beyond = True
            body.nest(f"if {self.condition(body.scope)}:", [f"return {self.result(body.scope)}"])
        block.nest(header, body)

    def ensure_change(self, body: Block, outer: Scope) -> None:
        self.put(body, self.expression(body.scope), self.rng.choice(outer.writes))

    def while_loop(self, block: Block) -> None:
        i = self.name("i")
        self.ensure_place(block)
        a = self.vector(block.scope)
        block.append(f"{i} = tf.constant(0)")
        body = Block(self.loop_scope(block, index=i))
        body.append(LIMIT)
        self.fill(body, self.rng.randint(1, 2))
        self.ensure_change(body, block.scope)
        if self.rng.random() < 0.3:
            body.nest(f"if {self.condition(body.scope)}:", ["break"])
        body.append(f"{i} += 1")
        test = self.rng.choice((f"{i} < 3", f"{i} < n", f"{i} < 3 and tf.reduce_sum({a}) < 2.0"))
        block.nest(f"while {test}:", body)

    def python_loop(self, block: Block) -> None:
        k = self.name("k")
        self.ensure_place(block)
        if block.scope.lists and self.rng.random() < 0.4:
            over, changes = (
                self.rng.choice(block.scope.lists),
                {"reads": (*block.scope.reads, k), "lists": ()},
            )
        else:
            over, changes = "range(2)", {"steps": (*block.scope.steps, k)}
        body = self.body(block.scope.inner(repeated=True, **changes))
        self.ensure_change(body, block.scope)
        block.nest(f"for {k} in {over}:", body)

    def counting(self, block: Block) -> None:
        """A number or a truth value that a loop changes."""
        rng, i, a = self.rng, self.name("i"), self.vector(block.scope)
        outside = self.cell and not block.scope.tensor and not block.scope.nested
        held = "cell.hits" if outside and rng.random() < 0.5 else self.name("c")
        self.ensure_place(block)
        loop = self.loop_scope(block, index=i)
        condition, place = self.condition(loop), rng.choice(block.scope.writes)
        flag = rng.random() < 0.5
        block.append(f"{held} = {'False' if flag else '0'}")
        body = Block(loop)
        change = f"{held} = True" if flag else f"{held} += 1"
        body.nest(f"if {condition}:", [*self.perhaps_assign(loop), change, *(["break"] if flag else [])])
        self.put(body, self.expression(loop), place)
        block.nest(f"for {i} in tf.range(3):", body)
        if flag:
            block.nest(f"if {held}:", [f"{place} = {self.expression(block.scope)}"])
        else:
            self.put(block, f"{a} * (0.4 + tf.cast({held}, tf.float32))")

    def early_return(self, block: Block) -> None:
        scope = block.scope
        body = [*self.perhaps_assign(scope), f"return {self.result(scope)}"]
        block.nest(f"if {self.condition(scope)}:", body)
        # What follows is a branch by then.
        block.scope = replace(block.scope, tensor=True, lists=(), entered=block.scope.reads)

    def result(self, scope: Scope) -> str:
        e, a = self.expression(scope), self.vector(scope)
        return f"({e}) * {a}" if self.degree == 2 else self.results.format(e, a)

    def closures(self, block: Block) -> None:
        """Functions that see the variable of a Python loop."""
        k, f = self.name("k"), self.name("f")
        self.ensure_place(block)
        place = self.rng.choice(block.scope.writes)
        c = self.simple_condition(block.scope)
        body = [
            f"{f} = lambda q: q * ({k} + {self.number()})",
            f"{place} = tf.cond({c}, lambda: {f}({self.vector(block.scope)}), lambda: {place} * ({k} + 0.5))",
        ]
        block.nest(f"for {k} in range(2):", body)

    # -----------------------------------------------------------------------------------------------------------------
    # Control flow by functions

    def branch_function(self, block: Block) -> str:
        """A lambda, or the name of a function defined before."""
        if self.rng.random() < 0.6:
            return f"lambda: {self.expression(block.scope)}"
        name = self.name("f")
        scope = block.scope
        # A function that refers to a name of the block makes AutoGraph want the name after the block.
        reads = tuple(r for r in scope.reads if r in scope.entered) if scope.tensor else scope.reads
        inner = scope.inner(reads=reads, writes=(), lists=(), tensor=True, function=True)
        body = self.body(inner, 1)
        body.append(f"return {self.expression(body.scope)}")
        block.nest(f"def {name}():", body)
        return name

    def cond(self, block: Block) -> None:
        yes, no = self.branch_function(block), self.branch_function(block)
        self.put(block, f"tf.cond({self.simple_condition(block.scope)}, {yes}, {no})")

    def case(self, block: Block) -> None:
        scope = block.scope
        pairs = ", ".join(
            f"({self.simple_condition(scope)}, {self.branch_function(block)})" for _ in range(2)
        )
        self.put(block, f"tf.case([{pairs}], default={self.branch_function(block)})")

    def switch(self, block: Block) -> None:
        functions = ", ".join(self.branch_function(block) for _ in range(3))
        self.put(block, f"tf.switch_case({block.scope.index or 'n - 2'}, [{functions}])")

    def function_scope(self, block: Block, *reads: str, index: str = "") -> Scope:
        scope = block.scope.inner(
            reads=(*block.scope.reads, *reads), writes=(), lists=(), tensor=True, loop=True, function=True
        )
        return replace(scope, index=index or scope.index)

    def loop_function(self, block: Block) -> None:
        i, a = self.name("i"), self.name("a")
        body = self.expression(self.function_scope(block, a, a, a, index=i))
        start = self.vector(block.scope)
        block.append(
            f"_, {a} = tf.while_loop(lambda {i}, {a}: {i} < 3, lambda {i}, {a}: ({i} + 1, {body}), "
            f"(tf.constant(0), {start}), maximum_iterations=4)"
        )
        block.define(a)
        self.touched.append(a)

    def rows(self, block: Block) -> str:
        return f"tf.stack([{', '.join(self.vector(block.scope) for _ in range(3))}])" if self.degree else "xs"

    def scan(self, block: Block) -> None:
        a, r = self.name("a"), self.name("r")
        body = self.expression(self.function_scope(block, a, r, a, r))
        start, rows = self.vector(block.scope), self.rows(block)
        self.put(block, f"tf.scan(lambda {a}, {r}: {body}, {rows}, {start})[{self.rng.choice('012')}]")

    def map(self, block: Block) -> None:
        r = self.name("r")
        body = self.expression(self.function_scope(block, r, r, r))
        self.put(block, f"tf.reduce_sum(tf.map_fn(lambda {r}: {body}, {self.rows(block)}), 0) * 0.4")

    def fold(self, block: Block) -> None:
        a, r = self.name("a"), self.name("r")
        body = self.expression(self.function_scope(block, a, r, a, r))
        start, rows = self.vector(block.scope), self.rows(block)
        self.put(block, f"tf.{self.rng.choice(('foldl', 'foldr'))}(lambda {a}, {r}: {body}, {rows}, {start})")

    # -----------------------------------------------------------------------------------------------------------------
    # TensorArrays and tapes

    def arrays(self, block: Block) -> None:
        rng, scope = self.rng, block.scope
        ta, i = self.name("ta"), self.name("i")
        size = rng.choice(("size=3", "3", "size=n", "size=0, dynamic_size=True"))
        if size == "size=n":
            # XLA cannot compile it, so the function's Python runs at every call, and the first time until this line
            # with traced tensors, which it may have left in attributes by then.
            if self.cell or self.drawn:
                size = "size=3"
            else:
                self.open_size = True
        shape = rng.choice(("", ", element_shape=[3]"))
        keep = ", clear_after_read=False"
        many = rng.random() < 0.25
        made = f"tf.TensorArray(tf.float32, {size}{shape}{keep})"
        block.append(f"{ta} = [{made}, {made}]" if many else f"{ta} = {made}")
        places = [f"{ta}[0]", f"{ta}[1]"] if many else [ta]
        length = "n" if size == "size=n" else "3"
        if rng.random() < 0.1 and not self.degree and not many:
            block[-1] = f"{ta} = tf.TensorArray(tf.float32, size=3).unstack(xs)"
        else:
            loop = self.loop_scope(block, index=i)
            writes = [f"{p} = {p}.write({i}, {self.expression(loop)})" for p in places]
            kind = rng.choice(("for", "for", "while", "python", "changing"))
            if kind == "python" and length == "n":
                kind = "for"
            if kind == "python":
                python = block.scope.inner(steps=(*scope.steps, i))
                writes = [f"{p} = {p}.write({i}, {self.expression(python)})" for p in places]
                block.nest(f"for {i} in range(3):", writes)
            elif kind == "while":
                block.append(f"{i} = tf.constant(0)")
                block.nest(f"while {i} < {length}:", [LIMIT, *writes, f"{i} += 1"])
            else:
                limit = [LIMIT] if length == "n" else []
                change = []
                if kind == "changing" and scope.writes:
                    change = [f"{rng.choice(scope.writes)} = {self.expression(loop)}"]
                block.nest(f"for {i} in tf.range({length}):", [*limit, *writes, *change])
        if rng.random() < 0.25 and not many:
            condition, value = self.simple_condition(scope), self.expression(scope)
            if rng.random() < 0.5:
                block.append(f"{ta} = tf.cond({condition}, lambda: {ta}.write(0, {value}), lambda: {ta})")
            else:
                block.nest(f"if {condition}:", [f"{ta} = {ta}.write(1, {value})"])
        p = rng.choice(places)
        value = rng.choice(
            (
                f"tf.reduce_mean({p}.stack(), 0)",
                f"tf.reduce_mean({p}.stack(), 0)",
                f"{p}.read(1) * 0.6",
                f"tf.reduce_sum({p}.gather([0, 1]), 0)",
                f"{p}.concat()[:3]",
            )
        )
        new = self.name("a")
        self.put(block, f"tf.reshape({value}, [3])", new)

    def tape(self, block: Block) -> None:
        """A tape around a statement or two."""
        self.several = True
        rng, p, t, g = self.rng, self.name("p"), self.name("tape"), self.name("a")
        block.append(f"{p} = {self.vector(block.scope)}")
        inner = block.scope.inner(reads=(*block.scope.reads, p, p))
        body = Block(inner)
        body.append(f"{t}.watch({p})")
        self.fill(body, rng.randint(0, 1))
        loss = self.name("loss")
        body.append(f"{loss} = tf.reduce_sum(tf.sin({self.vector(body.scope)}) * {p})")
        block.nest(f"with tf.GradientTape() as {t}:", body)
        self.put(block, f"{t}.gradient({loss}, {p})", g)

    def optimizer(self, block: Block) -> None:
        """Descent by hand, its state in a dict."""
        self.several = True
        o, i, t, c = self.name("o"), self.name("i"), self.name("tape"), self.number()
        a = self.vector(block.scope)
        block.append(f"{o} = {{'m': tf.zeros([3]), 'p': {self.expression(block.scope)}}}")
        body = Block(self.loop_scope(block))
        body.append(f"p{i} = {o}['p']")
        inner = [f"{t}.watch(p{i})", f"loss{i} = tf.reduce_sum(tf.tanh(p{i} * {a}) + {c} * p{i} ** 2)"]
        body.nest(f"with tf.GradientTape() as {t}:", inner)
        body.append(f"{o}['m'] = 0.9 * {o}['m'] + {t}.gradient(loss{i}, p{i})")
        body.append(f"{o}['p'] = {o}['p'] - 0.1 * {o}['m']")
        block.nest(f"for {i} in {self.rng.choice(('tf.range(3)', 'range(2)'))}:", body)
        for key in "pm":
            block.define(f"{o}['{key}']")
        self.touched.append(f"{o}['p']")


def write(seed: int) -> Source:
    """The program of this number."""
    return Writer(seed).source()
