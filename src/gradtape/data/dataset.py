"""Dataset: a pipeline of stages that yields elements.

A method adds a stage and returns a new dataset; nothing runs before the dataset is iterated. As long as elements are
rows of arrays, stages that only choose and order work on row numbers: see `sources.Gather`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..core import nest
from ..core.errors import InvalidArgumentError, UnknownShapeError
from ..core.primitive import local
from ..core.tensor import Tensor, wrap
from ..core.types import DTypeLike, IntLike, PathLike, ShapeLike, TensorLike
from ..engine.arrays import cores, is_traced
from ..ops.array.movement import static_number as whole
from ..ops.scalars import choice
from . import checks as arguments
from . import nested, order, sources, threads, transform
from .iterator import Iterator as DatasetIterator
from .options import Options
from .sources import Gather, Numbers
from .stage import INFINITE, UNKNOWN, Stage, random_stages, resume
from .structure import Element, Specs, as_element, is_dataset, same_state
from .threads import AUTOTUNE

# For arguments that are structures of one kind of value.
_Structure: TypeAlias = Sequence[Any] | Mapping[Any, Any]


class Dataset:
    """Elements, one after the other: to be shuffled, mapped, batched, and looped over.

    Elements are tensors, or tuples and dicts of them, nested. Create a dataset with `from_tensor_slices`,
    `from_generator`, `range` and so on: the arguments `stage` and `options` are for these methods.

    >>> dataset = Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [0, 1, 0])).batch(2)
    >>> for x, y in dataset:
    ...     print(x.numpy(), y.numpy())
    [1. 2.] [0 1]
    [3.] [0]
    """

    def __init__(self, stage: Stage, options: Options | None = None) -> None:
        if not isinstance(stage, Stage):
            raise TypeError(
                "a Dataset is not made by calling Dataset(...): use Dataset.from_tensor_slices(...), ..."
            )
        self._stage = stage
        self._options = Options() if options is None else options

    # -- creating -----------------------------------------------------------------------------------------------------

    @staticmethod
    def from_tensor_slices(tensors: Element, name: str | None = None) -> Dataset:
        """The rows of an array, or of all arrays in a structure.

        Raises:
            InvalidArgumentError: if the arrays do not have the same number of rows.

        >>> list(Dataset.from_tensor_slices({"a": [1, 2], "b": [[3], [4]]}).as_numpy_iterator())
        [{'a': np.int32(1), 'b': array([3], dtype=int32)}, {'a': np.int32(2), 'b': array([4], dtype=int32)}]
        """
        _check_known("from_tensor_slices", tensors)
        return Dataset(sources.slices(tensors))

    @staticmethod
    def from_tensors(tensors: Element, name: str | None = None) -> Dataset:
        """A single element.

        >>> len(Dataset.from_tensors([1, 2, 3]))
        1
        """
        _check_known("from_tensors", tensors)
        return Dataset(sources.Elements([as_element(tensors)]))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: DTypeLike | _Structure | None = None,
        output_shapes: ShapeLike | Mapping[Any, Any] | None = None,
        args: Sequence[TensorLike] | None = None,
        output_signature: Specs | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements that a generator yields.

        Args:
            generator: a function that returns an iterable. Each loop over the dataset calls `generator(*args)` anew.
            output_types: the dtypes of the elements, if there is no `output_signature`.
            output_shapes: their shapes, as far as known.
            args: arguments for `generator`, which gets them as NumPy arrays.
            output_signature: a `TensorSpec`, or the spec of a sparse or ragged tensor or an optional, for each part of
                an element.

        A ValueError or TypeError of the generator's comes out of the dataset as an InvalidArgumentError, any other as
        an UnknownError, with the error itself as the cause.

        Raises:
            TypeError: if `generator` is no function, or neither or both of `output_types` and `output_signature` are
                given.

        >>> from gradtape import TensorSpec
        >>> squares = lambda: (i * i for i in range(4))
        >>> squares = Dataset.from_generator(squares, output_signature=TensorSpec((), "int32"))
        >>> [int(x) for x in squares]
        [0, 1, 4, 9]
        """
        signature = sources.signature_of(output_types, output_shapes, output_signature)
        return Dataset(sources.Generated(generator, args, signature))

    @staticmethod
    def range(*args: IntLike, output_type: DTypeLike = "int64", name: str | None = None) -> Dataset:
        """The integers of Python's `range`, of dtype `output_type`: stop; start and stop; or start, stop and step.

        Raises:
            ValueError: unless there are one to three arguments.

        >>> [int(x) for x in Dataset.range(1, 10, 4)]
        [1, 5, 9]
        """
        numbers = [whole("Dataset.range", arg) for arg in args]
        if not 1 <= len(numbers) <= 3:
            raise ValueError(f"Dataset.range takes one to three numbers, not {len(numbers)}")
        start, stop, step = {1: (0, *numbers, 1), 2: (*numbers, 1), 3: numbers}[len(numbers)]
        return Dataset(sources.progression(start, stop, step, output_type))

    @staticmethod
    def counter(
        start: IntLike = 0, step: IntLike = 1, dtype: DTypeLike = "int64", name: str | None = None
    ) -> Dataset:
        """The integers start, start + step, ... without end.

        >>> [int(x) for x in Dataset.counter(5, 2).take(3)]
        [5, 7, 9]
        """
        rows = sources.progression(whole("counter", start), 0, whole("counter", step), dtype).rows
        return Dataset(Gather(Numbers(INFINITE), rows))

    @staticmethod
    def random(
        seed: IntLike | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Random integers of 32 bits, without end.

        Args:
            seed: as for `random.uniform`: together with `random.set_seed` it decides the numbers.
            rerandomize_each_iteration: whether each loop gets other numbers.

        >>> a, b = Dataset.random(seed=4).take(2)
        >>> int(a) != int(b)
        True
        """
        return Dataset(order.RandomIntegers(seed, bool(rerandomize_each_iteration)))

    @staticmethod
    def list_files(
        file_pattern: TensorLike,
        shuffle: bool | None = None,
        seed: IntLike | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The names of the files that match a pattern.

        Args:
            file_pattern: a glob pattern, or several.
            shuffle: whether the names come in random order, another in each loop (the default); or sorted.
            seed: as for `random.uniform`: together with `random.set_seed` it decides the numbers.

        Raises:
            InvalidArgumentError: if no file matches.

        >>> Dataset.list_files("/no/such/*.txt")
        Traceback (most recent call last):
            ...
        gradtape.errors.InvalidArgumentError: list_files: no file matches ['/no/such/*.txt']
        """
        from glob import glob

        patterns = arguments.texts("list_files: file_pattern", file_pattern)
        names = sorted({found for pattern in patterns for found in glob(pattern)})
        if not names:
            raise InvalidArgumentError(f"list_files: no file matches {patterns}")
        files = Dataset.from_tensor_slices(names)
        return files if shuffle is False else files.shuffle(len(names), seed)

    @staticmethod
    def zip(
        *args: Dataset | _Structure, datasets: Dataset | _Structure | None = None, name: str | None = None
    ) -> Dataset:
        """Elements of several datasets side by side: of a structure of datasets, or of those given as arguments.

        Raises:
            TypeError: if there is no dataset, or something else.

        >>> list(Dataset.zip(Dataset.range(3), Dataset.range(10, 12)).as_numpy_iterator())
        [(np.int64(0), np.int64(10)), (np.int64(1), np.int64(11))]
        """
        given: Any = args[0] if len(args) == 1 else args or datasets
        if given is None:
            raise TypeError("zip: give at least one dataset")
        leaves = [given] if is_dataset(given) else nest.flatten(given)
        if isinstance(given, list) or not all(map(is_dataset, leaves)):
            raise TypeError(f"zip takes datasets, or a tuple or dict of them, not {given!r}")
        return Dataset(_zipped(given, [leaf._stage for leaf in leaves]))

    @staticmethod
    def sample_from_datasets(
        datasets: Iterable[Dataset],
        weights: TensorLike | None = None,
        seed: IntLike | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Elements of several datasets, drawn at random.

        Args:
            datasets: a list of them.
            weights: how often each is drawn, in proportion to the others; by default all are drawn as often.
            seed: as for `random.uniform`: together with `random.set_seed` it decides the numbers.
            stop_on_empty_dataset: whether to end with the first dataset that ends; else the others go on.
            rerandomize_each_iteration: whether each loop draws anew.

        >>> ones, twos = Dataset.from_tensors(1).repeat(), Dataset.from_tensors(2).repeat()
        >>> {int(x) for x in Dataset.sample_from_datasets([ones, twos], weights=[1.0, 0.0]).take(9)}
        {1}
        """
        stages = arguments.stages("sample_from_datasets: datasets", datasets)
        shares = arguments.weights("sample_from_datasets: weights", weights, len(stages))
        drawn = [stage for stage, share in zip(stages, shares) if share > 0]
        draws = order.Draws(shares[shares > 0], seed, bool(rerandomize_each_iteration))
        return Dataset(order.Choose(drawn, draws, stop_on_empty_dataset))

    @staticmethod
    def choose_from_datasets(
        datasets: Iterable[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """The next element of the dataset that each integer of another dataset names.

        Args:
            datasets: a list of them.
            choice_dataset: the positions in that list.
            stop_on_empty_dataset: whether to end with the first dataset that ends; else it is passed over.

        >>> a, b = Dataset.range(3), Dataset.range(10, 13)
        >>> [int(x) for x in Dataset.choose_from_datasets([a, b], Dataset.range(2).repeat(2))]
        [0, 10, 1, 11]
        """
        stages = arguments.stages("choose_from_datasets: datasets", datasets)
        choices = arguments.stage("choose_from_datasets: choice_dataset must be", choice_dataset)
        return Dataset(order.Choose(stages, choices, stop_on_empty_dataset))

    # -- reading ------------------------------------------------------------------------------------------------------

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self._stage)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements as NumPy arrays and scalars; sparse tensors become dense.

        >>> list(Dataset.range(3).as_numpy_iterator())
        [np.int64(0), np.int64(1), np.int64(2)]
        """
        from .composite_elements import as_numpy  # brings sparse and ragged tensors

        return (nest.map_structure(as_numpy, element) for element in self)

    @property
    def element_spec(self) -> Any:
        """The shapes and dtypes of the elements: a structure of `TensorSpec`.

        A function given to `map` is called on zeros to find out what it returns.

        >>> Dataset.range(3).batch(2).element_spec
        TensorSpec(shape=(None,), dtype=tf.int64, name=None)
        """
        return self._stage.spec

    def cardinality(self) -> Tensor:
        """The number of elements; or `INFINITE_CARDINALITY`, or `UNKNOWN_CARDINALITY`.

        >>> int(Dataset.range(5).batch(2).cardinality())
        3
        """
        return wrap(np.asarray(self._stage.size(), np.int64))

    def __len__(self) -> int:
        size = self._stage.size()
        if size == INFINITE:
            raise TypeError("the dataset has no len(): it is infinite")
        if size == UNKNOWN:
            raise TypeError("the dataset has no len(): how many elements it has is known only at the end")
        return size

    def __bool__(self) -> bool:
        return True

    def reduce(self, initial_state: Element, reduce_func: Callable[..., Any], name: str | None = None) -> Any:
        """The last state of a loop over the elements.

        Args:
            initial_state: a tensor, or a structure of them.
            reduce_func: computes the next state, of the same structure, shapes and dtypes, from `(state, element)`.

        >>> int(Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x))
        10
        """
        arguments.function("reduce: reduce_func", reduce_func)
        state = as_element(initial_state)
        if local.here.trace is not None:
            from .in_function import reduce

            return reduce(self._stage, self.__iter__, state, reduce_func)
        for element in self:
            state = same_state("reduce", state, reduce_func(state, element))
        return state

    def _feed(self) -> Any:
        """The elements, for a loop of a @function."""
        from .in_function import feed

        return feed(self._stage, self.__iter__)

    def _numbered(self, start: Any) -> Dataset:
        """`enumerate` in a @function."""
        return self.enumerate(start)

    def _zipped(self, iterables: tuple[Any, ...]) -> Dataset | None:
        """`zip` in a @function, if all are datasets."""
        return Dataset.zip(*iterables) if all(map(is_dataset, iterables)) else None

    def get_single_element(self, name: str | None = None) -> Any:
        """The element of a dataset that has just one.

        Raises:
            InvalidArgumentError: if there is none, or more than one.

        >>> Dataset.range(3).batch(3).get_single_element().numpy()
        array([0, 1, 2])
        """
        elements = list(self.take(2))
        if len(elements) != 1:
            raise InvalidArgumentError(
                f"get_single_element: the dataset has {'no element' if not elements else 'more than one element'}"
            )
        return elements[0]

    def options(self) -> Options:
        """The options given with `with_options`. They have no effect."""
        return self._options

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same dataset with other options: those of `options`, and where they are not set, its own."""
        return Dataset(self._stage, self._options.merge(options))

    def _save_state(self) -> dict[str, Any]:
        """The number of loops that were shuffled: a restored program then goes on with the orders that come next."""
        return {"orders": [[list(stage.seed), stage.walks] for stage in random_stages(self._stage)]}

    def _prepare_state(self, state: Any) -> Callable[[], None]:
        return resume(self._stage, state["orders"])

    def __repr__(self) -> str:
        return f"<{type(self._stage).__name__}Dataset element_spec={self.element_spec}>"

    # -- choosing and ordering ----------------------------------------------------------------------------------------

    def _then(self, stage: Stage) -> Dataset:
        return Dataset(stage, self._options)

    def _ordered(self, step: Callable[[Stage], Stage]) -> Dataset:
        """Add a stage that only chooses or orders: on row numbers, where the elements are rows of arrays."""
        stage = self._stage
        return self._then(
            Gather(step(stage.numbers), stage.rows) if isinstance(stage, Gather) else step(stage)
        )

    def shuffle(
        self,
        buffer_size: IntLike,
        seed: IntLike | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """The elements in random order.

        Args:
            buffer_size: each element is drawn from this many: as many as there are elements for a perfect shuffle.
            seed: as for `random.uniform`: together with `random.set_seed` it decides the orders.
            reshuffle_each_iteration: whether every loop has another order.

        >>> sorted(int(x) for x in Dataset.range(5).shuffle(5, seed=1))
        [0, 1, 2, 3, 4]
        """
        return self._ordered(lambda stage: order.Shuffle(stage, buffer_size, seed, reshuffle_each_iteration))

    def repeat(self, count: IntLike | None = None, name: str | None = None) -> Dataset:
        """The elements `count` times over, or without end.

        >>> [int(x) for x in Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        times = -1 if count is None else whole("repeat: count", count)
        return self._ordered(lambda stage: order.Repeat(stage, times))

    def take(self, count: IntLike, name: str | None = None) -> Dataset:
        """At most the first `count` elements; -1 for all.

        >>> [int(x) for x in Dataset.range(9).take(2)]
        [0, 1]
        """
        return self._ordered(lambda stage: order.Take(stage, whole("take: count", count)))

    def skip(self, count: IntLike, name: str | None = None) -> Dataset:
        """All but the first `count` elements; -1 for none.

        >>> [int(x) for x in Dataset.range(5).skip(3)]
        [3, 4]
        """
        return self._ordered(lambda stage: order.Skip(stage, whole("skip: count", count)))

    def shard(self, num_shards: IntLike, index: IntLike, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from number `index` on.

        Raises:
            InvalidArgumentError: unless 0 <= `index` < `num_shards`.

        >>> [int(x) for x in Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        return self._ordered(
            lambda stage: order.Shard(
                stage, whole("shard: num_shards", num_shards), whole("shard: index", index)
            )
        )

    def cache(self, filename: PathLike | Tensor = "", name: str | None = None) -> Dataset:
        """Keep the elements for the loops to come: in memory, or in files whose names begin with `filename`.

        The first loop that comes to its end writes the files; later ones, in other processes as well, read them and
        run no stage before `cache`. To compute the elements anew, delete the file that ends in .index.

        >>> [int(x) for x in Dataset.range(3).cache().repeat(2)]
        [0, 1, 2, 0, 1, 2]

        >>> import tempfile
        >>> name = tempfile.mkdtemp() + "/squares"
        >>> [int(x) for x in Dataset.range(3).map(lambda x: x * x).cache(name)]
        [0, 1, 4]
        >>> [int(x) for x in Dataset.range(3).map(lambda x: 1 / 0).cache(name)]  # that function is not called
        [0, 1, 4]
        """
        from . import cached

        path = cached.path_of(filename)
        return self._then(cached.FileCache(self._stage, path)) if path else self._ordered(order.Cache)

    def save(
        self,
        path: PathLike | Tensor,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Write all elements to a folder, for `Dataset.load`. A dataset that is there stays until all are written.

        Args:
            path: of the folder.
            compression: accepted; the files are not compressed.
            shard_func: a function from an element to the number of the part that it belongs to.
            checkpoint_args: accepted; the folder has all elements or those of before.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> Dataset.range(3).map(lambda x: x * x).save(folder)
        >>> [int(x) for x in Dataset.load(folder)]
        [0, 1, 4]
        """
        from . import saved_dataset

        saved_dataset.check_compression("save", compression)
        saved_dataset.save(self._stage, saved_dataset.folder_of("save", path), shard_func)

    @staticmethod
    def load(
        path: PathLike | Tensor,
        element_spec: Specs | None = None,
        compression: str | None = None,
        reader_func: Callable[[Dataset], Dataset] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """The elements that `save` wrote to a folder.

        Args:
            path: of the folder.
            element_spec: the specs of the elements; needed if they are built of classes of your own.
            compression: accepted, as by `save`.
            reader_func: a function from a dataset of datasets, one for each part, to the dataset of elements.
            wait: accepted.

        Raises:
            NotFoundError: if there is no saved dataset.
            DataLossError: if it is damaged.
            InvalidArgumentError: if its elements do not fit `element_spec`.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> Dataset.from_tensor_slices(["a", "b"]).save(folder)
        >>> [x.numpy() for x in Dataset.load(folder)]
        [b'a', b'b']
        """
        from . import saved_dataset

        saved_dataset.check_compression("load", compression)
        stage = saved_dataset.Saved(saved_dataset.folder_of("load", path), element_spec)
        if reader_func is None:
            return Dataset(saved_dataset.of_all_shards(stage))
        made = arguments.function("load: reader_func", reader_func)(saved_dataset.shards(stage, Dataset))
        arguments.stage("load: reader_func must return", made)
        return made

    def snapshot(
        self,
        path: PathLike | Tensor,
        compression: str | None = "AUTO",
        reader_func: Callable[[Dataset], Dataset] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements, which the first whole loop also writes to a folder; later loops read them there.

        Args:
            path: of the folder.
            compression: accepted; the files are not compressed.
            reader_func: a function from a dataset of one dataset, that of all elements, to the dataset of elements.
            shard_func: accepted; there is one part.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> [[int(x) for x in Dataset.range(n).snapshot(folder)] for n in (3, 5)]  # the second loop reads
        [[0, 1, 2], [0, 1, 2]]
        """
        from . import saved_dataset

        saved_dataset.check_compression("snapshot", compression)
        kept = self.cache(str(saved_dataset.folder_of("snapshot", path) / "snapshot"))
        if reader_func is None:
            return kept
        made = arguments.function("snapshot: reader_func", reader_func)(Dataset.from_tensors(kept))
        arguments.stage("snapshot: reader_func must return", made)
        return made

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements without those that cannot be computed, or read.

        Args:
            log_warning: whether each such error is logged.

        >>> import gradtape as tf
        >>> texts = Dataset.from_tensor_slices(["1", "two", "3"])
        >>> [int(x) for x in texts.map(lambda text: tf.strings.to_number(text, tf.int32)).ignore_errors()]
        [1, 3]
        """
        return self._then(transform.IgnoreErrors(self._stage, bool(log_warning)))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """The elements of this dataset, then those of another.

        >>> [int(x) for x in Dataset.range(2).concatenate(Dataset.range(5, 7))]
        [0, 1, 5, 6]
        """
        first, second = self._stage, arguments.stage("concatenate: dataset must be", dataset)
        if isinstance(first, Gather) and isinstance(second, Gather) and first.rows is second.rows:
            return self._then(Gather(order.Concatenate(first.numbers, second.numbers), first.rows))
        joined = order.Concatenate(first, second)
        if all(isinstance(stage, (Gather, sources.Elements)) for stage in (first, second)):
            joined.spec  # noqa: B018  both are known already: what does not fit is said here
        return self._then(joined)

    def enumerate(self, start: IntLike = 0, name: str | None = None) -> Dataset:
        """Pairs of a number, counted from `start`, and the element.

        >>> list(Dataset.from_tensor_slices([7, 8]).enumerate(5).as_numpy_iterator())
        [(np.int64(5), np.int32(7)), (np.int64(6), np.int32(8))]
        """
        return Dataset.zip(Dataset.counter(start), self).with_options(self._options)

    # -- computing new elements ---------------------------------------------------------------------------------------

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`map_func` of each element.

        Where JAX is in use, the function is traced once at once, so that a mistake in it shows here.

        Args:
            map_func: takes an element; the parts of a tuple as arguments.
            num_parallel_calls: how many threads call it; AUTOTUNE uses threads if it is slow.
            deterministic: False to yield the results of threads in the order in which they are ready.
            synchronous: accepted; no effect.
            use_unbounded_threadpool: accepted; no effect.

        >>> [int(x) for x in Dataset.range(3).map(lambda x: x * x)]
        [0, 1, 4]
        """
        if num_parallel_calls is None:
            return self._then(transform.Map(self._stage, map_func))
        calls = whole("map: num_parallel_calls", num_parallel_calls)
        return self._then(threads.ParallelMap(self._stage, map_func, calls, deterministic is not False))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of which `predicate` is true.

        >>> [int(x) for x in Dataset.range(5).filter(lambda x: x % 2 == 1)]
        [1, 3]
        """
        return self._then(transform.Filter(self._stage, predicate))

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first of which `predicate` is false.

        >>> [int(x) for x in Dataset.range(9).take_while(lambda x: x < 3)]
        [0, 1, 2]
        """
        return self._then(transform.TakeWhile(self._stage, predicate))

    def scan(self, initial_state: Element, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements that a function computes from a state and each element.

        Args:
            initial_state: a tensor, or a structure of them.
            scan_func: takes `(state, element)` and returns the next state and the new element.

        >>> [int(x) for x in Dataset.range(5).scan(np.int64(0), lambda total, x: (total + x, total + x))]
        [0, 1, 3, 6, 10]
        """
        return self._then(transform.Scan(self._stage, initial_state, scan_func))

    def unique(self, name: str | None = None) -> Dataset:
        """Each element the first time it comes.

        >>> [int(x) for x in Dataset.from_tensor_slices([1, 2, 1]).unique()]
        [1, 2]
        """
        return self._then(transform.Unique(self._stage))

    def batch(
        self,
        batch_size: IntLike,
        drop_remainder: bool = False,
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stack `batch_size` elements at a time.

        Args:
            batch_size: at least 1.
            drop_remainder: whether to drop the last batch if it is smaller.
            num_parallel_calls: accepted; no effect.
            deterministic: accepted; no effect.

        >>> [x.numpy().tolist() for x in Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        return self._then(
            transform.Batch(self._stage, whole("batch: batch_size", batch_size), drop_remainder)
        )

    def padded_batch(
        self,
        batch_size: IntLike,
        padded_shapes: ShapeLike | Mapping[Any, Any] | None = None,
        padding_values: Element = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Pad `batch_size` elements at a time to one shape, and stack them.

        Args:
            batch_size: at least 1.
            padded_shapes: the shape of an element, or a structure of shapes; None or -1 for an axis, and no shapes at
                all, stand for the largest size in the batch.
            padding_values: the values to fill up with, one or a structure; by default zeros or empty strings.
            drop_remainder: whether to drop the last batch if it is smaller.

        >>> rows = Dataset.range(1, 4).map(lambda n: np.ones(int(n), int))
        >>> rows.padded_batch(3).get_single_element().numpy().tolist()
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
        """
        size = whole("padded_batch: batch_size", batch_size)
        return self._then(
            transform.PaddedBatch(self._stage, size, padded_shapes, padding_values, drop_remainder)
        )

    def ragged_batch(
        self,
        batch_size: IntLike,
        drop_remainder: bool = False,
        row_splits_dtype: DTypeLike = "int64",
        name: str | None = None,
    ) -> Dataset:
        """Join `batch_size` elements at a time as rows of a ragged tensor; as `batch` where they are of one shape.

        Args:
            batch_size: at least 1.
            drop_remainder: whether to drop the last batch if it is smaller.
            row_splits_dtype: int32 or int64.

        >>> rows = Dataset.range(1, 4).map(lambda n: np.ones(int(n), int))
        >>> rows.ragged_batch(3).get_single_element()
        <tf.RaggedTensor [[1], [1, 1], [1, 1, 1]]>
        """
        size = whole("ragged_batch: batch_size", batch_size)
        return self._then(transform.RaggedBatch(self._stage, size, drop_remainder, row_splits_dtype))

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of each element.

        >>> [int(x) for x in Dataset.range(4).batch(3).unbatch()]
        [0, 1, 2, 3]
        """
        return self._then(transform.Unbatch(self._stage))

    def rebatch(self, batch_size: IntLike, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """The rows of the elements in batches of `batch_size`; `drop_remainder` drops the last if it is smaller.

        >>> [x.numpy().tolist() for x in Dataset.range(6).batch(4).rebatch(3)]
        [[0, 1, 2], [3, 4, 5]]
        """
        return self.unbatch().batch(batch_size, drop_remainder)

    def prefetch(self, buffer_size: IntLike, name: str | None = None) -> Dataset:
        """Let a thread compute up to `buffer_size` elements ahead; AUTOTUNE uses a thread if they are slow to compute.

        >>> [int(x) for x in Dataset.range(3).prefetch(2)]
        [0, 1, 2]
        """
        return self._then(threads.Prefetch(self._stage, whole("prefetch: buffer_size", buffer_size)))

    # -- datasets inside ----------------------------------------------------------------------------------------------

    def window(
        self,
        size: IntLike,
        shift: IntLike | None = None,
        stride: IntLike = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Datasets of neighbours; for elements that are structures, structures of datasets.

        Args:
            size: how many elements there are in each.
            shift: how many elements after the last one each begins; `size` by default.
            stride: how many elements apart neighbours are.
            drop_remainder: whether to drop the last windows if they are smaller.

        >>> [[int(x) for x in window] for window in Dataset.range(5).window(3, shift=2)]
        [[0, 1, 2], [2, 3, 4], [4]]
        """
        length, step = whole("window: size", size), whole("window: stride", stride)
        forward = length if shift is None else whole("window: shift", shift)
        return self._then(nested.Window(self._stage, length, forward, step, drop_remainder, Dataset))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the dataset that `map_func` returns for each element, one dataset after the other.

        >>> [int(x) for x in Dataset.range(1, 4).flat_map(lambda n: Dataset.range(n))]
        [0, 0, 1, 0, 1, 2]
        """
        return self._then(nested.Interleave(self._stage, map_func, "flat_map"))

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: IntLike | None = None,
        block_length: IntLike | None = None,
        num_parallel_calls: IntLike | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of several datasets in turn, of which `map_func` returns one for each element.

        Args:
            map_func: takes an element and returns a dataset.
            cycle_length: how many datasets are read in turn; by default as many as there are cores.
            block_length: how many elements each gives in its turn; 1 by default.
            num_parallel_calls: if given, a thread reads ahead in each dataset.
            deterministic: accepted; no effect.

        >>> twice = Dataset.range(1, 4).interleave(lambda x: Dataset.from_tensors(x).repeat(2), cycle_length=2)
        >>> [int(x) for x in twice]
        [1, 2, 1, 2, 3, 3]
        """
        cycle = AUTOTUNE if cycle_length is None else whole("interleave: cycle_length", cycle_length)
        block = 1 if block_length is None else whole("interleave: block_length", block_length)
        calls = (
            0 if num_parallel_calls is None else whole("interleave: num_parallel_calls", num_parallel_calls)
        )
        ahead = AUTOTUNE if calls == AUTOTUNE else 2 if calls else 0
        cycle = cores() if cycle == AUTOTUNE else cycle
        return self._then(nested.Interleave(self._stage, map_func, "interleave", cycle, block, ahead))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: IntLike | None = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Group elements by a key, and reduce each group to a dataset.

        Args:
            key_func: takes an element and returns its key, an integer.
            reduce_func: takes a key and a dataset of up to `window_size` elements, and returns a dataset.
            window_size: how many elements of one key make a group.
            window_size_func: the same as a function of the key.

        Raises:
            ValueError: unless one of `window_size` and `window_size_func` is given.

        >>> by_parity = Dataset.range(5).group_by_window(lambda x: x % 2, lambda key, group: group.batch(9), 3)
        >>> [x.numpy().tolist() for x in by_parity]
        [[0, 2, 4], [1, 3]]
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError("group_by_window: give either window_size or window_size_func")
        if window_size is None:
            sized = arguments.function("group_by_window: window_size_func", window_size_func)
        else:
            size = whole("group_by_window: window_size", window_size)
            sized = lambda key: size
        return self._then(nested.GroupByWindow(self._stage, key_func, reduce_func, sized, Dataset))

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Iterable[IntLike],
        bucket_batch_sizes: Iterable[IntLike],
        padded_shapes: ShapeLike | Mapping[Any, Any] | None = None,
        padding_values: Element = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Padded batches of elements of similar length.

        Args:
            element_length_func: takes an element and returns its length.
            bucket_boundaries: lengths at which a new bucket begins.
            bucket_batch_sizes: the batch size of each bucket: one more than there are boundaries.
            padded_shapes: as for `padded_batch`.
            padding_values: as for `padded_batch`.
            pad_to_bucket_boundary: whether to pad to the greatest length of the bucket, and not of the batch; then an
                element as long as the last boundary is an error.
            no_padding: whether elements are stacked as they are.
            drop_remainder: whether to drop the last batch of each bucket if it is smaller.

        >>> rows = Dataset.from_tensor_slices([1, 5, 2, 6]).map(lambda n: np.ones(int(n), int))
        >>> batches = rows.bucket_by_sequence_length(lambda x: len(x), [4], [2, 2])
        >>> [x.shape.as_list() for x in batches]
        [[2, 2], [2, 6]]
        """
        buckets = nested.Buckets(element_length_func, bucket_boundaries, bucket_batch_sizes)
        to_boundary = pad_to_bucket_boundary and not no_padding

        def batched(key: Tensor, group: Dataset) -> Dataset:
            size = buckets.sizes[int(key)]
            if no_padding:
                return group.batch(size, drop_remainder)
            shapes = padded_shapes
            if to_boundary:
                shapes = buckets.padded(shapes, self.element_spec, int(key))
            return group.padded_batch(size, shapes, padding_values, drop_remainder)

        return self._then(
            nested.GroupByWindow(
                self._stage,
                buckets.of_bounded if to_boundary else buckets.of,
                batched,
                buckets.sizes.__getitem__,
                Dataset,
                range(len(buckets.sizes)),
            )
        )

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """`transformation_func` of this dataset, as one more step in a chain.

        >>> len(Dataset.range(5).apply(lambda dataset: dataset.take(2)))
        2
        """
        result: Dataset = arguments.function("apply: transformation_func", transformation_func)(self)
        arguments.stage("apply: transformation_func must return", result)
        return result


def _check_known(name: str, tensors: Any) -> None:
    """Raise if a tensor is computed by the @function that is traced now: a dataset is no part of it."""
    if local.here.trace is None:
        return
    if any(
        is_traced(getattr(leaf, "_array", None)) for leaf in nest.flatten(tensors, expand_composites=True)
    ):
        raise UnknownShapeError(
            f"{name}: a dataset is made of values, which are not known while a @function is traced: go over the rows "
            "of a tensor with a `for` statement, or make the dataset outside of the function"
        )


def _zipped(template: Any, stages: list[Stage]) -> Stage:
    """Stages side by side; as rows, where all are the rows of arrays in their own order."""
    if all(isinstance(stage, Gather) and isinstance(stage.numbers, Numbers) for stage in stages):
        lengths = [stage.size() for stage in stages if stage.size() != INFINITE]
        rows = sources.ZippedRows(template, [stage.rows for stage in stages])  # type: ignore[attr-defined]
        return Gather(Numbers(min(lengths, default=INFINITE)), rows)
    return transform.Zip(template, stages)


class TextLineDataset(Dataset):
    """The lines of text files, as strings.

    Args:
        filenames: a name, several, or a dataset of names.
        compression_type: '' or None, 'GZIP' or 'ZLIB'.
        buffer_size: accepted; no effect.
        num_parallel_reads: accepted; no effect.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "poem.txt"
    >>> _ = path.write_text("one\\ntwo\\n")
    >>> [line.numpy() for line in TextLineDataset(str(path))]
    [b'one', b'two']
    """

    def __init__(
        self,
        filenames: TensorLike | Dataset,
        compression_type: str | None = None,
        buffer_size: IntLike | None = None,
        num_parallel_reads: IntLike | None = None,
        name: str | None = None,
    ) -> None:
        kind = "" if compression_type is None else compression_type
        choice("TextLineDataset", "compression_type", kind, ("", "GZIP", "ZLIB"))
        files = filenames if isinstance(filenames, Dataset) else Dataset.from_tensors(filenames)
        read = functools.partial(sources.lines, compression=kind)
        super().__init__(sources.Strings("TextLineDataset", files._stage, read))
